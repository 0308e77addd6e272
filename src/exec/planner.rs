//! Asks a planner: a program that is run as checks are, reads a request and prints ways.
//!
//! **Invariant:** it is told what it is told on its standard input alone, without secrets.
//! **Invariant:** what it printed does not count unless it saw the workspace as checks do.

use tokio::sync::watch;

use super::Stop;
use super::check::masked;
use super::gate::{Given, Site, hide, run_viewed};
use crate::expr::Template;
use crate::machine::PlanRequest;
use crate::model::{Check, Planner, Probe};
use crate::name::Name;

/// A planner as a check: it runs in the same sandbox, sees as little, and relies on files in the
/// same way.
pub fn as_check(planner: &Planner) -> Check {
    let words = planner.exec.iter().map(|word| Template::literal(word));
    Check {
        probe: Some(Probe::Exec(words.collect())),
        timeout: planner.timeout,
        ..Check::new(name())
    }
}

fn name() -> Name {
    Name::parse("planner").expect("this is a name")
}

/// Asks it: what it printed, or why that does not count. Dropped, it ends what it started.
pub async fn ask(
    planner: &Planner,
    request: &PlanRequest,
    site: &Site,
    stop: watch::Receiver<Stop>,
) -> Result<String, String> {
    let request = serde_json::to_value(request).map_err(|error| error.to_string())?;
    let given = Given {
        variables: Vec::new(),
        input: Some(hide(&request, &site.ground.mask).to_string()),
    };
    let probed = run_viewed(&as_check(planner), "planner", given, site, stop).await?;
    if !probed.exit.is_success() {
        let said = masked(&probed.err, &site.ground.mask);
        let said = String::from_utf8_lossy(&said);
        let line = said.lines().find(|line| !line.trim().is_empty());
        return Err(match line {
            Some(line) => format!("it ended with {}: {}", probed.exit, line.trim()),
            None => format!("it ended with {}", probed.exit),
        });
    }
    if probed.truncated {
        return Err("it printed more than is kept of it".into());
    }
    let text = masked(&probed.out, &site.ground.mask);
    String::from_utf8(text).map_err(|_| "it printed what is no text".into())
}
