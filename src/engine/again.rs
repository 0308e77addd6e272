//! Looks at the results of runs again: whether their evidence is fresh, and what their checks say
//! now. Nothing of it is recorded.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::watch;

use crate::exec::Stop;
use crate::exec::evidence::stale;
use crate::exec::view::View;
use crate::machine::{Artifact, Attempt, Event, Fact, Machine, Place, Ruling, Standing, Verdict};
use crate::model::{Check, Object, Plan};
use crate::name::{Name, RunId};
use crate::store::Token;

use super::begin::block_on;
use super::judging::{self, Case};
use super::run::{Errand, Ongoing, Tenure};
use super::{EngineError, RunRef, Session, evidence, signals};

/// A run whose results are to be looked at again.
pub struct Again {
    /// The run, and where it is nested.
    pub run: RunRef,
    /// The plan that it was recorded with.
    pub plan: Arc<Plan>,
    /// Its parameters.
    pub params: Object,
    /// Its events.
    pub events: Vec<(u64, Event)>,
    /// The only place to look at; `None`: all, and the plan's own criteria.
    pub only: Option<Place>,
}

/// What became of a result since it was checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The steps above its run, outermost first.
    pub path: Vec<String>,
    /// The place; `None`: the plan's own criteria.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// The files that it was checked with: how many, and the first that changed since.
    pub evidence: Option<Freshness>,
    /// Its criteria.
    pub criteria: Vec<Criterion>,
}

/// Whether the files of a result are what they were when it was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Freshness {
    /// How many files.
    pub files: usize,
    /// The first file that changed, or is gone; `None`: it is fresh.
    pub stale: Option<String>,
}

/// A criterion, then and now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Criterion {
    /// What was ruled then.
    pub then: Ruling,
    /// What is ruled now.
    pub now: Verdict,
}

impl Finding {
    /// Whether something here passed then.
    pub fn passed(&self) -> bool {
        let mut all = self.criteria.iter();
        all.any(|criterion| criterion.then == Ruling::Pass)
    }

    /// Whether all that passed then passes now, and its files are as they were.
    pub fn holds(&self) -> bool {
        let fresh = self
            .evidence
            .as_ref()
            .is_none_or(|files| files.stale.is_none());
        let mut all = self.criteria.iter();
        let holds = |one: &Criterion| one.then != Ruling::Pass || one.now.ruling == Ruling::Pass;
        all.all(holds) && (fresh || !self.passed())
    }
}

/// The run that others are parts of, as recorded.
#[derive(Clone, Copy, Debug)]
pub struct Outermost<'a> {
    /// Its id.
    pub run: &'a RunId,
    /// Its plan.
    pub plan: &'a Arc<Plan>,
    /// Its events.
    pub events: &'a [(u64, Event)],
}

/// Looks at the results of some runs that are parts of one.
pub fn verify(
    session: &Arc<Session>,
    outermost: &Outermost<'_>,
    runs: Vec<Again>,
) -> Result<Vec<Finding>, EngineError> {
    let looked = block_on(async {
        let view =
            evidence::recorded_view(session, outermost.run, outermost.plan, outermost.events)
                .map(|view| Arc::new(view.open()));
        let (stop, heard) = watch::channel(Stop::No);
        let work = async {
            let mut findings = Vec::new();
            for again in runs {
                let look = Look::new(session, again, view.clone())?;
                findings.extend(look.all(&heard).await?);
            }
            Ok(findings)
        };
        let findings = Box::pin(signals::heeding(stop, work)).await?;
        let told = *heard.borrow() != Stop::No;
        Ok((findings, told))
    });
    session.hands.settle();
    match looked? {
        (_, true) => Err(EngineError::Told),
        (findings, false) => Ok(findings),
    }
}

struct Look {
    run: Arc<Ongoing>,
    machine: Machine,
    events: Vec<(u64, Event)>,
    only: Option<Place>,
}

impl Look {
    fn new(
        session: &Arc<Session>,
        again: Again,
        view: Option<Arc<View>>,
    ) -> Result<Self, EngineError> {
        let Again {
            run,
            plan,
            params,
            events,
            only,
        } = again;
        let mut machine = Machine::new(Arc::clone(&plan), run.id.clone(), params.clone());
        for (_, event) in &events {
            machine.replay(event)?;
        }
        let mut files = evidence::recorded(events.iter().map(|(_, event)| event));
        files.extend(evidence::taken_over(session, &events)?);
        let errand = Errand {
            plan,
            params,
            past: None,
            view,
            pins: None,
            approved: None,
            evidence: files,
        };
        // Nothing is written, so nobody's right to write is needed.
        let token = Token {
            run: run.id.clone(),
            number: 0,
        };
        let tenure = Tenure {
            token,
            keepers: None,
        };
        let run = Ongoing::new(Arc::clone(session), run, errand, tenure)?;
        Ok(Self {
            run,
            machine,
            events,
            only,
        })
    }

