//! The loop of one run: wait for what happens, decide, make durable, carry out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::exec::Stop;
use crate::machine::{Ask, Attempt, Effect, Event, Fact, Happening, Input, Machine, Place, Turn};
use crate::store::{Appended, NewRun, StoreError};
use crate::time::Moment;

use super::end::end_of;
use super::run::Ongoing;
use super::stage::Seats;
use super::timers::Timers;
use super::undurable::{Decided, Undurable};
use super::{EngineError, Finished, Question, evidence, memory, publish};

/// How long it takes at most until an answer of people is seen.
const LOOK: Duration = Duration::from_millis(500);

/// What a unit of work comes back with.
pub(super) type Report = Result<Option<Happening>, EngineError>;

/// Works on one run until it is over. It alone owns the machine.
pub(super) struct Dispatcher {
    pub(super) run: Arc<Ongoing>,
    machine: Machine,
    pub(super) now: Moment,
    pub(super) timers: Timers,
    units: JoinSet<(u32, Report)>,
    pub(super) stops: BTreeMap<Option<Attempt>, watch::Sender<Stop>>,
    pub(super) lockers: BTreeMap<Place, AbortHandle>,
    /// The locks that are being given back.
    pub(super) freeing: BTreeMap<Place, oneshot::Receiver<()>>,
    /// What people are asked, and who looks whether they have answered.
    pub(super) asks: BTreeMap<u32, (Box<Ask>, AbortHandle)>,
    /// The attempts that are runs of their own.
    pub(super) nested: BTreeSet<Attempt>,
    /// Who looks at evidence before the run ends.
    pub(super) confirms: Option<AbortHandle>,
    undurable: Undurable,
    /// What those who count attempts were asked.
    pub(super) seats: Seats,
    told: Stop,
    end: Option<Finished>,
}

/// What the loop waits for.
enum Woken {
    Durable(Result<Appended, StoreError>),
    Unit((u32, Report)),
    Began(Attempt),
    Due,
    Timer,
    Told,
    Look,
    Idle,
    Tick,
}

impl Dispatcher {
    /// `new` is the run itself, if nothing of it is recorded yet; `end` its end, if it is over.
    pub(super) fn new(
        run: Arc<Ongoing>,
        machine: Machine,
        new: Option<NewRun>,
        end: Option<Finished>,
    ) -> Self {
        // Who was told before the engine died need not be told again.
        let told = match machine.told_to_end() {
            None => Stop::No,
            Some(false) => Stop::Gently,
            Some(true) => Stop::AtOnce,
        };
        let looks_first = run.view.as_ref().is_some_and(|view| view.is_bound());
        Self {
            now: run.session.clock.now(),
            run,
            machine: machine.looking_first(looks_first),
            timers: Timers::default(),
            units: JoinSet::new(),
            stops: BTreeMap::new(),
            lockers: BTreeMap::new(),
            freeing: BTreeMap::new(),
            asks: BTreeMap::new(),
            nested: BTreeSet::new(),
            confirms: None,
            undurable: Undurable::new(new),
            seats: Seats::new(),
            told,
            end,
        }
    }

    /// Goes on behind events that are recorded: the time of a run does not go back, even if the
    /// clock was set back while nobody worked on it.
    pub(super) fn behind(mut self, events: &[(u64, Event)]) -> Self {
        for (_, event) in events {
            self.run.note_passed(event);
            // The engine may have died before it was written.
            memory::remember(&self.run, event);
            let run = &self.run;
            let session = &run.session;
            session.observe(|observer| observer.behind(&run.this, event));
        }
        self.run.note_plan(self.machine.plan());
        if let Some((number, last)) = events.last() {
            self.now = self.now.max(last.at);
            self.undurable.follows(*number);
        }
        self
    }

