//! A planner that is asked for ways: what its answer means is the machine's to say.

use std::sync::Arc;

use tokio::sync::watch;

use crate::exec::{Stop, planner};
use crate::machine::{Happening, PlanRequest, PlannerSaid};

use super::dispatch::Report;
use super::gating;
use super::run::Ongoing;

/// Asks the planner, and says what it printed.
pub(super) async fn ask(
    run: Arc<Ongoing>,
    request: Box<PlanRequest>,
    stop: watch::Receiver<Stop>,
) -> Report {
    let said = match &run.plan.parts().planner {
        Some(planner) => {
            let site = gating::site(&run).await;
            planner::ask(planner, &request, &site, stop).await
        }
        None => Err("the plan has no planner".into()),
    };
    run.session.hands.hold()?;
    Ok(Some(Happening::Planned {
        round: request.round.number,
        said: said.map_or_else(PlannerSaid::Nothing, PlannerSaid::Text),
    }))
}
