use super::{ledger_of, load_by_name};
use crate::{Caller, CliExitCode, CommandError, StateReader, keys::author, watch};
use wf_base::{name::RunId, remedy::UserAction};
use wf_core::goal::RepairOpinion;
use wf_model::Goal;
use wf_store::{RepairFeedback, RepairRow, feed::WorkspaceAction};

/// The feedback of a person on a repair of a goal.
#[derive(Clone, Debug)]
pub struct RepairOpinionRequest<'a> {
    /// The goal, by its id or its file.
    pub goal: &'a str,
    /// The repair, by the start of the id of its run or of its check run; `None`: the latest.
    pub run: Option<&'a str>,
    pub opinion: RepairOpinion,
    /// The reason, for the record.
    pub note: &'a str,
}

/// The repair of a person's opinion.
pub struct RecordedOpinion {
    pub goal: std::sync::Arc<Goal>,
    pub repair: RunId,
    /// False if the same was said before.
    pub is_new: bool,
}

/// Records the feedback of a person on a repair.
pub fn record_opinion(
    caller: &dyn Caller,
    request: &RepairOpinionRequest<'_>,
) -> Result<RecordedOpinion, CommandError> {
    let (loaded, goal) = load_by_name(caller, request.goal)?;
    let Some(reader) = StateReader::open_if_any(&caller.host().workspace())? else {
        return Err(usage_error(request, no_repair(&goal)));
    };
    let repairs = reader.store().reconciliations().repairs(&goal.id, usize::MAX)?;
    let repair = find_repair(&reader, request, &goal, &repairs)?;
    let (store, _) = ledger_of(caller.host(), &loaded)?;
    let who = author(caller.host());
    let feedback = RepairFeedback {
        run: repair.clone(),
        goal: goal.id.clone(),
        opinion: request.opinion,
        note: request.note.to_owned(),
        who: who.as_ref().map(|key| key.name.clone()),
        at: caller.host().now(),
    };
    let is_new = store.reconciliations().give_feedback(feedback).wait()?;
    if is_new {
        let act = WorkspaceAction::GoalFeedback {
            goal: goal.id.clone(),
            repair: repair.clone(),
            opinion: request.opinion.as_str().to_owned(),
            key: who.map(|key| key.public.id()),
        };
        watch::record_quietly(caller, act);
    }
    Ok(RecordedOpinion { goal, repair, is_new })
}

/// Returns a repair: by its own run, or by that of the check run before it.
fn find_repair(
    reader: &StateReader,
    request: &RepairOpinionRequest<'_>,
    goal: &Goal,
    repairs: &[RepairRow],
) -> Result<RunId, CommandError> {
    let Some(run) = request.run else {
        let latest = repairs.first().map(|repair| repair.run.clone());
        return latest.ok_or_else(|| usage_error(request, no_repair(goal)));
    };
    let run = reader.find_run(Some(run))?;
    let cycle = reader.store().reconciliations().find(&run)?;
    let repair = cycle.and_then(|cycle| cycle.repair).unwrap_or(run);
    if repairs.iter().any(|row| row.run == repair) {
        return Ok(repair);
    }
    let (short, noun) = (repair.short(), goal.noun());
    Err(usage_error(request, format!("run {short} is not a {noun} of `{}`", goal.id)))
}

fn no_repair(goal: &Goal) -> String {
    format!("`{}` has no {}s yet", goal.id, goal.noun())
}

fn usage_error(request: &RepairOpinionRequest<'_>, message: String) -> CommandError {
    let action = UserAction::ShowGoalHistory(request.goal.to_owned());
    CommandError::new(CliExitCode::Usage, message).remedy("for its runs: ", action)
}
