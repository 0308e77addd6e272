//! Asks a planner: a program run like checks, reads a request and prints alternatives.
//!
//! **Invariant:** its only input is its standard input, without secrets. **Invariant:** its output
//! does not count unless it saw the workspace as checks do.

use tokio::sync::watch;

use wf_base::name::Name;
use wf_core::machine::PlanRequest;
use wf_model::{Check, CheckProbe, Planner, PlannerSource, expr::Template};

use super::{GateEnvironment, ScriptInput, run_viewed};
use crate::{
    work::check::masked,
    work_error::{StopLevel, WorkError},
};

/// Returns the program of a planner as a check: the same sandbox, the same view, and the same pinning of files.
/// `None` for a model.
pub fn as_check(planner: &Planner) -> Option<Check> {
    let PlannerSource::Exec(words) = &planner.source else {
        return None;
    };
    let words = words.iter().map(|word| Template::literal(word));
    let probe = Some(CheckProbe::Exec(words.collect()));
    Some(Check { probe, timeout: planner.timeout, ..Check::new(name()) })
}

fn name() -> Name {
    Name::parse("planner").expect("this is a name")
}

/// Returns the output of a planner's program. Dropping the future kills it.
pub async fn ask(
    program: &Check,
    request: &PlanRequest,
    environment: &GateEnvironment,
    stop: watch::Receiver<StopLevel>,
) -> Result<String, WorkError> {
    let mut request = serde_json::to_value(request).map_err(|error| WorkError::logical(error.to_string()))?;
    environment.environment.mask.value(&mut request);
    let input = ScriptInput { variables: Vec::new(), input: Some(request.to_string()) };
    let probed = run_viewed(program, "planner", input, environment, stop).await?;
    if !probed.exit.is_success() {
        let complaint = masked(&probed.err, &environment.environment.mask);
        let complaint = String::from_utf8_lossy(&complaint);
        let line = complaint.lines().find(|line| !line.trim().is_empty());
        return Err(WorkError::logical(match line {
            Some(line) => format!("it failed: {}: {}", probed.exit, line.trim()),
            None => format!("it failed: {}", probed.exit),
        }));
    }
    if probed.truncated {
        return Err(WorkError::logical("its output exceeds the limit"));
    }
    let text = masked(&probed.out, &environment.environment.mask);
    String::from_utf8(text).map_err(|_| WorkError::logical("its output is not valid UTF-8"))
}
