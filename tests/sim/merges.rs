//! The merges of what agents did in worktrees: what the log says of them, and what the world answers.

use std::collections::{BTreeMap, BTreeSet};

use wf_core::machine::{
    Attempt, Effect, EventKind, InputKind, MergeEnd, MergeOutcome, MergePlan, MergePreparation, MergeStart,
    TaskId,
};
use wf_model::{AgentWork, AgentWorkspace, WorktreeMerge};

use super::{dice::Dice, engine::Job, world::World};

/// What the log says of merges.
#[derive(Clone, Debug, Default)]
pub struct Merges {
    /// The last merge of each place: its attempt, and its outcome once it ended for good.
    pub of: BTreeMap<TaskId, (u32, Option<MergeOutcome>)>,
    /// The one whose files are being written.
    pub begun: Option<Attempt>,
    /// The attempts whose changes met others that their checks did not see.
    pub unseen: BTreeSet<Attempt>,
}

impl Merges {
    pub fn take(&mut self, fact: &EventKind) {
        match fact {
            EventKind::MergeRequested(request) => {
                let Attempt { task_id, attempt } = request.attempt.clone();
                self.of.insert(task_id, (attempt, None));
            }
            EventKind::MergeStarted(start) => {
                self.begun = Some(start.attempt.clone());
                if start.plan.before == start.plan.base {
                    self.unseen.remove(&start.attempt);
                } else {
                    self.unseen.insert(start.attempt.clone());
                }
            }
            EventKind::MergeEnded(end) => {
                if self.begun.as_ref() == Some(&end.attempt) {
                    self.begun = None;
                }
                if end.outcome != MergeOutcome::Outdated
                    && let Some((_, ended)) = self.of.get_mut(&end.attempt.task_id)
                {
                    *ended = Some(end.outcome.clone());
                }
            }
            _ => {}
        }
    }

    /// Whether the merge of an attempt was requested and has not ended.
    pub fn is_open(&self, attempt: &Attempt) -> bool {
        self.of.get(&attempt.task_id) == Some(&(attempt.attempt, None))
    }
}

/// Lets some agents work in worktrees, and some merges be reviewed.
pub fn choose(dice: &Dice, work: &mut AgentWork) {
    let mut dice = Dice::of(dice.0, "worktree");
    if dice.one_in(3) {
        work.workspace = AgentWorkspace::Worktree;
        work.merge = if dice.one_in(3) { WorktreeMerge::Review } else { WorktreeMerge::Automatic };
    }
}

/// What an engine does for a merge; `None` if an effect asks for something else.
pub fn job(effect: &Effect) -> Option<Job> {
    match effect {
        Effect::PrepareMerge { attempt } => Some(Job::Merge { attempt: attempt.clone(), plan: None }),
        Effect::Merge(start) => {
            let MergeStart { attempt, plan } = (**start).clone();
            Some(Job::Merge { attempt, plan: Some(plan) })
        }
        _ => None,
    }
}

/// Whether an input answers what an effect, or a job, asks for; `None`: it is about no merge.
pub fn answers(what: &InputKind, job: &Job) -> Option<bool> {
    let (of, begun) = match what {
        InputKind::MergePrepared { attempt, .. } => (attempt, false),
        InputKind::Merged(end) => (&end.attempt, true),
        _ => return None,
    };
    Some(matches!(job, Job::Merge { attempt, plan } if attempt == of && plan.is_some() == begun))
}

impl World {
    /// What comes of a merge: its plan, or what became of the files.
    pub fn merged(&mut self, at: usize, attempt: Attempt, plan: Option<MergePlan>) -> InputKind {
        let mut dice = self.fates.dice(at, &format!("merge of {attempt}"));
        if let Some(plan) = plan {
            let outcome = match dice.below(8) {
                _ if plan.before == "moving" => MergeOutcome::Outdated,
                0 => MergeOutcome::Failed { reason: "the disk is full".into() },
                _ => MergeOutcome::Merged,
            };
            return InputKind::Merged(MergeEnd { attempt, outcome });
        }
        let result = format!("result of {attempt}");
        let found = dice.below(8);
        // Somebody writes a file just then: seldom enough that it ends. Or somebody has changed some since the agent began.
        let before = match dice.one_in(3) {
            _ if self.dice.one_in(30) => "moving",
            true => "moved",
            false => "still",
        };
        let (base, before) = ("still".into(), before.into());
        let plan = Box::new(MergePlan { result, base, before, ..MergePlan::default() });
        let merge = match found {
            0 => MergePreparation::Unchanged,
            1 => MergePreparation::Failed { reason: "there is no git".into() },
            2 | 3 => MergePreparation::Conflict { plan, files: vec!["a file".into()] },
            _ => MergePreparation::Clean { plan, diff: String::new() },
        };
        InputKind::MergePrepared { attempt, merge }
    }
}
