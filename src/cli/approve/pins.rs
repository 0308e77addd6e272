use std::path::{Path, PathBuf};

use crate::cli::load::Ready;
use crate::cli::{Exit, Failure, Ui};
use crate::digest::Digest;
use crate::exec::fixed::Site;
use crate::exec::pinned;
use crate::machine::Pin;
use crate::model::{Given, Object};

/// What an approval of a plan is bound to: every text that it is made of, and every file that it
/// executes, as they are now. Sorted by path. Of a goal it is always the whole: what looks and
/// what repairs, whatever the cycle gives to it.
pub fn pins(ui: &Ui, ready: &Ready, params: &Object) -> Result<Vec<Pin>, Failure> {
    let mut pins: Vec<Pin> = ready
        .sources
        .iter()
        .map(|(path, text)| Pin {
            path: path.clone(),
            digest: Digest::of(text.as_bytes()),
        })
        .collect();
    let host = ui.env.host();
    let (plan, params) = match &ready.goal {
        Some(of) => (&of.whole, without_given(params)),
        None => (&ready.plan, params.clone()),
    };
    let site = Site {
        root: &ready.workspace.root,
        host: &host,
        params: Some(&params),
    };
    let executed =
        pinned::files(plan, site).map_err(|unable| Failure::new(Exit::Usage, unable.why))?;
    pins.extend(
        executed
            .into_iter()
            .map(|(path, digest)| Pin { path, digest }),
    );
    pins.sort();
    pins.dedup();
    if let Some([one, _]) = pins
        .array_windows()
        .find(|[one, other]| one.path == other.path)
    {
        let message = format!("{} was changed while it was read", one.path);
        return Err(Failure::new(Exit::Approval, message).hint("try again"));
    }
    Ok(pins)
}

/// Parameters with what a cycle gives as it is where none does.
fn without_given(params: &Object) -> Object {
    let mut params = params.clone();
    for given in Given::ALL {
        if let Some(value) = params.get_mut(given.as_str()) {
            *value = given.default_value().into();
        }
    }
    params
}

/// Where the approval of a plan lies: `plan.approval.json` beside `plan.md`.
pub fn token_path(plan: &Path) -> PathBuf {
    plan.with_extension("approval.json")
}
