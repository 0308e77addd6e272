use std::collections::BTreeMap;
use std::time::Duration;

use super::early::Early;
use super::ending::{differs, ending, noted};
use super::held::held;
use super::under_way::{Busy, Going, Open};
use super::{Ending, News, Next, RunEnding};
use crate::engine::RunRef;
use crate::machine::{Attempt, Event, Fact, Place, Round, StepState, Verdict};
use crate::name::RunId;
use crate::report::Names;
use crate::time::Moment;

/// What is known of runs that go on. Folds events into news.
#[derive(Debug, Default)]
pub struct Board {
    runs: BTreeMap<RunId, Open>,
    names: Names,
    early: Early,
    /// When the first event came: a run that is resumed may begin with those of a nested one.
    first: Option<Moment>,
    /// How long the run has been worked on before.
    worked: Duration,
    ended: u32,
    failed: u32,
    /// The rounds of the outermost run; a plan bounds how many there can be.
    rounds: Vec<Round>,
    /// What can be done after the last round.
    moves: Vec<String>,
    next: Next,
    /// Whether nothing has a sandbox.
    is_open: bool,
}

impl Board {
    /// A board of a run that one goes on with in this way, and that has been worked on for a while
    /// before.
    pub fn of(next: Next, worked: Duration) -> Self {
        Self {
            worked,
            next,
            ..Self::default()
        }
    }

    /// The same, where nothing has a sandbox if that is so.
    #[must_use]
    pub fn without_sandbox(self, is_open: bool) -> Self {
        Self { is_open, ..self }
    }

    /// Takes an event in; `None` if there is nothing to tell.
    pub fn event(&mut self, run: &RunRef, event: &Event) -> Option<News> {
        let top = run.path.is_empty();
        self.first.get_or_insert(event.at);
        self.behind(run, event);
        match &event.fact {
            Fact::RunStarted { plan, .. } => {
                self.open(run);
                top.then(|| News::Began {
                    plan: plan.clone(),
                    run: run.id.clone(),
                    is_open: self.is_open,
                })
            }
            Fact::RoundClosed(round) if top => {
                self.moves = crate::report::moves::moves(round);
                noted(&event.fact)
            }
            Fact::RunEnded { .. } => self.run_ended(run, event),
            Fact::CriterionJudged { attempt, verdict } => {
                self.judged(run, attempt.as_ref(), verdict)
            }
            Fact::StepEnded { .. } | Fact::StepKept { .. } => self.step_ended(run, event),
            Fact::AttemptStarted(_) | Fact::AttemptEnded { .. } | Fact::RetryScheduled { .. } => {
                self.attempt(run, event)
            }
            Fact::StepExpanded { step, .. } => {
                self.expanded(run, &Place::of(step), event.at);
                None
            }
            Fact::EvidenceStale(_) | Fact::ResultDropped { .. } => {
                differs(run, &event.fact, &self.names)
            }
            Fact::ApprovalAsked(ask) => {
                let place = ask.place.as_ref();
                if let Some(busy) = place.and_then(|place| self.busy(run, place)) {
                    busy.waiting = true;
                }
                held(run, &event.fact, &self.names)
            }
            other => {
                let noted = noted(other).filter(|_| top);
                noted.or_else(|| held(run, other, &self.names))
            }
        }
    }

    /// Takes in what happened before a run is gone on with, which is no news.
    pub fn behind(&mut self, run: &RunRef, event: &Event) {
        self.next.take(&event.fact);
        self.names.note(run, event);
        if let (Fact::RoundClosed(round), true) = (&event.fact, run.path.is_empty()) {
            self.rounds.push((**round).clone());
        }
    }

    /// How long the run has been worked on before.
    pub fn worked(&self) -> Duration {
        self.worked
    }

    /// A place with those above it, as people are shown it.
    pub fn subject(&self, run: &RunRef, place: &Place) -> String {
        self.names.subject(&run.path, place)
    }

    /// Takes output in.
    pub fn output(&mut self, run: &RunRef, attempt: &Attempt, bytes: &[u8]) {
        let number = attempt.attempt;
        match self.busy(run, &attempt.place) {
            Some(busy) if busy.attempt >= number => busy.tail.push(bytes),
            _ => self.early.push(&run.id, attempt, bytes),
        }
    }

    /// The places that go on, the one that began first first. Those that only wait for a
    /// nested run are left out: its places are here.
    pub fn going(&self) -> Vec<Going> {
        let mut going: Vec<_> = self.runs.values().flat_map(Open::going).collect();
        // Items in their order, whatever they are called.
        going.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let shown = going.into_iter().map(|(since, way, busy)| Going {
            subject: way.subject(&self.names),
            since,
            attempt: busy.attempt,
            state: busy.state(),
        });
        shown.collect()
    }

    /// How many steps of the outermost run have ended, and how many of those failed.
    pub fn progress(&self) -> (u32, u32) {
        (self.ended, self.failed)
    }

    fn open(&mut self, run: &RunRef) {
        let open = || Open {
            path: run.path.clone(),
            places: BTreeMap::new(),
        };
        self.runs.entry(run.id.clone()).or_insert_with(open);
        self.mark_nested(run);
    }

    /// The place above a nested run does nothing of its own.
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

    fn busy(&mut self, run: &RunRef, place: &Place) -> Option<&mut Busy> {
        self.runs.get_mut(&run.id)?.places.get_mut(place)
    }

