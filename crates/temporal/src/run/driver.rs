//! The loop of a run without its waits: news go in, and commands for the waiting callers come out.
//!
//! It is what the dispatchers of the local engine are, for a run and the runs nested in it, whose work is done by
//! workers anywhere. They share the files of one workspace, and one order of events and changes, so one workflow has
//! them all. It decides nothing their machines decide. **Invariant:** the same occurrences give the same commands; it
//! reads no clock and does no I/O but to write objects, whose names are their content.

mod locks;
mod nested;
mod reports;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use wf_base::{
    name::{Name, RunId},
    time::Moment,
};
use wf_core::{
    machine::{Attempt, Effect, InputKind, MachineInput, MachineTurn, RunOutcome},
    run_ledgers::{BudgetRefusal, CallClaim},
};
use wf_engine::WorkClaim;
use wf_exec::StopLevel;
use wf_model::Plan;

use crate::{
    files::{findings::FindingHistory, objects::Objects, parcel::Parcel, tree::TreeRef},
    locks::{file_claims::FamilyClaims, lock_claims::LockClaims},
    messages::{
        command::{DriverCommand, Occurrence, RunTimer},
        order::{Job, RequestAnswer, RunNews, RunOrder, RunSpec, WorkOrder, WorkWish},
    },
    run::{
        driven_run::DrivenRun,
        log::FamilyLog,
        open_work::{
            OpenWork, WorkPart, begins_call, changes_work, child_of, name_of, nested_path, relies_on_log,
            started, step_named,
        },
        progress::{DriverError, StoredProgress},
    },
};

/// The name of the task queue for steps naming none.
pub const DEFAULT_QUEUE: &str = "default";

/// The time that work has while the run is drained, before it is left.
const GRACE: Duration = Duration::from_secs(5);

/// A run and those nested in it, between two occurrences.
pub struct RunDriver {
    order: RunOrder,
    spec: Arc<RunSpec>,
    objects: Objects,
    /// The runs under way, with the outermost.
    runs: BTreeMap<RunId, DrivenRun>,
    log: FamilyLog,
    tree: TreeRef,
    history: FindingHistory,
    claims: FamilyClaims,
    locks: LockClaims,
    open: BTreeMap<u64, OpenWork>,
    next_key: u64,
    is_draining: bool,
    /// The reasons for which somebody wants the run to end.
    cancels: Vec<String>,
    inputs: VecDeque<RunInput>,
    now: Moment,
    commands: Vec<DriverCommand>,
}

