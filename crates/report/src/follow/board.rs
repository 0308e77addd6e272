use std::{collections::BTreeMap, time::Duration};

use super::{
    ResumeOptions, RunEnding, RunNotification,
    answers::gate_or_approval_notification,
    count::{TaskCount, TaskCounter},
    ending::{changed_result, run_notification, task_ending},
    under_way::{DisplayedTask, RunInProgress, TaskInProgress},
};
use crate::ItemNames;
use wf_base::{
    name::{Name, RunId},
    time::Moment,
};
use wf_core::{
    machine::{Attempt, CheckVerdict, Event, EventKind, Round, TaskId},
    observe::RunRef,
};

/// The state of running runs. Folds events into notifications.
#[derive(Debug, Default)]
pub struct RunTracker {
    runs: BTreeMap<RunId, RunInProgress>,
    names: ItemNames,
    /// The time of the first event: a resumed run may begin with events of a nested one.
    first_event_at: Option<Moment>,
    /// The time worked on the run before.
    prior_work: Duration,
    counter: TaskCounter,
    /// The rounds of the outermost run; the plan bounds their number.
    rounds: Vec<Round>,
    /// The options after the last round.
    moves: Vec<String>,
    resume_options: ResumeOptions,
    /// True if nothing has a sandbox.
    is_unsandboxed: bool,
}

impl RunTracker {
    /// Returns a board of a run with these options for resuming it and this time of earlier work.
    pub fn for_run(resume_options: ResumeOptions, worked: Duration) -> Self {
        Self { prior_work: worked, resume_options, ..Self::default() }
    }

    /// Returns the board, which reports a missing sandbox if `is_open`.
    #[must_use]
    pub fn without_sandbox(self, is_open: bool) -> Self {
        Self { is_unsandboxed: is_open, ..self }
    }

    /// Processes an event; `None` if there is nothing to print.
    pub fn event(&mut self, run: &RunRef, event: &Event) -> Option<RunNotification> {
        let top = run.path.is_empty();
        self.first_event_at.get_or_insert(event.at);
        self.replay(run, event);
        match &event.fact {
            EventKind::RunStarted { plan, .. } => {
                self.open_run(run);
                top.then(|| RunNotification::Began {
                    plan: plan.clone(),
                    run: run.id.clone(),
                    is_unsandboxed: self.is_unsandboxed,
                })
            }
            EventKind::RoundCompleted(round) if top => {
                self.moves = crate::moves::moves(round);
                run_notification(&event.fact)
            }
            EventKind::RunEnded { .. } => self.on_run_ended(run, event),
            EventKind::CheckCompleted { attempt, verdict } => {
                self.on_check_completed(run, attempt.as_ref(), verdict)
            }
            EventKind::StepEnded { .. } | EventKind::StepReused { .. } => self.on_step_ended(run, event),
            EventKind::AttemptStarted(_)
            | EventKind::AttemptEnded { .. }
            | EventKind::RetryScheduled { .. } => self.on_attempt_event(run, event),
            EventKind::StepExpanded { step, .. } => {
                self.mark_expanded(run, &TaskId::of_step(step), event.at);
                None
            }
            EventKind::EvidenceStale(_) | EventKind::ResultDropped { .. } => {
                changed_result(run, &event.fact, &self.names)
            }
            EventKind::ApprovalRequested(ask) => {
                let place = ask.task_id.as_ref();
                if let Some(busy) = place.and_then(|place| self.task_in_progress(run, place)) {
                    busy.waiting = true;
                }
                gate_or_approval_notification(run, &event.fact, &self.names)
            }
            other => {
                let noted = run_notification(other).filter(|_| top);
                noted.or_else(|| gate_or_approval_notification(run, other, &self.names))
            }
        }
    }

    /// Processes an event from before a run was resumed, which is not printed.
    pub fn replay(&mut self, run: &RunRef, event: &Event) {
        self.resume_options.record_approval(&event.fact);
        self.names.record(run, event);
        if run.path.is_empty() {
            self.counter.record(&event.fact);
        }
        if let (EventKind::RoundCompleted(round), true) = (&event.fact, run.path.is_empty()) {
            self.rounds.push((**round).clone());
        }
    }

    /// Returns the time worked on the run before.
    pub fn worked(&self) -> Duration {
        self.prior_work
    }

    /// Returns the display name of a task with those above it.
    pub fn subject(&self, run: &RunRef, task_id: &TaskId) -> String {
        self.names.subject(&run.path, task_id)
    }

