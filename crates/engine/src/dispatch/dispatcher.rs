//! The loop of one run: wait for what happens, decide, make durable, carry out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{oneshot, watch},
    task::{AbortHandle, JoinSet},
};

use wf_base::time::Moment;
use wf_core::machine::{
    ApprovalRequest, Attempt, Event, EventKind, InputKind, Machine, MachineInput, MachineTurn, TaskId,
    TaskLocks,
};
use wf_exec::StopLevel;
use wf_store::{AppendResult, NewRun, StoreError};

use super::{
    commit_queue::{self, CommitQueue, PendingTurn},
    opening, session_watch,
    timers::RunTimers,
};
use crate::{
    memory::{self, OpenRequests},
    nested::children::LiveChildren,
    run::RunContext,
    session::{
        EngineError, FinishedRun, UnitResult,
        end::{SuspendedRequest, finished_run_of},
    },
};

/// The maximum delay until an approver's answer is seen.
const APPROVAL_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The reason of a run that was told to end.
pub const STOP_REASON: &str = "cancelled by a signal (Ctrl-C / wf cancel)";

/// The loop of one run until it is over. It alone owns the machine.
pub(crate) struct RunDispatcher {
    pub(crate) run: Arc<RunContext>,
    machine: Machine,
    pub(crate) now: Moment,
    pub(super) timers: RunTimers,
    units: JoinSet<(u32, UnitResult)>,
    pub(super) stops: BTreeMap<Option<Attempt>, watch::Sender<StopLevel>>,
    pub(super) lock_waits: BTreeMap<TaskId, AbortHandle>,
    /// The tasks whose files are asked for before the loop waits again.
    pub(super) lock_tries: Vec<(TaskId, TaskLocks)>,
    /// The locks being released.
    pub(super) releasing_locks: BTreeMap<TaskId, oneshot::Receiver<()>>,
    /// The pending approvals, each with the unit looking for answers.
    pub(crate) asks: BTreeMap<u32, (Box<ApprovalRequest>, AbortHandle)>,
    /// The end of the last of these looks.
    pub(super) last_look: Option<oneshot::Receiver<()>>,
    /// The requests to people, until they decide.
    requests: OpenRequests,
    pub(crate) nested: BTreeSet<Attempt>,
    /// The child runs of agents, which are nested runs, too.
    pub(crate) children: LiveChildren,
    /// The unit that checks evidence before the run ends.
    pub(super) confirms: Option<AbortHandle>,
    commit_queue: CommitQueue,
    stop_level: StopLevel,
    /// True once no further work is to begin.
    drain: watch::Receiver<bool>,
    finished_run: Option<FinishedRun>,
}

/// An event the loop waits for.
enum DispatchEvent {
    Durable(Result<AppendResult, StoreError>),
    Unit(Box<(u32, UnitResult)>),
    Timer,
    Stop,
    Drain,
    CheckApprovals,
    Idle,
    Tick,
}

impl RunDispatcher {
    /// Creates it. `new`: the run, if nothing of it is recorded; `end`: its end, if it is over.
    pub(crate) fn new(
        run: Arc<RunContext>,
        machine: Machine,
        new: Option<NewRun>,
        finished_run: Option<FinishedRun>,
    ) -> Self {
        // A stop passed on before the engine died need not be passed on again.
        let stop_level = match machine.requested_cancel() {
            None => StopLevel::No,
            Some(false) => StopLevel::Gently,
            Some(true) => StopLevel::AtOnce,
        };
        Self {
            now: run.session.clock.now(),
            drain: run.session.shared.drain.subscribe(),
            run,
            machine,
            timers: RunTimers::default(),
            units: JoinSet::new(),
            stops: BTreeMap::new(),
            lock_waits: BTreeMap::new(),
            lock_tries: Vec::new(),
            releasing_locks: BTreeMap::new(),
            asks: BTreeMap::new(),
            last_look: None,
            requests: OpenRequests::default(),
            nested: BTreeSet::new(),
            children: LiveChildren::default(),
            confirms: None,
            commit_queue: CommitQueue::new(new),
            stop_level,
            finished_run,
        }
    }

