//! The call of a planner for alternatives: the machine decides what its answer means.

use std::sync::Arc;

use tokio::sync::watch;

use wf_core::machine::{InputKind, PlanRequest, PlannerReply};
use wf_exec::{StopLevel, planner};

use super::dispatch::UnitResult;
use super::gating;
use super::run::RunContext;

/// Asks the planner, and returns its output.
pub(super) async fn ask(
    run: Arc<RunContext>,
    request: Box<PlanRequest>,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let said = match &run.plan.parts().planner {
        Some(planner) => match gating::site(&run, None).await {
            Ok(site) => planner::ask(planner, &request, &site, stop).await,
            Err(unable) => Err(unable.reason),
        },
        None => Err("the plan has no `planner`".into()),
    };
    run.session.executor.ensure_supervised()?;
    Ok(Some(InputKind::Planned {
        round: request.round.round,
        said: said.map_or_else(PlannerReply::Nothing, PlannerReply::Text),
    }))
}
