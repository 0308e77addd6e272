//! What changed under a run while nobody worked on it.

use std::sync::Arc;

use super::load::Ready;
use super::{Failure, Ui};
use crate::engine;
use crate::name::RunId;
use crate::repeat::{Ask, Choice, Past};
use crate::store::Reader;

/// Says which results are not what the run left: what is still to run reads them as they are now.
pub fn warn_of_outdated(
    ui: &Ui,
    reader: &Reader,
    run: &RunId,
    ready: &Ready,
) -> Result<(), Failure> {
    let ask = Ask {
        run: Some(run.clone()),
        before: Some(Arc::clone(&ready.plan)),
        now: Arc::clone(&ready.plan),
        choice: Choice::default(),
    };
    let so_far = Past::of(reader, ask, &reader.run(run)?.params)?;
    let outdated = engine::outdated(&ready.workspace.root, reader, &so_far)?;
    for one in &outdated {
        let item = one.item.as_ref().map(|key| format!("[{key}]"));
        let item = item.unwrap_or_default();
        ui.say_line(&format!(
            "warning: `{}{item}` is not what run {} left: {}; what depends on it reads it as it is now",
            one.step,
            run.short(),
            one.why
        ));
    }
    if !outdated.is_empty() {
        let run = run.short();
        ui.say_line(&format!(
            "to make it again instead: wf cancel {run}; wf retry {run}"
        ));
    }
    Ok(())
}