    /// Continues after recorded events: the time of a run does not go back, even if the clock was
    /// set back while no engine worked on it.
    pub(crate) fn after_replay(mut self, events: &[(u64, Event)]) -> Self {
        for (_, event) in events {
            self.run.note_event(event);
            // The engine may have died before it was written.
            memory::remember(&self.run, event);
            self.requests.note_event(&self.run, event);
            let run = &self.run;
            let session = &run.session;
            session.observe(|observer| observer.replayed(&run.run_ref, event));
        }
        self.run.note_plan(self.machine.plan());
        if let Some((number, last)) = events.last() {
            self.now = self.now.max(last.at);
            self.commit_queue.set_last_number(*number);
        }
        self
    }

    /// Begins the run, or resumes a replayed one, and works on it to its end.
    pub(crate) async fn work(
        mut self,
        mut stop: watch::Receiver<StopLevel>,
    ) -> Result<FinishedRun, EngineError> {
        if self.run.run_ref.path.is_empty() {
            self.run.session.store.keep_reserve();
        }
        if self.machine.has_begun() {
            let now = self.clock(Moment::default());
            let turn = self.machine.resume(now);
            self.record(turn);
        } else {
            let begin = opening::begin(&self.run)?;
            self.process_input(Moment::default(), begin);
        }
        self.on_stop_signal(&mut stop);
        let session = Arc::clone(&self.run.session);
        session_watch::drain_if_low(&self.run);
        self.drain_if_asked();
        loop {
            if let Some(end) = self.finished_run() {
                session.shared.suspended_runs.forget(&self.run.run_ref);
                return Ok(end);
            }
            self.try_locks().await?;
            self.commit_queue.send(&self.run);
            self.park(&stop)?;
            match self.wait(&mut stop).await? {
                DispatchEvent::Durable(answer) => {
                    session_watch::drain_if_low(&self.run);
                    self.durable(&answer?);
                }
                DispatchEvent::Unit(unit) => {
                    let (round, report) = *unit;
                    self.on_unit_end(round, self.in_state(report)?);
                }
                DispatchEvent::Timer => self.fire_due_timers(),
                DispatchEvent::Stop => self.on_stop_signal(&mut stop),
                DispatchEvent::Drain => self.drain_if_asked(),
                DispatchEvent::CheckApprovals => self.poll_approvals(),
                DispatchEvent::Idle => {}
                DispatchEvent::Tick => self.run.session.observe(|observer| observer.tick()),
            }
            while let Some(report) = self.units.try_join_next() {
                let (round, report) = unit_result(report);
                self.on_unit_end(round, self.in_state(report)?);
            }
        }
    }

    /// Returns the end, once it is durable and every unit has ended.
    fn finished_run(&mut self) -> Option<FinishedRun> {
        let quiet = self.commit_queue.is_empty() && self.units.is_empty();
        if quiet { self.finished_run.take() } else { None }
    }

    async fn wait(&mut self, stop: &mut watch::Receiver<StopLevel>) -> Result<DispatchEvent, EngineError> {
        let session = Arc::clone(&self.run.session);
        let next = self.timers.next_wait(session.clock.now());
        let sleep = next.filter(|_| self.finished_run.is_none());
        let (asks, outermost) = (!self.asks.is_empty(), self.run.run_ref.path.is_empty());
        let ticks = outermost && {
            let mut wants = false;
            session.observe(|observer| wants = observer.wants_ticks());
            wants
        };
        let drains = *self.drain.borrow();
        if self.commit_queue.is_empty() && self.units.is_empty() && sleep.is_none() && !drains {
            return Err(EngineError::Stuck);
        }
        let awaits = self.commit_queue.awaits_commit();
        tokio::select! {
            biased;
            answer = self.commit_queue.answer(), if awaits => Ok(DispatchEvent::Durable(answer)),
            Some(report) = self.units.join_next(), if !self.units.is_empty() => Ok(DispatchEvent::Unit(Box::new(unit_result(report)))),
            () = tokio::time::sleep(sleep.unwrap_or_default()), if sleep.is_some() => Ok(DispatchEvent::Timer),
            Ok(()) = stop.changed() => Ok(DispatchEvent::Stop),
            Ok(()) = self.drain.changed() => Ok(DispatchEvent::Drain),
            () = tokio::time::sleep(APPROVAL_POLL_INTERVAL), if asks => Ok(DispatchEvent::CheckApprovals),
            () = session.shared.suspended_runs.wait_for_change(), if outermost => Ok(DispatchEvent::Idle),
            () = tokio::time::sleep(Duration::from_millis(100)), if ticks => Ok(DispatchEvent::Tick),
        }
    }

