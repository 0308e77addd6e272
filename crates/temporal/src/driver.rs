//! The loop of a run without its waits: what happened goes in, and commands for those who wait come out.
//!
//! It is what the dispatcher of the local engine is, for a run whose work is done by workers anywhere. It decides nothing
//! that the machine decides. **Invariant:** the same occurrences give the same commands; it reads no clock and does no I/O
//! but to write objects, whose names are their content.

mod locks;
mod record;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use wf_base::name::Name;
use wf_base::time::Moment;
use wf_core::machine::{
    Attempt, AttemptEnd, Effect, InputKind, Machine, MachineInput, MachineTurn, RunOutcome, WorkExit,
};
use wf_model::{Plan, Step, StepWork};

use crate::command::{DriverCommand, Occurrence};
use crate::lock_claims::LockClaims;
use crate::objects::Objects;
use crate::open_work::{OpenWork, changes_work, name_of, relies_on_log, started, without_conflict};
use crate::order::{
    Job, LogRef, OpenReport, Parcel, RequestAnswer, RunOrder, RunSpec, UnstoredLog, WorkOrder, WorkWish,
};
use crate::progress::{DriverError, StoredProgress};
use crate::tree::{ChangeSource, TreeChange, TreeConflict, TreeHistory, TreeNode, TreeRef};

/// The name of the task queue for steps that name none.
pub const DEFAULT_QUEUE: &str = "default";

/// The number of events that are stored together, at most.
const PAGE_EVENTS: usize = 256;

/// The time that work has while the run is drained, before it is left.
const GRACE: Duration = Duration::from_secs(5);

/// A run, between two occurrences.
pub struct RunDriver {
    order: RunOrder,
    spec: Arc<RunSpec>,
    machine: Machine,
    objects: Objects,
    log: LogRef,
    rest: UnstoredLog,
    tree: TreeRef,
    history: TreeHistory,
    open: BTreeMap<u64, OpenWork>,
    next_key: u64,
    is_draining: bool,
    /// The task queues of the hosts where agents work, which have their conversation, and where work was left.
    hosts: BTreeMap<Attempt, String>,
    /// The attempts whose work was ordered from workers and taken back before one began it.
    unbegun: BTreeSet<Attempt>,
    /// The answers to requests that wait.
    tokens: BTreeMap<u32, Vec<String>>,
    locks: LockClaims,
    early_cancels: Vec<String>,
    inputs: VecDeque<InputKind>,
    now: Moment,
    commands: Vec<DriverCommand>,
}

impl RunDriver {
    /// Opens a run, given its plan; nothing happens until [`RunDriver::begin`].
    pub fn open(
        order: RunOrder,
        spec: Arc<RunSpec>,
        plan: Arc<Plan>,
        objects: Objects,
    ) -> Result<Self, DriverError> {
        let stored: Option<StoredProgress> =
            order.progress.map(|digest| objects.get_json_now(&digest)).transpose()?;
        let fresh = TreeRef { base: spec.tree, last: None };
        let mut machine = Machine::new(Arc::clone(&plan), order.run.clone(), spec.params.clone());
        let opened = spec.opening.first().map(|event| event.at);
        if let Some(at) = opened {
            machine.set_opening(at);
        }
        let mut driver = Self {
            machine,
            order,
            spec,
            objects,
            log: LogRef::default(),
            rest: UnstoredLog::default(),
            tree: fresh,
            history: TreeHistory::default(),
            open: BTreeMap::new(),
            next_key: 0,
            is_draining: false,
            hosts: BTreeMap::new(),
            unbegun: BTreeSet::new(),
            tokens: BTreeMap::new(),
            locks: LockClaims::default(),
            early_cancels: Vec::new(),
            inputs: VecDeque::new(),
            now: opened.unwrap_or_default(),
            commands: Vec::new(),
        };
        if let Some(stored) = stored {
            let StoredProgress { state, log, tree, history, next_key, hosts, unbegun, tokens, locks, now } =
                stored;
            driver.machine = Machine::from_state(plan, state)?;
            let hosts = hosts.into_iter().collect();
            driver = Self { log, tree, history, next_key, hosts, unbegun, tokens, locks, now, ..driver };
        }
        Ok(driver)
    }

    /// Begins the run, or lets it go on from its stored state.
    pub fn begin(&mut self, at: Moment) -> Result<Vec<DriverCommand>, DriverError> {
        self.now = self.now.max(at);
        if self.machine.has_begun() {
            let turn = self.machine.resume(self.now);
            self.record(turn)?;
            self.settle()?;
            let waiting: Vec<u32> = self.tokens.keys().copied().collect();
            for request in waiting {
                self.decide(request)?;
            }
        } else {
            self.order_work("begin".into(), OpenWork::for_run(&self.machine), None, &Job::Begin)?;
        }
        Ok(std::mem::take(&mut self.commands))
    }

