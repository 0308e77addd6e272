//! The ends of work, and what a driver takes from them.

use wf_core::machine::{AttemptEnd, InputKind, WorkExit};
use wf_engine::StateAddition;

use super::{RunDriver, RunInput};
use crate::open_work::{OpenWork, WorkPart, step_of, without_conflict};
use crate::order::{OpenReport, WorkWish};
use crate::progress::DriverError;
use crate::tree::{ChangeSource, TreeChange, TreeConflict, TreeNode};

impl RunDriver {
    /// Takes back work that no worker had begun when it was told to end.
    pub(super) fn on_unbegun(&mut self, key: u64) -> Result<(), DriverError> {
        let Some(open) = self.open.remove(&key) else {
            return Ok(());
        };
        if !open.is_attempt() {
            return self.resume_agent(&open);
        }
        if open.wish != WorkWish::Leave {
            self.end(&open, WorkExit::Cancelled);
        } else if let Some(driven) = self.runs.get_mut(&open.run) {
            driven.unbegun.extend(open.attempt);
        }
        Ok(())
    }

    /// Ends an attempt whose worker is lost. An agent goes on elsewhere: its conversation is recorded.
    pub(super) fn on_lost(&mut self, key: u64) -> Result<(), DriverError> {
        let Some(open) = self.open.remove(&key) else {
            return Ok(());
        };
        if let WorkPart::EndNested(nested) = &open.part {
            self.runs.remove(nested);
        }
        if let Some(attempt) = &open.attempt
            && let Some(driven) = self.runs.get_mut(&open.run)
            && driven.is_agent(attempt)
        {
            driven.hosts.remove(attempt);
            return self.resume_agent(&open);
        }
        match open.part {
            WorkPart::Other | WorkPart::Remember(_) => {}
            WorkPart::Lookup(place) => {
                let kind = InputKind::Looked { place, found: None };
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

    /// Ends an attempt that no worker reports about.
    fn end(&mut self, open: &OpenWork, exit: WorkExit) {
        let end = open.attempt.clone().map(|attempt| AttemptEnd::new(attempt, exit));
        let input = |end| RunInput { run: open.run.clone(), kind: InputKind::Ended(end) };
        self.inputs.extend(end.map(input));
    }

    pub(super) fn on_report(&mut self, key: u64, report: OpenReport) -> Result<(), DriverError> {
        let Some(open) = self.open.remove(&key) else {
            return Ok(());
        };
        let OpenReport { mut inputs, nested, change, source, files, mut additions, host, is_left } = report;
        self.log.note_files(files);
        if let Some(change) = change
            && let Err(conflict) = self.apply(change, &source)?
        {
            inputs = inputs.into_iter().map(|input| without_conflict(input, &conflict)).collect();
            additions.retain(|addition| !is_of_cache(addition));
        }
        if let WorkPart::EndNested(nested) = &open.part {
            self.runs.remove(nested);
        }
        let Some(driven) = self.runs.get_mut(&open.run) else {
            return Ok(());
        };
        if let Some(attempt) = &open.attempt
            && (is_left || driven.is_agent(attempt))
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
                        driven.makers.insert(end.attempt.place.clone(), host.clone());
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

    /// Adds a change to the tree, or what makes it good again.
    fn apply(
        &mut self,
        change: TreeChange,
        source: &ChangeSource,
    ) -> Result<Result<(), TreeConflict>, DriverError> {
        let (change, conflict) = match self.history.accept(change, source) {
            Ok(change) => (change, None),
            Err(conflict) => (conflict.reversal.clone(), Some(conflict)),
        };
        if change.0.is_empty() {
            return Ok(Ok(()));
        }
        let node = TreeNode { before: self.tree.last, change };
        self.tree.last = Some(self.objects.put_json_now(&node)?);
        Ok(conflict.map_or(Ok(()), Err))
    }
}

/// True if an addition is of the cache: it does not count without the result that it is about.
fn is_of_cache(addition: &StateAddition) -> bool {
    matches!(addition, StateAddition::Lookup(_) | StateAddition::Result(_))
}
