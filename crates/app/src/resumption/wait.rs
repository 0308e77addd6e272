use std::time::Duration;

use crate::{
    Caller, CliExitCode, CommandError,
    approve::{AnswerReview, SigningRules, approval_requests},
    specs::load::recorded_plan_if_valid,
};
use wf_base::{name::RunId, time::Moment};
use wf_core::machine::{Effect, Machine};
use wf_model::ResumeMode;
use wf_report::record::RunLifecycle;
use wf_store::{RunState, StoreReader};

/// The longest wait for a process that is about to leave a run, and the pause between two looks.
const MAX_WAIT: Duration = Duration::from_secs(10);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The state of a run that has not ended, as it matters for its resume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunWait {
    /// True if something that it waits for is answered or over, or its process died at work.
    pub is_due: bool,
    /// The time at which the next of the others is over.
    pub next: Option<Moment>,
    /// The number of its events and answers: with the same number, another try leads to the same result.
    pub mark: usize,
}

impl RunWait {
    /// Reads what an outermost run, and those nested in it, wait for. One whose process died at work waits for nothing else.
    pub fn of(
        reader: &StoreReader,
        rules: &SigningRules,
        run: &RunId,
        now: Moment,
    ) -> Result<Self, CommandError> {
        let life = RunLifecycle::of(&reader.runs().get(run)?, reader.leases().owner(run)?);
        let mut wait = Self { is_due: life == RunLifecycle::Interrupted, ..Self::default() };
        for approval_request in
            approval_requests(reader, run)?.into_iter().filter(|request| request.outcome.is_none())
        {
            let answers =
                reader.approvals().answers(&approval_request.run, approval_request.request.request)?.len();
            wait.mark += answers;
            if answers > 0 && !wait.is_due {
                wait.is_due = AnswerReview::read(reader, approval_request)?.is_decided(reader, rules, now)?;
            }
        }
        wait.add_timers(reader, run, now)?;
        Ok(wait)
    }

    /// Adds the timers of a run, and of those nested in it.
    fn add_timers(&mut self, reader: &StoreReader, run: &RunId, now: Moment) -> Result<(), CommandError> {
        let row = reader.runs().get(run)?;
        let plan = recorded_plan_if_valid(reader, run)?.filter(|_| row.state == RunState::Running);
        let Some(plan) = plan else {
            return Ok(());
        };
        let events = reader.events().of_run(run, 0)?;
        self.mark += events.len();
        let mut machine = Machine::new(plan, run.clone(), row.params);
        // The record of other rules is for `wf resume` to refuse.
        if events.iter().any(|(_, event)| machine.replay(event).is_err()) {
            return Ok(());
        }
        for effect in machine.resume(now).effects {
            match effect {
                Effect::Wake { at, .. } if at <= now => self.is_due = true,
                Effect::Wake { at, .. } => self.next = [self.next, Some(at)].into_iter().flatten().min(),
                _ => {}
            }
        }
        for (child, _) in reader.runs().children(run)? {
            self.add_timers(reader, &child, now)?;
        }
        Ok(())
    }
}

/// The answer to the question if a run is to be resumed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdleRun {
    /// Nobody works on it, and it can go on.
    Due,
    /// Nobody works on it, and a person resumes it: its plan says so.
    Manual,
    /// There is nothing to do here; the reason.
    Left(String),
}

/// Decides if an outermost run is to be resumed here. A process working on it may be about to leave it without having
/// seen an answer, so it is waited for, a while, until it has.
pub fn await_run(caller: &dyn Caller, run: &RunId) -> Result<IdleRun, CommandError> {
    let (host, short) = (caller.host(), run.short());
    let rules = SigningRules::of(caller, &host.workspace())?;
    let mut waited = Duration::ZERO;
    loop {
        let reader = StoreReader::from_whole_log(&host.workspace().state)?;
        let row = reader.runs().get(run)?;
        if row.parent.is_some() {
            return Err(CommandError::new(
                CliExitCode::Usage,
                format!("run {short} is nested in another run"),
            ));
        }
        if row.state != RunState::Running {
            return Ok(IdleRun::Left(format!("run {short} has ended")));
        }
        if !RunWait::of(&reader, &rules, run, host.now())?.is_due {
            return Ok(IdleRun::Left(format!("run {short} has gone on, or waits for nothing that is over")));
        }
        match reader.leases().owner(run)?.filter(|owner| owner.alive) {
            None if is_manual(&reader, run)? => return Ok(IdleRun::Manual),
            None => return Ok(IdleRun::Due),
            Some(owner) if waited >= MAX_WAIT => {
                return Ok(IdleRun::Left(format!("process {} works on run {short}", owner.pid)));
            }
            Some(_) => std::thread::sleep(LOOK_INTERVAL),
        }
        waited += LOOK_INTERVAL;
    }
}

/// True if a person resumes a run.
pub(super) fn is_manual(reader: &StoreReader, run: &RunId) -> Result<bool, CommandError> {
    let plan = recorded_plan_if_valid(reader, run)?;
    Ok(plan.is_some_and(|plan| plan.parts().resume == ResumeMode::Manual))
}