    /// Processes output.
    pub fn output(&mut self, run: &RunRef, attempt: &Attempt, bytes: &[u8]) {
        let number = attempt.attempt;
        if let Some(busy) = self.task_in_progress(run, &attempt.task_id)
            && busy.attempt >= number
        {
            busy.output_tail.push(bytes);
        }
    }

    /// The running tasks, the earliest first. Tasks that only wait for a nested run are left out:
    /// its tasks are listed instead.
    pub fn running_tasks(&self) -> Vec<DisplayedTask> {
        let mut going: Vec<_> = self.runs.values().flat_map(RunInProgress::running_tasks).collect();
        // Items in their order, whatever their names.
        going.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let shown = going.into_iter().map(|(since, way, busy)| DisplayedTask {
            subject: way.subject(&self.names),
            since,
            attempt: busy.attempt,
            state: busy.state(),
            items_of: way.repeated_step().cloned(),
            last_line: busy.output_tail.last_line(),
        });
        shown.collect()
    }

    /// Counts the tasks of the outermost run, which has a number of steps.
    pub fn progress(&self, step_count: usize) -> TaskCount {
        self.counter.count(step_count)
    }

    /// Counts the items of a step of the outermost run; `None`: it is not repeated.
    pub fn item_progress(&self, step: &Name) -> Option<TaskCount> {
        self.counter.count_items(step)
    }

    fn open_run(&mut self, run: &RunRef) {
        let open = || RunInProgress { path: run.path.clone(), places: BTreeMap::new() };
        self.runs.entry(run.id.clone()).or_insert_with(open);
        self.mark_nested(run);
    }

    /// Marks the task above a nested run, which does no work of its own.
    fn mark_nested(&mut self, run: &RunRef) {
        let Some((last, above)) = run.path.split_last() else {
            return;
        };
        let parents = self.runs.values_mut().filter(|open| open.path == above);
        for (place, busy) in parents.flat_map(|open| &mut open.places) {
            if place.to_string() == *last {
                busy.nested = true;
            }
        }
    }

    fn task_in_progress(&mut self, run: &RunRef, task_id: &TaskId) -> Option<&mut TaskInProgress> {
        self.runs.get_mut(&run.id)?.places.get_mut(task_id)
    }

    fn on_attempt_event(&mut self, run: &RunRef, event: &Event) -> Option<RunNotification> {
        match &event.fact {
            EventKind::AttemptStarted(attempt) => Some(self.on_attempt_started(run, attempt, event.at)),
            EventKind::AttemptEnded { attempt, how, .. } => {
                let busy = self.task_in_progress(run, &attempt.task_id)?;
                busy.checking = how.is_success();
                None
            }
            EventKind::RetryScheduled { attempt, due, reason, looped } => {
                let mut gap = None;
                if let Some(busy) = self.task_in_progress(run, &attempt.task_id) {
                    (busy.waiting, busy.checking) = (true, false);
                    gap = busy.gap();
                }
                Some(RunNotification::Retries {
                    gap,
                    looped: *looped,
                    subject: self.subject(run, &attempt.task_id),
                    attempt: attempt.attempt,
                    wait: due.since(event.at),
                    reason: reason.clone(),
                })
            }
            _ => None,
        }
    }

    fn on_attempt_started(&mut self, run: &RunRef, attempt: &Attempt, at: Moment) -> RunNotification {
        self.open_run(run);
        if let Some(open) = self.runs.get_mut(&run.id) {
            let begun = open.places.get(&attempt.task_id);
            let busy = TaskInProgress::new(begun.map_or(at, |busy| busy.since), attempt.attempt);
            open.places.insert(attempt.task_id.clone(), busy);
        }
        RunNotification::Started { subject: self.subject(run, &attempt.task_id), attempt: attempt.attempt }
    }

    /// Marks a repeated step, without work of its own, like one using a plan.
    fn mark_expanded(&mut self, run: &RunRef, task_id: &TaskId, at: Moment) {
        self.open_run(run);
        if let Some(open) = self.runs.get_mut(&run.id) {
            let busy = TaskInProgress { nested: true, ..TaskInProgress::new(at, 0) };
            open.places.insert(task_id.clone(), busy);
        }
    }