    /// Begins the run, or goes on with a replayed one, and works on it to its end.
    pub(super) async fn work(
        mut self,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<Finished, EngineError> {
        if self.machine.has_begun() {
            let now = self.clock(Moment::default());
            let turn = self.machine.resume(now);
            self.record(turn, true);
        } else {
            let begin = evidence::begin(&self.run)?;
            self.happen(Moment::default(), begin);
        }
        self.heed(&mut stop);
        let parking = Arc::clone(&self.run.session);
        loop {
            if let Some(end) = self.over() {
                parking.parking.forget(&self.run.this);
                return Ok(end);
            }
            self.undurable.send(&self.run);
            if !self.seats.unsaid.is_empty() {
                self.undurable.send_soon();
            }
            self.park()?;
            match self.wait(&mut stop).await? {
                Woken::Durable(answer) => self.durable(&answer?),
                Woken::Unit((round, report)) => self.unit_ended(round, report?),
                Woken::Began(attempt) => self.seats.unsaid.push_back(attempt),
                Woken::Due => {
                    self.say_begun();
                    self.undurable.send_now();
                }
                Woken::Timer => self.ring(),
                Woken::Told => self.heed(&mut stop),
                Woken::Look => self.look_again(),
                Woken::Idle => {}
                Woken::Tick => self.run.session.observe(|observer| observer.tick()),
            }
            while let Some(report) = self.units.try_join_next() {
                let (round, report) = joined(report);
                self.unit_ended(round, report?);
            }
        }
    }

    /// The end, once it is durable and every unit has ended.
    fn over(&mut self) -> Option<Finished> {
        let quiet = self.undurable.is_empty() && self.units.is_empty();
        if quiet { self.end.take() } else { None }
    }

    async fn wait(&mut self, stop: &mut watch::Receiver<Stop>) -> Result<Woken, EngineError> {
        let session = Arc::clone(&self.run.session);
        let next = self.timers.next(session.clock.now());
        let sleep = next.filter(|_| self.end.is_none());
        let (asks, outermost) = (!self.asks.is_empty(), self.run.this.path.is_empty());
        let ticks = outermost && {
            let mut wants = false;
            session.observe(|observer| wants = observer.wants_ticks());
            wants
        };
        if self.undurable.is_empty() && self.units.is_empty() && sleep.is_none() {
            return Err(EngineError::Stuck);
        }
        let (awaits, due) = (self.undurable.awaits(), self.undurable.due());
        tokio::select! {
            biased;
            answer = self.undurable.answer(), if awaits => Ok(Woken::Durable(answer)),
            Some(report) = self.units.join_next(), if !self.units.is_empty() => Ok(Woken::Unit(joined(report))),
            Some(attempt) = self.seats.begun.recv() => Ok(Woken::Began(attempt)),
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => Ok(Woken::Due),
            () = tokio::time::sleep(sleep.unwrap_or_default()), if sleep.is_some() => Ok(Woken::Timer),
            Ok(()) = stop.changed() => Ok(Woken::Told),
            () = tokio::time::sleep(LOOK), if asks => Ok(Woken::Look),
            () = session.parking.changed(), if outermost => Ok(Woken::Idle),
            () = tokio::time::sleep(Duration::from_millis(100)), if ticks => Ok(Woken::Tick),
        }
    }

    /// Leaves, if no run of the session has anything to do but to wait for people.
    fn park(&self) -> Result<(), EngineError> {
        let session = &self.run.session;
        let now = session.clock.now();
        let busy = self.units.len() > self.nested.len() || !self.undurable.is_empty();
        let waits = !self.asks.is_empty() || !self.nested.is_empty();
        let idle = !busy && waits && self.end.is_none() && self.timers.are_patient(now);
        let questions = || {
            let asks = self.asks.values().map(|(ask, _)| Question {
                run: self.run.this.clone(),
                ask: (**ask).clone(),
            });
            asks.collect()
        };
        session.parking.note(&self.run.this, idle.then(questions));
        let outermost = self.run.this.path.is_empty();
        match session.parking.questions() {
            Some(questions) if outermost && !session.stays && !questions.is_empty() => {
                let run = self.run.this.id.clone();
                Err(EngineError::Parked { run, questions })
            }
            _ => Ok(()),
        }
    }

    /// The time, which never goes back within a run.
    fn clock(&mut self, at_least: Moment) -> Moment {
        self.now = self.now.max(at_least).max(self.run.session.clock.now());
        self.now
    }

    /// Gives the machine an input and sends what follows to the disk.
    pub(super) fn happen(&mut self, at_least: Moment, what: Happening) {
        // Nobody waits for a beginning to be durable, and for the next attempt only while few are
        // staged.
        let hurries = !matches!(what, Happening::Began { .. }) && !self.seats.are_many();
        let at = self.clock(at_least);
        let turn = self.machine.turn(Input { at, what });
        self.record(turn, hurries);
    }

    fn record(&mut self, turn: Turn, hurries: bool) {
        let Turn { events, effects } = turn;
        if events.is_empty() && self.undurable.is_empty() {
            let bad_ends = self.seats.bad_ends;
            return effects
                .into_iter()
                .for_each(|effect| self.carry_out(effect, bad_ends));
        }
        let stages = |effect| matches!(effect, &Effect::Stage { .. });
        let hurries = hurries || !effects.iter().all(stages) || self.machine.outcome().is_some();
        self.undurable.hold(Decided {
            round: self.machine.replans(),
            bad_ends: self.seats.bad_ends,
            events,
            effects,
        });
        if hurries {
            self.undurable.send_now();
        }
    }

    /// What was sent first is durable: it may be shown and carried out.
    fn durable(&mut self, appended: &Appended) {
        let turns = self.undurable.durable();
        turns
            .iter()
            .flat_map(|turn| &turn.events)
            .for_each(|event| self.see(event));
        let (mut events, mut orders) = (Vec::new(), Vec::new());
        for turn in turns {
            let overtaken = turn.round < self.machine.replans();
            let effects = turn.effects.into_iter();
            let valid = effects.filter(|effect| !(overtaken && effect.prepares()));
            orders.extend(valid.map(|effect| (effect, turn.bad_ends)));
            events.extend(turn.events);
        }
        publish::durable(&self.run, appended, events);
        for (effect, bad_ends) in orders {
            self.carry_out(effect, bad_ends);
        }
    }

    /// Shows an event to those of this process.
    fn see(&mut self, event: &Event) {
        self.run.note_passed(event);
        if matches!(
            event.fact,
            Fact::RoundClosed(_) | Fact::MemoryAdvised { .. }
        ) {
            self.run.note_plan(self.machine.plan());
            memory::remember(&self.run, event);
        }
        if let Fact::RoundClosed(round) = &event.fact {
            self.run.forget_keys(&round.reopened);
        }
        let run = &self.run;
        run.session
            .observe(|observer| observer.event(&run.this, event));
        self.end = self.end.take().or_else(|| end_of(&run.this.id, event));
    }

    /// Begins a unit of work, which comes back with the round that it was begun in.
    pub(super) fn unit<F>(&mut self, work: F) -> AbortHandle
    where
        F: Future<Output = Report> + Send + 'static,
    {
        let round = self.machine.replans();
        // Boxed, because it is large, and is moved some times before it begins.
        let work = Box::pin(work);
        self.units.spawn(async move { (round, work.await) })
    }

    fn unit_ended(&mut self, round: u32, report: Option<Happening>) {
        let Some(what) = report else { return };
        // What was found out for a place before it began anew is of another attempt to come.
        if round < self.machine.replans() && what.prepares() {
            return;
        }
        match &what {
            Happening::Ended(ended) => {
                self.nested.remove(&ended.attempt);
                self.stops.remove(&Some(ended.attempt.clone()));
                self.seats.ended(&ended.attempt);
            }
            Happening::Unstaged { attempt } => {
                self.seats.unstaged(attempt);
                self.stops.remove(&Some(attempt.clone()));
            }
            Happening::Gated { place, .. } => {
                let asked = place.as_ref();
                self.stops
                    .retain(|name, _| name.as_ref().map(|name| &name.place) != asked);
            }
            Happening::Answered { number, .. } => drop(self.asks.remove(number)),
            Happening::Judged { attempt, .. } => drop(self.stops.remove(attempt)),
            Happening::Planned { .. } => drop(self.stops.remove(&None)),
            Happening::Locked { place } => drop(self.lockers.remove(place)),
            _ => {}
        }
        // Before the end of the work that relied on it: that may be the last of the run.
        for stale in self.run.take_stale() {
            self.happen(Moment::default(), Happening::Stale(stale));
        }
        self.happen(Moment::default(), what);
        // After the ends that let them begin, and with them on their way to the disk.
        self.say_begun();
    }

    /// Tells the machine which attempts began that were staged.
    fn say_begun(&mut self) {
        while let Some(attempt) = self.seats.next_begun() {
            self.happen(Moment::default(), Happening::Began { attempt });
        }
    }

    /// Tells the machine that the run is to end, once for each degree of insistence.
    fn heed(&mut self, stop: &mut watch::Receiver<Stop>) {
        let told = *stop.borrow_and_update();
        for degree in [Stop::Gently, Stop::AtOnce] {
            if self.told < degree && degree <= told && self.machine.outcome().is_none() {
                self.told = degree;
                self.happen(
                    Moment::default(),
                    Happening::Cancel {
                        why: "told to end".into(),
                    },
                );
            }
        }
    }
}

/// What a unit came back with; an aborted one comes back with nothing.
fn joined(report: Result<(u32, Report), tokio::task::JoinError>) -> (u32, Report) {
    match report {
        Ok(report) => report,
        Err(error) if error.is_cancelled() => (0, Ok(None)),
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