/// An input of the machine of a run.
struct RunInput {
    run: RunId,
    kind: InputKind,
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
        let opened = spec.opening.first().map(|event| event.at);
        let mut driver = Self {
            tree: TreeRef { base: spec.tree, last: None },
            log: FamilyLog::new(
                stored.as_ref().map(|stored| stored.log).unwrap_or_default(),
                objects.clone(),
            ),
            order,
            spec,
            objects,
            runs: BTreeMap::new(),
            history: FindingHistory::default(),
            claims: FamilyClaims::default(),
            locks: LockClaims::default(),
            open: BTreeMap::new(),
            next_key: 0,
            is_draining: false,
            cancels: Vec::new(),
            inputs: VecDeque::new(),
            now: opened.unwrap_or_default(),
            commands: Vec::new(),
        };
        let Some(StoredProgress { runs, tree, history, claims, locks, next_key, now, log: _ }) = stored
        else {
            let run = driver.order.run.clone();
            let mut outermost = DrivenRun::new(plan, run.clone(), driver.spec.params.clone());
            if let Some(at) = opened {
                outermost.machine.set_opening(at);
            }
            driver.runs.insert(run, outermost);
            return Ok(driver);
        };
        for run in runs {
            driver.restore(run, &plan)?;
        }
        Ok(Self { tree, history, claims, locks, next_key, now, ..driver })
    }

    /// Begins the run, or lets it go on from its stored state.
    pub fn begin(&mut self, at: Moment) -> Result<Vec<DriverCommand>, DriverError> {
        self.now = self.now.max(at);
        for run in self.runs.keys().cloned().collect::<Vec<_>>() {
            let Some(driven) = self.runs.get_mut(&run) else { continue };
            if driven.machine.has_begun() {
                let turn = driven.machine.resume(self.now);
                self.record(&run, turn)?;
                self.limit(&run);
            } else {
                let open = OpenWork::for_run(&run, &driven.machine);
                self.order_work("begin".into(), open, None, &Job::Begin)?;
            }
        }
        self.settle()?;
        for run in self.runs.keys().cloned().collect::<Vec<_>>() {
            let waiting = self.runs.get(&run).map(|driven| driven.tokens.keys().copied().collect::<Vec<_>>());
            for request in waiting.unwrap_or_default() {
                self.decide(&run, request)?;
            }
        }
        Ok(std::mem::take(&mut self.commands))
    }

    /// Processes the news.
    pub fn step(&mut self, at: Moment, occurrence: Occurrence) -> Result<Vec<DriverCommand>, DriverError> {
        self.now = self.now.max(at);
        match occurrence {
            Occurrence::Reported { key, report } => self.on_report(key, *report)?,
            Occurrence::Unbegun { key } => self.on_unbegun(key)?,
            Occurrence::Lost { key } => self.on_lost(key)?,
            Occurrence::Told { key } => drop(self.open.remove(&key)),
            Occurrence::Lock(notice) => locks::on_lock(self, notice),
            Occurrence::Woke(RunTimer { run, timer: Some(timer) }) => {
                self.inputs.push_back(RunInput { run, kind: InputKind::Woke { timer } });
            }
            Occurrence::Woke(RunTimer { run, timer: None }) => self.on_limit(&run),
            Occurrence::Cancel(reason) => self.cancels.push(reason),
            Occurrence::Nothing => {}
            Occurrence::GraceOver => self.leave(),
            Occurrence::Answered(RequestAnswer { run, request, token }) => {
                if let Some(driven) = self.runs.get_mut(&run) {
                    let tokens = driven.tokens.entry(request).or_default();
                    if !tokens.contains(&token) {
                        tokens.push(token);
                        self.decide(&run, request)?;
                    }
                }
            }
        }
        self.settle()?;
        Ok(std::mem::take(&mut self.commands))
    }

    /// Begins no further work, so the history can begin anew once nothing is under way. Work taking longer than a grace
    /// period is left: it goes on, and the next workflow waits for it.
    pub fn drain(&mut self) -> Vec<DriverCommand> {
        if std::mem::replace(&mut self.is_draining, true) {
            return Vec::new();
        }
        self.runs.values_mut().for_each(|driven| driven.machine.drain());
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

    /// True if some work is under way.
    pub fn is_under_way(&self, key: u64) -> bool {
        self.open.contains_key(&key)
    }

    /// Sets an amount aside for some work, until its end is reported, if the budgets of its run and of those around it
    /// suffice. Returns the refusal if they do not.
    pub fn claim(&mut self, key: u64, claim: WorkClaim) -> Option<BudgetRefusal> {
        let mut ledgers = locks::ledgers(self);
        let open = self.open.get_mut(&key)?;
        let WorkClaim { wanted, own_allows } = claim;
        let claim =
            CallClaim { run: &open.run, before_usage: open.set_aside, wanted_usage: wanted, own_allows };
        let refusal = ledgers.claim(&claim).err();
        if refusal.is_none() {
            open.set_aside = wanted;
        }
        refusal
    }

    /// True if a request of a run waits for approvers.
    pub fn is_asking(&self, run: &RunId, request: u32) -> bool {
        let state = self.runs.get(run).map(|driven| driven.machine.state());
        state.is_some_and(|state| state.open_requests().any(|ask| ask.request == request))
    }

    /// Stores the run, and returns the order going on with it. Nothing may be under way.
    pub fn store(&mut self) -> Result<RunOrder, DriverError> {
        let stored = StoredProgress {
            runs: self.stored_runs(),
            log: self.log.seal()?,
            tree: self.tree,
            history: self.history.clone(),
            claims: self.claims.clone(),
            locks: self.locks.clone(),
            next_key: self.next_key,
            now: self.now,
        };
        let progress = Some(self.objects.put_json_now(&stored)?);
        Ok(RunOrder { progress, ..self.order.clone() })
    }

    /// Returns the news for the followers of the run.
    pub fn news(&self) -> Result<RunNews, DriverError> {
        let outcome = self.runs.get(&self.order.run).and_then(|driven| driven.machine.outcome());
        let (log, rest, waits) = (self.log.stored(), self.log.rest()?, self.locks.waits());
        let keeps = |open: &OpenWork| matches!(open.part, WorkPart::Remember(_));
        let is_keeping = outcome.is_some() && self.open.values().any(keeps);
        let only_waits_for_people = self.only_waits_for_people(&self.order.run);
        Ok(RunNews { log, rest, tree: self.tree, outcome, is_keeping, only_waits_for_people, waits })
    }

    /// Returns the outcome, once the run is over and nothing is under way.
    pub fn outcome(&self) -> Option<RunOutcome> {
        let outermost = self.runs.get(&self.order.run)?;
        outermost.machine.outcome().filter(|_| self.open.is_empty() && self.runs.len() == 1)
    }

    /// Leaves the work of attempts under way to the next workflow.
    fn leave(&mut self) {
        let is_long = |open: &OpenWork| open.is_attempt() && open.wish == WorkWish::GoOn;
        for (key, open) in self.open.iter_mut().filter(|(_, open)| is_long(open)) {
            open.wish = WorkWish::Leave;
            self.commands.push(DriverCommand::Stop { key: *key });
        }
    }

    /// Takes the inputs that wait, until nothing more follows from them.
    fn settle(&mut self) -> Result<(), DriverError> {
        loop {
            while let Some(RunInput { run, kind }) = self.inputs.pop_front() {
                let Some(driven) = self.runs.get_mut(&run) else { continue };
                let has_begun = driven.nesting.is_some() || driven.machine.has_begun();
                let kind = if has_begun { kind } else { self.spec.retried.add_to(kind) };
                let turn = driven.machine.turn(MachineInput { at: self.now, kind });
                if !has_begun && !turn.events.starts_with(&self.spec.opening) {
                    return Err(DriverError::Opening);
                }
                self.record(&run, turn)?;
            }
            // Nobody has looked at the workspace yet: what is cancelled has to begin first.
            let outermost = self.runs.get(&self.order.run);
            if outermost.is_some_and(|driven| driven.machine.has_begun()) {
                let run = &self.order.run;
                let cancel = |reason| RunInput { run: run.clone(), kind: InputKind::Cancel { reason } };
                self.inputs.extend(self.cancels.drain(..).map(cancel));
            }
            if self.inputs.is_empty() {
                return self.end_nested_runs();
            }
        }
    }

    fn record(&mut self, run: &RunId, turn: MachineTurn) -> Result<(), DriverError> {
        let concerns_work = turn.events.iter().any(|event| changes_work(&event.fact));
        turn.events.iter().for_each(|event| locks::unlock_ended(self, run, &event.fact));
        if let Some(driven) = self.runs.get_mut(run)
            && !turn.events.is_empty()
        {
            let entries = driven.entries(run, turn.events);
            let begins = entries.iter().any(|entry| entry.nested.is_some());
            self.log.add(entries)?;
            if begins {
                self.limit(run);
            }
            if concerns_work || begins {
                self.log.make_basis()?;
            }
        }
        turn.effects.into_iter().try_for_each(|effect| self.carry_out(run, effect))
    }

    fn carry_out(&mut self, run: &RunId, effect: Effect) -> Result<(), DriverError> {
        match effect {
            Effect::Wake { timer, at } => {
                let timer = RunTimer { run: run.clone(), timer: Some(timer) };
                self.commands.push(DriverCommand::Wake { at, timer });
            }
            Effect::Kill { attempt, force } => self.kill(run, attempt.as_ref(), force),
            Effect::Lock { task_id, locks } => locks::lock(self, run, task_id, locks),
            Effect::Unlock { task_id } => locks::unlock(self, run, Some(&task_id)),
            Effect::Dismiss { number } => {
                if let Some(driven) = self.runs.get_mut(run) {
                    driven.tokens.remove(&number);
                }
            }
            Effect::Ask(_) | Effect::Finish { .. } => {}
            // An agent has no end of its own: it would keep the run from being drained.
            effect if self.is_draining && begins_call(&effect) => {}
            effect => return self.order_effect(run, effect),
        }
        Ok(())
    }

    /// Has a worker carry out an effect, unless a nested run does so.
    fn order_effect(&mut self, run: &RunId, effect: Effect) -> Result<(), DriverError> {
        if nested_path(&effect).is_some_and(|path| self.runs.contains_key(&run.child(&path))) {
            return Ok(());
        }
        // A child run begins anywhere: it needs nothing of the host of its agent.
        let attempt = effect.attempt().filter(|_| child_of(&effect).is_none());
        let Some(driven) = self.runs.get_mut(run) else { return Ok(()) };
        let effect = match &attempt {
            Some(attempt) if driven.unbegun.remove(attempt) => started(effect),
            _ => effect,
        };
        let open = OpenWork::from_effect(&effect, run, &driven.machine);
        let queue = match &open.part {
            // Where the secrets are known that its files must not have.
            WorkPart::Remember(place) => match driven.makers.remove(place) {
                None => return Ok(()),
                queue => queue,
            },
            _ => attempt.and_then(|attempt| driven.hosts.get(&attempt)).cloned(),
        };
        self.order_work(name_of(&effect), open, queue, &Job::Effect(Box::new(effect)))
    }

    /// Tells the work of an attempt to end, or that for the plan; and the run the attempt is, or those of its agent.
    fn kill(&mut self, run: &RunId, attempt: Option<&Attempt>, force: bool) {
        for (key, open) in self.open.iter_mut().filter(|(_, open)| open.stops_with(run, attempt)) {
            open.wish = if force { WorkWish::Kill } else { WorkWish::End };
            self.commands.push(DriverCommand::Stop { key: *key });
        }
        if let Some(attempt) = attempt {
            let level = if force { StopLevel::AtOnce } else { StopLevel::Gently };
            for nested in self.nested_in(run, attempt) {
                self.stop_nested(&nested, level);
            }
        }
    }

    /// Has the answers to a request counted, if it waits for them.
    fn decide(&mut self, run: &RunId, request: u32) -> Result<(), DriverError> {
        let Some(driven) = self.runs.get(run) else { return Ok(()) };
        let ask = driven.machine.state().open_requests().find(|ask| ask.request == request).cloned();
        let Some(ask) = ask else {
            return Ok(());
        };
        let tokens = driven.tokens.get(&request).cloned().unwrap_or_default();
        let open = OpenWork::for_run(run, &driven.machine);
        let job = Job::Decide { ask: Box::new(ask), tokens };
        self.order_work(format!("decide {request}"), open, None, &job)
    }

    fn order_work(
        &mut self,
        name: String,
        open: OpenWork,
        queue: Option<String>,
        job: &Job,
    ) -> Result<(), DriverError> {
        let goes_on = open.attempt.as_ref().is_some_and(|attempt| {
            let driven = self.runs.get(&open.run);
            driven.is_some_and(|driven| driven.goes_on(attempt))
        });
        let log = if goes_on || relies_on_log(job) { self.log.seal()? } else { self.log.basis() };
        let queue = queue.or_else(|| self.queue_of(&open)).unwrap_or_default();
        let key = self.next_key;
        self.next_key += 1;
        let order = Box::new(WorkOrder {
            outermost: self.order.run.clone(),
            run: open.run.clone(),
            spec: self.order.spec,
            tree: self.tree,
            log,
            job: Parcel::pack_now(job, &self.objects)?,
            key,
        });
        self.open.insert(key, open);
        self.commands.push(DriverCommand::Work { key, name, queue, order });
        Ok(())
    }

    /// Returns the task queue for work no host has to do.
    fn queue_of(&self, open: &OpenWork) -> Option<String> {
        let step = open.step().and_then(|step| step_named(&self.runs.get(&open.run)?.machine, step));
        let queue = step.and_then(|step| step.runs_on.as_ref());
        self.spec.queues.get(queue.map_or(DEFAULT_QUEUE, Name::as_str)).cloned()
    }
}