    /// Leaves, if every run of the session only waits for approvals, or is drained.
    fn park(&self, stop: &watch::Receiver<StopLevel>) -> Result<(), EngineError> {
        let session = &self.run.session;
        let now = session.clock.now();
        let drains = *self.drain.borrow() && self.stop_level == StopLevel::No;
        let nested = self.nested.len() + self.children.len();
        // A task that waits for its lock has not begun.
        let unbegun = if drains { self.lock_waits.len() } else { 0 };
        let busy = self.units.len() > nested + unbegun || !self.commit_queue.is_empty();
        let waits = !self.asks.is_empty() || nested > 0;
        let idle = !busy && self.finished_run.is_none() && (drains || waits && self.timers.are_patient(now));
        let questions = || {
            let asks = self
                .asks
                .values()
                .map(|(ask, _)| SuspendedRequest { run: self.run.run_ref.clone(), request: (**ask).clone() });
            asks.collect()
        };
        // A stop that the run around this one sent may not be heard yet.
        let is_stopped = || stop.has_changed().unwrap_or_default();
        session
            .shared
            .suspended_runs
            .note_requests(&self.run.run_ref, || (idle && !is_stopped()).then(questions));
        let outermost = self.run.run_ref.path.is_empty();
        match session.shared.suspended_runs.questions() {
            Some(_) if outermost && drains => Err(session_watch::drained(&self.run)),
            Some(questions) if outermost && !session.stays && !questions.is_empty() => {
                let run = self.run.run_ref.id.clone();
                Err(EngineError::Parked { run, requests: questions })
            }
            _ => Ok(()),
        }
    }

    /// Returns the time, which never goes back within a run.
    fn clock(&mut self, at_least: Moment) -> Moment {
        self.now = self.now.max(at_least).max(self.run.session.clock.now());
        self.now
    }

    /// Gives the machine an input and sends the result to the disk.
    pub(super) fn process_input(&mut self, at_least: Moment, input: InputKind) {
        let at = self.clock(at_least);
        let turn = self.machine.turn(MachineInput { at, kind: input });
        self.record(turn);
    }

    fn record(&mut self, turn: MachineTurn) {
        let MachineTurn { events, effects } = turn;
        let effects = self.set_lock_tries_aside(effects);
        if events.is_empty() && self.commit_queue.is_empty() {
            return effects.into_iter().for_each(|effect| self.execute_effect(effect));
        }
        self.commit_queue.push(PendingTurn { round: self.machine.replans(), events, effects });
    }

    /// Carries out and shows the first sent decision, now durable.
    fn durable(&mut self, appended: &AppendResult) {
        let turns = self.commit_queue.take_durable();
        turns.iter().flat_map(|turn| &turn.events).for_each(|event| self.observe_event(event));
        let (mut events, mut orders) = (Vec::new(), Vec::new());
        for turn in turns {
            let overtaken = turn.round < self.machine.replans();
            let effects = turn.effects.into_iter();
            let valid = effects.filter(|effect| !(overtaken && effect.prepares()));
            orders.extend(valid);
            events.extend(turn.events);
        }
        commit_queue::publish_durable(&self.run, appended, events);
        for effect in orders {
            self.execute_effect(effect);
        }
    }

