//! What the machine orders, and who carries it out.

use std::sync::Arc;

use tokio::sync::{oneshot, watch};

use crate::exec::Stop;
use crate::machine::{Ask, Attempt, Effect, is_plain};
use crate::model::Work;

use super::dispatch::Dispatcher;
use super::run::Ongoing;
use super::{asking, evidence, gating, judging, locks, planning, steps, unit};

impl Dispatcher {
    /// Carries out what was decided after so many bad ends.
    pub(super) fn carry_out(&mut self, effect: Effect, bad_ends: u64) {
        let run = Arc::clone(&self.run);
        match effect {
            Effect::Wake { timer, at } => self.wake(at, timer),
            Effect::Kill { attempt, force } => {
                let degree = if force { Stop::AtOnce } else { Stop::Gently };
                self.tell(attempt.as_ref(), degree);
            }
            Effect::Unstage { attempt } => self.seats.take_back(&attempt),
            Effect::Unlock { place, lock } => {
                if let Some(waiter) = self.lockers.remove(&place) {
                    waiter.abort();
                }
                let (freed, freeing) = oneshot::channel();
                self.freeing.insert(place.clone(), freeing);
                self.unit(async move {
                    let report = locks::unlock(run, place, lock).await;
                    drop(freed);
                    report
                });
            }
            // Who insists on the end does not wait for what evidence is worth.
            Effect::Finish { .. } => {
                if let Some(confirms) = self.confirms.take() {
                    confirms.abort();
                }
            }
            Effect::Lock { place, lock } => {
                // In another round it is taken only once it was given back.
                let freeing = self.freeing.remove(&place);
                let wanted = place.clone();
                let waiter = self.unit(async move {
                    if let Some(freeing) = freeing {
                        let _ = freeing.await;
                    }
                    locks::lock(run, wanted, lock).await
                });
                self.lockers.insert(place, waiter);
            }
            Effect::Ask(ask) => self.ask(ask),
            Effect::Dismiss { number } => {
                if let Some((_, looks)) = self.asks.remove(&number) {
                    looks.abort();
                }
            }
            other => self.spawn(run, other, bad_ends),
        }
    }

    /// Tells what is done for an attempt to end.
    pub(super) fn tell(&self, attempt: Option<&Attempt>, degree: Stop) {
        if let Some(stop) = self.stops.get(&attempt.cloned()) {
            stop.send_if_modified(|now| std::mem::replace(now, degree.max(*now)) < degree);
        }
    }

    /// Looks whether people have answered a question.
    fn ask(&mut self, ask: Box<Ask>) {
        let run = Arc::clone(&self.run);
        let looks = self.unit(asking::look(run, ask.clone()));
        self.asks.insert(ask.number, (ask, looks));
    }

    /// Looks whether people have answered in time, which is over.
    pub(super) fn look_last(&mut self, ask: Box<Ask>) {
        let run = Arc::clone(&self.run);
        self.unit(asking::last_look(run, ask));
    }

    /// Looks once more whether people have answered.
    pub(super) fn look_again(&mut self) {
        let open = self.asks.values().filter(|(_, looks)| looks.is_finished());
        let open: Vec<Box<Ask>> = open.map(|(ask, _)| ask.clone()).collect();
        for ask in open {
            self.ask(ask);
        }
    }

    /// Begins a unit of work, decided after so many bad ends.
    fn spawn(&mut self, run: Arc<Ongoing>, effect: Effect, bad_ends: u64) {
        match effect {
            Effect::Start {
                attempt,
                item_value,
                reads,
                correction,
                tool_args,
            } => {
                let seat = self.counted(&attempt);
                let seated = seat.map(|(_, room)| self.seats.seat(room, bad_ends));
                self.start(unit::Task {
                    seated,
                    correction,
                    tool_args,
                    ..unit::Task::new(run, attempt, item_value, reads)
                });
            }
            Effect::Stage {
                attempt,
                since,
                item_value,
                reads,
            } => {
                let seat = self.counted(&attempt);
                let seated =
                    seat.map(|(at, room)| self.seats.stage(at, &attempt, (room, bad_ends)));
                self.start(unit::Task {
                    since,
                    seated,
                    ..unit::Task::new(run, attempt, item_value, reads)
                });
            }
            Effect::Watch {
                attempt,
                since,
                item_value,
                reads,
                correction,
                tool_args,
            } => self.begin(unit::Task {
                since: Some(since),
                correction,
                tool_args,
                ..unit::Task::new(run, attempt, item_value, reads)
            }),
            other => self.look_at(run, other),
        }
    }

    /// The place of an attempt in the order of the plan, and how many may run at once, for one that is
    /// counted.
    fn counted(&self, attempt: &Attempt) -> Option<(u64, u32)> {
        let plan = self.run.current();
        let ix = plan.find(attempt.place.step.as_str())?;
        let item = attempt.place.item.map_or(0, |item| u64::from(item) + 1);
        let room = plan.parts().policy.max_parallel.max(1);
        is_plain(&plan, ix).then_some(((u64::from(ix.0) << 32) + item, room))
    }

    /// Begins to ask gates, to check, or to look at evidence or into the cache.
    fn look_at(&mut self, run: Arc<Ongoing>, effect: Effect) {
        match effect {
            Effect::Lookup {
                place,
                item_value,
                reads,
            } => {
                self.unit(super::cache::look(run, place, item_value, reads));
            }
            Effect::Remember {
                place,
                outputs,
                artifacts,
            } => {
                self.unit(super::cache::remember(run, place, outputs, artifacts));
            }
            Effect::Gate {
                place,
                point,
                attempt,
                next,
                item_value,
                reads,
                steps,
                outputs,
            } => {
                let stop = self.stopper(gating::name(place.as_ref(), attempt));
                let asked = gating::Asked {
                    run,
                    place,
                    point,
                    attempt,
                    next,
                    item: item_value,
                    reads,
                    steps,
                    outputs,
                };
                self.unit(asked.ask(stop));
            }
            Effect::Check {
                attempt,
                phase,
                item_value: item,
                reads,
            } => self.judge(judging::Case {
                run,
                attempt,
                phase: Some(phase),
                item,
                reads,
            }),
            Effect::Plan { request } => {
                let stop = self.stopper(None);
                self.unit(planning::ask(run, request, stop));
            }
            Effect::Confirm { places } => {
                self.confirms = Some(self.unit(evidence::confirm(run, places)));
            }
            _ => {}
        }
    }

    /// Begins an attempt, and looks whether what it relies on is as it was when it was checked.
    fn start(&mut self, task: unit::Task) {
        for place in evidence::looked_at_once(&task.run, &task.attempt) {
            let run = Arc::clone(&task.run);
            self.unit(evidence::relied_on(run, place));
        }
        self.begin(task);
    }

    /// Begins checks.
    fn judge(&mut self, case: judging::Case) {
        let stop = self.stopper(case.attempt.clone());
        self.unit(judging::check(case, stop));
    }

    /// Begins, or takes up again, the work of an attempt.
    fn begin(&mut self, task: unit::Task) {
        let stop = self.stopper(Some(task.attempt.clone()));
        let step = steps::step_of(&task.run, &task.attempt.place);
        if matches!(step.work, Work::Uses(_)) {
            self.nested.insert(task.attempt.clone());
        }
        self.unit(task.work(stop));
    }

    fn stopper(&mut self, attempt: Option<Attempt>) -> watch::Receiver<Stop> {
        let (stop, heard) = watch::channel(Stop::No);
        self.stops.insert(attempt, stop);
        heard
    }
}