    /// Processes what happened.
    pub fn step(&mut self, at: Moment, occurrence: Occurrence) -> Result<Vec<DriverCommand>, DriverError> {
        self.now = self.now.max(at);
        match occurrence {
            Occurrence::Reported { key, report } => self.on_report(key, report)?,
            Occurrence::Unbegun { key } => self.on_unbegun(key),
            Occurrence::Lost { key } => {
                let open = self.open.remove(&key).filter(|open| open.is_attempt);
                self.end(open.and_then(|open| open.attempt), WorkExit::Interrupted);
            }
            Occurrence::Told { key } => drop(self.open.remove(&key)),
            Occurrence::Lock(notice) => self.on_lock(notice),
            Occurrence::Woke(timer) => self.inputs.push_back(InputKind::Woke { timer }),
            // Nobody has looked at the workspace yet: what is cancelled has to begin first.
            Occurrence::Cancel(reason) if !self.machine.has_begun() => self.early_cancels.push(reason),
            Occurrence::Cancel(reason) => self.inputs.push_back(InputKind::Cancel { reason }),
            Occurrence::Nothing => {}
            Occurrence::GraceOver => self.leave(),
            Occurrence::Answered(RequestAnswer { request, token }) => {
                let tokens = self.tokens.entry(request).or_default();
                if !tokens.contains(&token) {
                    tokens.push(token);
                    self.decide(request)?;
                }
            }
        }
        self.settle()?;
        if self.machine.has_begun() && !self.early_cancels.is_empty() {
            let early = std::mem::take(&mut self.early_cancels).into_iter();
            self.inputs.extend(early.map(|reason| InputKind::Cancel { reason }));
            self.settle()?;
        }
        Ok(std::mem::take(&mut self.commands))
    }

    /// Begins no further work, so that the history can begin anew once nothing is under way. Work that takes longer than
    /// a grace period is left: it goes on, and the next workflow waits for it.
    pub fn drain(&mut self) -> Vec<DriverCommand> {
        if std::mem::replace(&mut self.is_draining, true) {
            return Vec::new();
        }
        self.machine.drain();
        vec![DriverCommand::Grace { at: self.now.after(GRACE) }]
    }

    /// True if no work is under way.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the wish about some work.
    pub fn wish(&self, key: u64) -> WorkWish {
        self.open.get(&key).map_or(WorkWish::GoOn, |open| open.wish)
    }

    /// True if a request waits for approvers.
    pub fn is_asking(&self, request: u32) -> bool {
        self.machine.state().open_requests().any(|ask| ask.request == request)
    }

    /// Stores the run, and returns the order that goes on with it. Nothing may be under way.
    pub fn store(&mut self) -> Result<RunOrder, DriverError> {
        self.seal()?;
        let stored = StoredProgress {
            state: self.machine.state().clone(),
            log: self.log,
            tree: self.tree,
            history: self.history.clone(),
            next_key: self.next_key,
            hosts: self.hosts.clone().into_iter().collect(),
            unbegun: self.unbegun.clone(),
            tokens: self.tokens.clone(),
            locks: self.locks.clone(),
            now: self.now,
        };
        let progress = Some(self.objects.put_json_now(&stored)?);
        Ok(RunOrder { progress, ..self.order.clone() })
    }