    /// Shows an event to the observers in this process.
    fn observe_event(&mut self, event: &Event) {
        self.run.note_event(event);
        if matches!(event.fact, EventKind::RoundCompleted(_) | EventKind::MemoryApplied { .. }) {
            self.run.note_plan(self.machine.plan());
            memory::remember(&self.run, event);
        }
        self.requests.note_event(&self.run, event);
        if let EventKind::RoundCompleted(round) = &event.fact {
            self.run.forget_keys(&round.reopened);
        }
        let run = &self.run;
        run.session.observe(|observer| observer.event(&run.run_ref, event));
        self.finished_run =
            self.finished_run.take().or_else(|| finished_run_of(&run.run_ref.id, event, &self.machine));
    }

    /// True if locks of a task are released once what was decided is durable.
    pub(super) fn releases(&self, task_id: &TaskId) -> bool {
        self.commit_queue.releases(task_id)
    }

    /// Starts a unit of work, which returns with the round it was started in.
    pub(super) fn spawn_unit<F>(&mut self, work: F) -> AbortHandle
    where
        F: Future<Output = UnitResult> + Send + 'static,
    {
        let round = self.machine.replans();
        // Boxed, because it is large, and is moved several times before it begins.
        let work = Box::pin(work);
        self.units.spawn(async move { (round, work.await) })
    }

    /// Returns the result of a unit, unless the state could not take a part of it.
    fn in_state(&self, report: UnitResult) -> UnitResult {
        match self.run.session.shared.fault.get() {
            Some(fault) => Err(fault.clone().into()),
            None => report,
        }
    }

    fn on_unit_end(&mut self, round: u32, unit_input: Option<InputKind>) {
        let Some(input) = unit_input else { return };
        // A preparation from before the task was reopened is not for its next attempt.
        if round < self.machine.replans() && input.prepares() {
            return;
        }
        match &input {
            InputKind::Ended(ended) => {
                self.nested.remove(&ended.attempt);
                self.stops.remove(&Some(ended.attempt.clone()));
            }
            InputKind::ChildEnded(end) => self.children.remove(&end.id),
            InputKind::Gated { task_id, .. } => {
                let task = task_id.as_ref();
                self.stops.retain(|name, _| name.as_ref().map(|name| &name.task_id) != task);
            }
            InputKind::Answered { number, .. } => drop(self.asks.remove(number)),
            InputKind::Judged { attempt, .. } => drop(self.stops.remove(attempt)),
            InputKind::Guided(reply) => drop(self.stops.remove(&Some(reply.attempt.clone()))),
            InputKind::Planned(_) => drop(self.stops.remove(&None)),
            InputKind::Locked { task_id } | InputKind::LockRefused { task_id, .. } => {
                drop(self.lock_waits.remove(task_id));
            }
            _ => {}
        }
        // Before the end of the work that relied on them: that may be the last of the run.
        for stale in self.run.take_stale() {
            self.process_input(Moment::default(), InputKind::Stale(stale));
        }
        self.process_input(Moment::default(), input);
    }

    /// Lets no further work begin, if the session of the workspace was suspended.
    fn drain_if_asked(&mut self) {
        if *self.drain.borrow_and_update() {
            self.machine.drain();
        }
    }

    /// Tells the machine to end the run, once for each degree of insistence.
    fn on_stop_signal(&mut self, stop: &mut watch::Receiver<StopLevel>) {
        let signal = *stop.borrow_and_update();
        for degree in [StopLevel::Gently, StopLevel::AtOnce] {
            if self.stop_level < degree && degree <= signal && self.machine.outcome().is_none() {
                self.stop_level = degree;
                self.process_input(Moment::default(), InputKind::Cancel { reason: STOP_REASON.into() });
            }
        }
    }
}

/// Returns the result of a unit; an aborted one has none.
fn unit_result(report: Result<(u32, UnitResult), tokio::task::JoinError>) -> (u32, UnitResult) {
    match report {
        Ok(report) => report,
        Err(error) if error.is_cancelled() => (0, Ok(None)),
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