    fn attempt(&mut self, run: &RunRef, event: &Event) -> Option<News> {
        match &event.fact {
            Fact::AttemptStarted(attempt) => Some(self.started(run, attempt, event.at)),
            Fact::AttemptEnded { attempt, how, .. } => {
                let busy = self.busy(run, &attempt.place)?;
                busy.checking = how.is_success();
                None
            }
            Fact::RetryScheduled {
                attempt,
                due,
                why,
                looped,
            } => {
                let mut gap = None;
                if let Some(busy) = self.busy(run, &attempt.place) {
                    (busy.waiting, busy.checking) = (true, false);
                    gap = busy.gap();
                }
                Some(News::Retries {
                    gap,
                    looped: *looped,
                    subject: self.subject(run, &attempt.place),
                    attempt: attempt.attempt,
                    wait: due.since(event.at),
                    why: why.clone(),
                })
            }
            _ => None,
        }
    }

    fn started(&mut self, run: &RunRef, attempt: &Attempt, at: Moment) -> News {
        self.open(run);
        let tail = self.early.take(&run.id, attempt);
        if let Some(open) = self.runs.get_mut(&run.id) {
            let begun = open.places.get(&attempt.place);
            let busy = Busy {
                tail,
                ..Busy::new(begun.map_or(at, |busy| busy.since), attempt.attempt)
            };
            open.places.insert(attempt.place.clone(), busy);
        }
        News::Started {
            subject: self.subject(run, &attempt.place),
            attempt: attempt.attempt,
        }
    }

    /// A repeated step does nothing of its own, like one that uses a plan.
    fn expanded(&mut self, run: &RunRef, place: &Place, at: Moment) {
        self.open(run);
        if let Some(open) = self.runs.get_mut(&run.id) {
            let busy = Busy {
                nested: true,
                ..Busy::new(at, 0)
            };
            open.places.insert(place.clone(), busy);
        }
    }

    fn judged(&mut self, run: &RunRef, of: Option<&Attempt>, verdict: &Verdict) -> Option<News> {
        let Some(attempt) = of else {
            return Some(News::Judged {
                plan: run.plan.clone(),
                subject: self.names.text(&run.path, run.plan.as_str()),
                verdict: verdict.clone(),
            });
        };
        let busy = self.busy(run, &attempt.place)?;
        busy.judged += 1;
        if !verdict.passed() {
            busy.broken.push(verdict.clone());
        }
        None
    }

    fn step_ended(&mut self, run: &RunRef, event: &Event) -> Option<News> {
        let mut ending = ending(run, &event.fact, &self.names)?;
        let place = match &event.fact {
            Fact::StepEnded { place, .. } => place.clone(),
            _ => return Some(self.count(ending, true)),
        };
        let open = self.runs.get_mut(&run.id);
        if let Some(busy) = open.and_then(|open| open.places.remove(&place)) {
            ending.took = Some(event.at.since(busy.since));
            ending.attempts = busy.attempt;
            ending.broken = busy.broken;
            ending.tail = busy.tail.lines();
            ending.nested = busy.nested;
        }
        Some(self.count(ending, place.item.is_none()))
    }

    fn count(&mut self, ending: Ending, whole: bool) -> News {
        if whole && ending.run.path.is_empty() {
            self.ended += 1;
            let failed = ending.state == StepState::Failed && !ending.tolerated;
            self.failed += u32::from(failed);
        }
        News::Ended(Box::new(ending))
    }

    fn run_ended(&mut self, run: &RunRef, event: &Event) -> Option<News> {
        self.runs.remove(&run.id);
        // The end of a nested run is told as that of its step, and takes nothing with it.
        if !run.path.is_empty() {
            self.names.forget(run);
            return None;
        }
        let Fact::RunEnded {
            outcome,
            why,
            failed,
            tally,
            stale,
            accepted,
            ..
        } = &event.fact
        else {
            return None;
        };
        let told = stale.iter();
        let told = told.map(|one| one.text(&self.names.place(&run.path, &one.place)));
        Some(News::Over(Box::new(RunEnding {
            run: run.id.clone(),
            plan: run.plan.clone(),
            outcome: *outcome,
            why: why.clone(),
            failed: failed.clone(),
            tally: *tally,
            stale: told.collect(),
            accepted: *accepted,
            moves: self.next.possible(std::mem::take(&mut self.moves)),
            took: self.worked + event.at.since(self.first.unwrap_or(event.at)),
            rounds: std::mem::take(&mut self.rounds),
            next: self.next.commands(run),
        })))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Board, News, Next};
    use crate::engine::RunRef;
    use crate::machine::{Attempt, Event, Fact, Outcome, Place, Standing, Tally};
    use crate::name::{Name, PlanId, RunId};
    use crate::time::Moment;

    fn run(id: &str, path: &[&str]) -> RunRef {
        RunRef {
            id: RunId::from_stored(id),
            plan: PlanId::parse("demo").unwrap(),
            path: path.iter().map(|place| (*place).to_owned()).collect(),
        }
    }

    #[test]
    fn a_resumed_run_took_as_long_as_its_nested_ones() {
        let mut board = Board::of(Next::default(), Duration::from_mins(1));
        let mut tell = |run: &RunRef, millis, fact| {
            let at = Moment::from_millis(millis);
            board.event(run, &Event { at, fact })
        };
        let place = Place::of(&Name::parse("say").unwrap());
        let attempt = Attempt { place, attempt: 1 };
        tell(&run("2", &["inner"]), 1_000, Fact::AttemptStarted(attempt));
        let ended = Fact::RunEnded {
            outcome: Outcome::Succeeded,
            why: String::new(),
            failed: None,
            standing: Standing::Reported,
            tally: Tally::default(),
            stale: Vec::new(),
            outputs: crate::model::Object::new(),
            accepted: None,
        };
        let Some(News::Over(ending)) = tell(&run("1", &[]), 4_000, ended) else {
            panic!("the end is news");
        };
        assert_eq!(ending.took, Duration::from_secs(63));
    }
}