    /// Returns the outcome, once the run is over and nothing is under way.
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.machine.outcome().filter(|_| self.open.is_empty())
    }

    /// Leaves the work of attempts that is under way to the next workflow.
    fn leave(&mut self) {
        let is_long = |open: &OpenWork| open.is_attempt && open.wish == WorkWish::GoOn;
        for (key, open) in self.open.iter_mut().filter(|(_, open)| is_long(open)) {
            open.wish = WorkWish::Leave;
            self.commands.push(DriverCommand::Stop { key: *key });
        }
    }

    /// Takes back work that no worker had begun when it was told to end.
    fn on_unbegun(&mut self, key: u64) {
        match self.open.remove(&key) {
            Some(open) if open.is_attempt && open.wish == WorkWish::Leave => {
                self.unbegun.extend(open.attempt);
            }
            Some(open) if open.is_attempt => self.end(open.attempt, WorkExit::Cancelled),
            _ => {}
        }
    }

    /// Ends an attempt that no worker reports about.
    fn end(&mut self, attempt: Option<Attempt>, exit: WorkExit) {
        let end = attempt.map(|attempt| AttemptEnd::new(attempt, exit));
        self.inputs.extend(end.map(InputKind::Ended));
    }

    fn on_report(&mut self, key: u64, report: OpenReport) -> Result<(), DriverError> {
        let Some(open) = self.open.remove(&key) else {
            return Ok(());
        };
        let OpenReport { mut inputs, change, source, files, host, is_left } = report;
        self.note_files(files);
        if let Some(change) = change
            && let Err(conflict) = self.apply(change, &source)?
        {
            inputs = inputs.into_iter().map(|input| without_conflict(input, &conflict)).collect();
        }
        if let Some(attempt) = open.attempt
            && (is_left || self.is_agent(&attempt))
        {
            self.hosts.insert(attempt, host);
        }
        if open.prepares && open.round < self.machine.replans() {
            inputs.retain(|input| !input.prepares());
        }
        for input in &inputs {
            match input {
                InputKind::Ended(end) => drop(self.hosts.remove(&end.attempt)),
                InputKind::Answered { number, .. } => drop(self.tokens.remove(number)),
                _ => {}
            }
        }
        self.inputs.extend(inputs);
        Ok(())
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

    /// Takes the inputs that wait, until nothing more follows from them.
    fn settle(&mut self) -> Result<(), DriverError> {
        while let Some(kind) = self.inputs.pop_front() {
            let has_begun = self.machine.has_begun();
            let kind = if has_begun { kind } else { self.spec.retried.add_to(kind) };
            let turn = self.machine.turn(MachineInput { at: self.now, kind });
            if !has_begun && !turn.events.starts_with(&self.spec.opening) {
                return Err(DriverError::Opening);
            }
            self.record(turn)?;
        }
        Ok(())
    }

    fn record(&mut self, turn: MachineTurn) -> Result<(), DriverError> {
        let concerns_work = turn.events.iter().any(|event| changes_work(&event.fact));
        for event in &turn.events {
            self.unlock_ended(&event.fact);
        }
        self.rest.events.extend(turn.events);
        if concerns_work || self.rest.events.len() >= PAGE_EVENTS {
            self.seal()?;
        }
        turn.effects.into_iter().try_for_each(|effect| self.carry_out(effect))
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), DriverError> {
        match effect {
            Effect::Wake { timer, at } => self.commands.push(DriverCommand::Wake { at, timer }),
            Effect::Kill { attempt, force } => {
                for (key, open) in self.open.iter_mut().filter(|(_, open)| open.attempt == attempt) {
                    open.wish = if force { WorkWish::Kill } else { WorkWish::End };
                    self.commands.push(DriverCommand::Stop { key: *key });
                }
            }
            Effect::Lock { place, locks } => self.lock(place, locks),
            Effect::Unlock { place } => self.unlock(Some(&place)),
            Effect::Lookup { place, .. } => {
                self.inputs.push_back(InputKind::Looked { place, found: None });
            }
            Effect::Dismiss { number } => drop(self.tokens.remove(&number)),
            Effect::Remember { .. } | Effect::Ask(_) | Effect::Finish { .. } => {}
            effect => {
                let effect = match effect.attempt() {
                    Some(attempt) if self.unbegun.remove(&attempt) => started(effect),
                    _ => effect,
                };
                let open = OpenWork::of(&effect, &self.machine);
                let name = name_of(&effect);
                let queue = open.attempt.as_ref().and_then(|attempt| self.hosts.get(attempt)).cloned();
                self.order_work(name, open, queue, &Job::Effect(Box::new(effect)))?;
            }
        }
        Ok(())
    }

    /// Has the answers to a request counted, if it waits for them.
    fn decide(&mut self, request: u32) -> Result<(), DriverError> {
        let ask = self.machine.state().open_requests().find(|ask| ask.request == request).cloned();
        let Some(ask) = ask else {
            return Ok(());
        };
        let tokens = self.tokens.get(&request).cloned().unwrap_or_default();
        let job = Job::Decide { ask: Box::new(ask), tokens };
        self.order_work(format!("decide {request}"), OpenWork::for_run(&self.machine), None, &job)
    }

    fn order_work(
        &mut self,
        name: String,
        open: OpenWork,
        queue: Option<String>,
        job: &Job,
    ) -> Result<(), DriverError> {
        if relies_on_log(job) {
            self.seal()?;
        }
        let queue = queue.or_else(|| self.queue_of(open.attempt.as_ref())).unwrap_or_default();
        let key = self.next_key;
        self.next_key += 1;
        self.open.insert(key, open);
        let order = Box::new(WorkOrder {
            run: self.order.run.clone(),
            spec: self.order.spec,
            tree: self.tree,
            log: self.log,
            job: Parcel::pack_now(job, &self.objects)?,
            key,
        });
        self.commands.push(DriverCommand::Work { key, name, queue, order });
        Ok(())
    }

    /// Returns the task queue for work that no host has to do.
    fn queue_of(&self, attempt: Option<&Attempt>) -> Option<String> {
        let queue = attempt.and_then(|attempt| self.step_of(attempt)?.runs_on.as_ref());
        self.spec.queues.get(queue.map_or(DEFAULT_QUEUE, Name::as_str)).cloned()
    }

    fn step_of(&self, attempt: &Attempt) -> Option<&Step> {
        let plan = self.machine.plan();
        Some(plan.step(plan.find(attempt.place.step.as_str())?))
    }

    fn is_agent(&self, attempt: &Attempt) -> bool {
        self.step_of(attempt).is_some_and(|step| matches!(step.work, StepWork::Agent(_)))
    }
}