    async fn all(&self, stop: &watch::Receiver<Stop>) -> Result<Vec<Finding>, EngineError> {
        let mut findings = Vec::new();
        for (place, then) in self.judged() {
            findings.push(self.look(place, &then, stop).await);
            self.run.session.hands.hold()?;
        }
        Ok(findings)
    }

    /// The places that ended after they were judged, and what was ruled then, in plan order; the
    /// plan's own criteria last.
    fn judged(&self) -> Vec<(Option<Place>, BTreeMap<Name, Ruling>)> {
        let mut rulings: BTreeMap<Option<Place>, (u32, BTreeMap<Name, Ruling>)> = BTreeMap::new();
        let mut ended = Vec::new();
        for (_, event) in &self.events {
            match &event.fact {
                Fact::CriterionJudged { attempt, verdict } => {
                    let number = attempt.as_ref().map_or(0, |attempt| attempt.attempt);
                    let place = attempt.as_ref().map(|attempt| attempt.place.clone());
                    let last = rulings.entry(place).or_default();
                    if last.0 != number {
                        *last = (number, BTreeMap::new());
                    }
                    last.1.insert(verdict.name.clone(), verdict.ruling);
                }
                Fact::StepEnded { place, .. } => ended.push(place.clone()),
                Fact::StepKept { step, standing, .. } if *standing == Standing::Verified => {
                    let place = Place::of(step);
                    rulings.insert(Some(place.clone()), (0, self.passed(&place)));
                    ended.push(place);
                }
                _ => {}
            }
        }
        let wanted = |place: &Option<Place>| match (&self.only, place) {
            (None, None) => true,
            (only, Some(place)) => {
                ended.contains(place) && only.as_ref().is_none_or(|only| only == place)
            }
            (Some(_), None) => false,
        };
        let order = |place: &Option<Place>| match place {
            Some(place) => self
                .run
                .plan
                .find(place.step.as_str())
                .map_or(usize::MAX, crate::model::StepIx::at),
            None => usize::MAX,
        };
        let all = rulings.into_iter().filter(|(place, _)| wanted(place));
        let mut all: Vec<_> = all.map(|(place, (_, then))| (place, then)).collect();
        all.sort_by_key(|(place, _)| (order(place), place.as_ref().and_then(|place| place.item)));
        all
    }

    fn checks(&self, place: Option<&Place>) -> &[Check] {
        match place {
            Some(place) => &super::steps::written(&self.run, place).verify,
            None => &self.run.plan.parts().verify,
        }
    }

    /// What was ruled on a result that was verified in another run.
    fn passed(&self, place: &Place) -> BTreeMap<Name, Ruling> {
        let checks = self.checks(Some(place)).iter();
        checks
            .map(|check| (check.name.clone(), Ruling::Pass))
            .collect()
    }

    async fn look(
        &self,
        place: Option<Place>,
        then: &BTreeMap<Name, Ruling>,
        stop: &watch::Receiver<Stop>,
    ) -> Finding {
        let verdicts = match self.machine.read_by_checks(place.as_ref()) {
            Some((item, reads)) => {
                let case = Case {
                    run: Arc::clone(&self.run),
                    attempt: place.clone().map(|place| Attempt { place, attempt: 0 }),
                    phase: None,
                    item,
                    reads,
                };
                judging::judge(&case, stop, &[]).await.0
            }
            None => Vec::new(),
        };
        let then = |verdict: &Verdict| then.get(&verdict.name).copied();
        let criteria = verdicts.into_iter().filter_map(|now| {
            Some(Criterion {
                then: then(&now)?,
                now,
            })
        });
        Finding {
            path: self.run.this.path.clone(),
            evidence: place.as_ref().and_then(|place| self.freshness(place)),
            place,
            criteria: criteria.collect(),
        }
    }

    fn freshness(&self, place: &Place) -> Option<Freshness> {
        let seen: Vec<Artifact> = self.run.evidence_of(place)?;
        let session = &self.run.session;
        Some(Freshness {
            files: seen.len(),
            stale: stale(&session.root, &seen, &session.memo, true),
        })
    }
}
