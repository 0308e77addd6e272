//! The ends of work, and what a driver takes from them.

use wf_core::machine::{InputKind, WorkExit};
use wf_engine::StateAddition;

use super::{RunDriver, RunInput};
use crate::{
    files::{
        findings::{AcceptedFinding, FindingSource},
        tree::{TreeChange, TreeNode},
    },
    messages::order::{OpenReport, WorkWish},
    run::{
        open_work::{OpenWork, WorkPart, note_conflict, step_of},
        progress::DriverError,
    },
};

impl RunDriver {
    /// Takes back work no worker had begun when it was told to end.
    pub(super) fn on_unbegun(&mut self, key: u64) -> Result<(), DriverError> {
        let Some(open) = self.open.remove(&key) else {
            return Ok(());
        };
        if !open.is_attempt() {
            return self.resume_agent(&open);
        }
        if open.wish != WorkWish::Leave {
            self.end(&open, WorkExit::Cancelled);
        } else if open.child.is_none()
            && let Some(driven) = self.runs.get_mut(&open.run)
        {
            driven.unbegun.extend(open.attempt);
        }
        Ok(())
    }

    /// Ends an attempt of a lost worker. An agent goes on elsewhere: its conversation is recorded.
    pub(super) fn on_lost(&mut self, key: u64) -> Result<(), DriverError> {
        let Some(open) = self.open.remove(&key) else {
            return Ok(());
        };
        if let WorkPart::EndNested(nested) = &open.part {
            self.runs.remove(nested);
        }
        if let Some(attempt) = open.attempt.as_ref().filter(|_| open.child.is_none())
            && let Some(driven) = self.runs.get_mut(&open.run)
            && driven.is_agent(attempt)
        {
            driven.hosts.remove(attempt);
            return self.resume_agent(&open);
        }
        match open.part {
            WorkPart::Other | WorkPart::Call | WorkPart::Remember(_) => {}
            WorkPart::Lookup(task_id) => {
                let kind = InputKind::Looked { task_id, found: None };
                self.inputs.push_back(RunInput { run: open.run, kind });
            }
            _ => self.end(&open, WorkExit::Interrupted),
        }
        Ok(())
    }

    /// Lets the agent go on that some work was for.
    fn resume_agent(&mut self, open: &OpenWork) -> Result<(), DriverError> {
        let (Some(attempt), Some(driven)) = (&open.attempt, self.runs.get_mut(&open.run)) else {
            return Ok(());
        };
        let turn = driven.machine.resume_agent(attempt, self.now);
        self.record(&open.run, turn)
    }

    /// Ends an attempt, or a child run, that no worker reports about.
    fn end(&mut self, open: &OpenWork, exit: WorkExit) {
        let input = |kind| RunInput { run: open.run.clone(), kind };
        self.inputs.extend(open.end(exit).map(input));
    }

    pub(super) fn on_report(&mut self, key: u64, report: OpenReport) -> Result<(), DriverError> {
        let Some(open) = self.open.remove(&key) else {
            return Ok(());
        };
        let OpenReport { mut inputs, nested, source, files, mut additions, host, is_left, ended: _ } = report;
        self.log.note_files(files);
        self.take_findings(&source)?;
        for input in &mut inputs {
            if changes_files(input)
                && let Some(path) = self.history.conflict(&source.copy, source.looks)
            {
                note_conflict(input, path);
                additions.retain(|addition| !is_of_cache(addition));
            }
        }
        if let WorkPart::EndNested(nested) = &open.part {
            self.runs.remove(nested);
        }
        let Some(driven) = self.runs.get_mut(&open.run) else {
            return Ok(());
        };
        if let Some(attempt) = &open.attempt
            && (is_left || open.is_at_host() && driven.is_agent(attempt))
        {
            driven.hosts.insert(attempt.clone(), host.clone());
        }
        if open.prepares && open.round < driven.machine.replans() {
            inputs.retain(|input| !input.prepares());
            additions.retain(|addition| !is_of_cache(addition));
        }
        self.log.note_additions(additions);
        for input in &inputs {
            match input {
                InputKind::Ended(end) => {
                    driven.hosts.remove(&end.attempt);
                    let step = step_of(&driven.machine, &end.attempt);
                    if step.is_some_and(|step| step.cache.is_some()) {
                        driven.makers.insert(end.attempt.task_id.clone(), host.clone());
                    }
                }
                InputKind::Answered { number, .. } => drop(driven.tokens.remove(number)),
                _ => {}
            }
        }
        let run = &open.run;
        self.inputs.extend(inputs.into_iter().map(|kind| RunInput { run: run.clone(), kind }));
        match (nested, open.part) {
            (Some(beginning), WorkPart::BeginNested(effect)) => {
                self.begin_nested(beginning, *effect, open.wish)
            }
            _ => Ok(()),
        }
    }

    /// Takes what was found in a copy of the workspace and has not been reported yet.
    fn take_findings(&mut self, source: &FindingSource) -> Result<(), DriverError> {
        let FindingSource { copy, last, .. } = source;
        for finding in self.history.lacking(copy, last.clone(), &self.objects)? {
            let AcceptedFinding { change, reversal, files } = self.history.accept(copy, finding);
            self.log.note_files(files);
            self.change_tree(change, Some(copy.clone()))?;
            self.change_tree(reversal, None)?;
        }
        Ok(())
    }

    /// Adds a change to the tree. `copy` has it already.
    fn change_tree(&mut self, change: TreeChange, copy: Option<String>) -> Result<(), DriverError> {
        if !change.is_empty() {
            let node = TreeNode { before: self.tree.last, copy, change };
            self.tree.last = Some(self.objects.put_json_now(&node)?);
        }
        Ok(())
    }
}

/// True if files may have changed before an input, which counts with them or not at all.
fn changes_files(input: &InputKind) -> bool {
    matches!(input, InputKind::Ended(_) | InputKind::Merged(_) | InputKind::Looked { found: Some(_), .. })
}

/// True if an addition is of the cache: it does not count without the result it is about.
fn is_of_cache(addition: &StateAddition) -> bool {
    matches!(addition, StateAddition::Lookup(_) | StateAddition::Result(_))
}
