//! Laws of merges: what agents did in worktrees reaches the workspace in order, once, and after it passed.

use wf_core::machine::{Attempt, Effect, EventKind, MergeOutcome, StepState};
use wf_model::{AgentWorkspace, StepWork};

use super::{
    super::{
        ledger::step_of,
        look::{Look, Seen},
        merges::Merges,
    },
    ensure,
};

pub fn merged(look: &Look<'_>) -> Result<(), String> {
    match look.seen {
        Seen::Act(effect) => asked(&look.durable().merges, effect),
        Seen::Event(event) => recorded(look, &event.fact),
        _ => Ok(()),
    }
}

/// Whether the log says that exactly this is to be done.
fn asked(known: &Merges, effect: &Effect) -> Result<(), String> {
    let told = match effect {
        Effect::PrepareMerge { attempt } => known.is_open(attempt) && known.begun.is_none(),
        Effect::Merge(start) => known.begun.as_ref() == Some(&start.attempt),
        _ => true,
    };
    ensure(told, || format!("{effect:?} is done, and the log does not say why: {known:?}"))
}

fn recorded(look: &Look<'_>, fact: &EventKind) -> Result<(), String> {
    let known = &look.decided().merges;
    let may = match fact {
        EventKind::MergeRequested(request) => {
            let book = look.decided().book(&request.attempt.task_id);
            let number = request.attempt.attempt;
            let first = known.of.get(&request.attempt.task_id).is_none_or(|(last, _)| *last < number);
            // Its work ended well, and no check that failed was left behind.
            first && number > 0 && book.live == Some(number) && book.checking
        }
        EventKind::MergeStarted(start) => known.is_open(&start.attempt) && known.begun.is_none(),
        EventKind::MergeEnded(end) => known.is_open(&end.attempt),
        EventKind::StepEnded { task_id, state: StepState::Succeeded, standing, .. } => {
            let alone = matches!(&step_of(look.plan(), task_id).work, StepWork::Agent(work) if work.workspace == AgentWorkspace::Worktree);
            let live = look.decided().book(task_id).live.filter(|live| alone && *live > 0);
            let well = |attempt: u32| {
                let is_in = |outcome: &MergeOutcome| {
                    matches!(outcome, MergeOutcome::Merged | MergeOutcome::Unchanged | MergeOutcome::ByHand)
                };
                let last = known.of.get(task_id);
                let unseen = known.unseen.contains(&Attempt { task_id: task_id.clone(), attempt });
                !(unseen && standing.is_checked())
                    && last.is_some_and(|(of, ended)| *of == attempt && ended.as_ref().is_some_and(is_in))
            };
            live.is_none_or(well)
        }
        _ => true,
    };
    ensure(may, || format!("{fact:?} comes, after {known:?}"))
}