    fn on_check_completed(
        &mut self,
        run: &RunRef,
        of: Option<&Attempt>,
        verdict: &CheckVerdict,
    ) -> Option<RunNotification> {
        let Some(attempt) = of else {
            return Some(RunNotification::Judged {
                plan: run.plan.clone(),
                subject: self.names.text(&run.path, run.plan.as_str()),
                verdict: verdict.clone(),
            });
        };
        let busy = self.task_in_progress(run, &attempt.task_id)?;
        busy.verdict_count += 1;
        if !verdict.passed() {
            busy.failed_checks.push(verdict.clone());
        }
        None
    }

    fn on_step_ended(&mut self, run: &RunRef, event: &Event) -> Option<RunNotification> {
        let mut ending = task_ending(run, &event.fact, &self.names)?;
        ending.server = self.resume_options.server().map(str::to_owned);
        let place = match &event.fact {
            EventKind::StepEnded { task_id, .. } => task_id.clone(),
            _ => return Some(RunNotification::Ended(Box::new(ending))),
        };
        let open = self.runs.get_mut(&run.id);
        if let Some(busy) = open.and_then(|open| open.places.remove(&place)) {
            ending.duration = Some(event.at.since(busy.since));
            ending.attempts = busy.attempt;
            ending.failed_checks = busy.failed_checks;
            ending.output_tail = busy.output_tail.lines();
            ending.nested = busy.nested;
        }
        Some(RunNotification::Ended(Box::new(ending)))
    }

    fn on_run_ended(&mut self, run: &RunRef, event: &Event) -> Option<RunNotification> {
        self.runs.remove(&run.id);
        // The end of a nested run is reported as that of its step.
        if !run.path.is_empty() {
            self.names.forget(run);
            return None;
        }
        let EventKind::RunEnded {
            outcome,
            reason,
            failed_step: failed,
            counts,
            stale,
            outputs,
            accepted,
            ..
        } = &event.fact
        else {
            return None;
        };
        let files = stale.iter();
        let texts = files.map(|file| file.text(&self.names.place(&run.path, &file.task_id)));
        Some(RunNotification::Over(Box::new(RunEnding {
            run: run.id.clone(),
            plan: run.plan.clone(),
            outcome: *outcome,
            reason: reason.clone(),
            failed_step: failed.clone(),
            counts: *counts,
            stale: texts.collect(),
            outputs: outputs.clone(),
            accepted: *accepted,
            moves: self.resume_options.retain_possible(std::mem::take(&mut self.moves)),
            duration: self.prior_work + event.at.since(self.first_event_at.unwrap_or(event.at)),
            rounds: std::mem::take(&mut self.rounds),
            next_commands: self.resume_options.commands(run),
            rounds_command: self.resume_options.rounds_command(run),
        })))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ResumeOptions, RunNotification, RunTracker};
    use wf_base::{
        name::{Name, PlanId, RunId},
        time::Moment,
    };
    use wf_core::{
        machine::{Attempt, Event, EventKind, RunOffers, RunOutcome, Standing, StepCounts, TaskId},
        observe::RunRef,
    };

    fn run(id: &str, path: &[&str]) -> RunRef {
        RunRef {
            id: RunId::from_stored(id),
            plan: PlanId::parse("demo").unwrap(),
            path: path.iter().map(|place| (*place).to_owned()).collect(),
        }
    }

    #[test]
    fn a_resumed_run_took_as_long_as_its_nested_ones() {
        let mut board = RunTracker::for_run(ResumeOptions::default(), Duration::from_mins(1));
        let mut tell = |run: &RunRef, duration_ms, fact| {
            let at = Moment::from_millis(duration_ms);
            board.event(run, &Event { at, fact })
        };
        let task_id = TaskId::of_step(&Name::parse("say").unwrap());
        let attempt = Attempt { task_id, attempt: 1 };
        tell(&run("2", &["inner"]), 1_000, EventKind::AttemptStarted(attempt));
        let ended = EventKind::RunEnded {
            outcome: RunOutcome::Succeeded,
            reason: String::new(),
            failed_step: None,
            standing: Standing::Reported,
            counts: StepCounts::default(),
            failures: wf_core::machine::FailureTally::default(),
            stale: Vec::new(),
            outputs: wf_model::JsonObject::new(),
            accepted: None,
            offers: RunOffers::default(),
        };
        let Some(RunNotification::Over(ending)) = tell(&run("1", &[]), 4_000, ended) else {
            panic!("the end is news");
        };
        assert_eq!(ending.duration, Duration::from_secs(63));
    }
}
