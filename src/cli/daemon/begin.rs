use std::time::Duration;

use super::children::{Errand, Gone, Way};
use super::daemon::Daemon;
use super::look::{Start, pause};
use crate::cli::Failure;
use crate::cli::goals::answered;
use crate::name::{PlanId, RunId};
use crate::report::{BAD, paint};
use crate::time::Moment;

/// How long is waited after people could not be told something for the first time.
const LATER: Duration = Duration::from_mins(1);

impl Daemon<'_> {
    /// Begins a cycle, unless it has begun; gives when to try again if it must wait.
    pub(super) fn start(&mut self, start: &Start, now: Moment) -> Option<Moment> {
        let key = (start.goal.to_string(), start.slot);
        if let Some((_, until)) = self.failed.get(&key)
            && *until > now
        {
            return Some(*until);
        }
        let errand = Errand::Slot(start.clone());
        // Those for which there is no room are looked at when another one ends.
        let is_full = self.children.len() >= self.service.jobs;
        if self.children.has(&errand) || is_full || self.spawn(errand) {
            return None;
        }
        Some(self.let_be(key))
    }

    /// Leaves a slot alone for a while; gives for how long.
    pub(super) fn let_be(&mut self, key: (String, Moment)) -> Moment {
        let (count, _) = self.failed.get(&key).copied().unwrap_or_default();
        let until = self.ui.env.now().after(pause(count + 1));
        self.failed.insert(key, (count + 1, until));
        until
    }

    /// Starts a process; that it cannot be started is said, and no reason to end.
    pub(super) fn spawn(&mut self, errand: Errand) -> bool {
        let way = Way {
            ui: self.ui,
            token: self.lead.token,
            commit: self.goals.commit(),
            now: self.warp.as_ref().map(|_| self.ui.env.now()),
        };
        let started = self.children.start(&way, errand);
        if let Err(failure) = &started {
            self.ui.say(&failure.render());
        }
        started.is_ok()
    }

    /// Takes note of how a process ended.
    pub(super) fn note(&mut self, gone: &Gone) {
        self.note_orphan(&gone.errand);
        let Errand::Slot(start) = &gone.errand else {
            return;
        };
        let key = (start.goal.to_string(), start.slot);
        let still_due = PlanId::parse(&start.goal)
            .ok()
            .and_then(|id| {
                let known = self.lead.reader.known(&id).ok().flatten();
                self.agenda.add(id);
                known
            })
            .is_some_and(|known| known.open.iter().any(|open| open.slot == start.slot));
        if still_due {
            self.let_be(key);
            let code = gone
                .code
                .map_or("a signal".to_owned(), |code| format!("code {code}"));
            let (bad, goal) = (paint(BAD, "not begun:"), &start.goal);
            let slot = start.slot.to_second();
            self.ui.say_line(&format!(
                "{bad} {goal}, the slot {slot} (ended with {code})"
            ));
        } else {
            self.failed.remove(&key);
        }
    }

    /// Takes note of a cycle that was left by a process that ended.
    fn note_orphan(&mut self, errand: &Errand) {
        // If that cannot be read, the next daemon goes on with it.
        let live = self.lead.reader.live_cycles().unwrap_or_default();
        let left = live.into_iter().find(|cycle| match errand {
            Errand::Slot(start) => {
                *start.goal == *cycle.goal.as_str() && Some(start.slot) == cycle.slot
            }
            Errand::Adopt(run) => cycle.run == *run,
            Errand::Cancel(_) | Errand::Tell => false,
        });
        if let Some(cycle) = left {
            // Whoever goes on with it is asked anew.
            self.replaced.remove(&cycle.run);
            let (count, _) = self.orphans.get(&cycle.run).copied().unwrap_or_default();
            let until = self.ui.env.now().after(pause(count + 1));
            self.orphans.insert(cycle.run, (count + 1, until));
        } else if let Errand::Adopt(run) = errand {
            self.orphans.remove(run);
        }
    }

    /// Goes on with cycles whose processes died; gives when to do so with others.
    pub(super) fn go_on(&mut self, now: Moment) -> Vec<Moment> {
        let mut later = Vec::new();
        for (run, (_, until)) in self.orphans.clone() {
            let errand = Errand::Adopt(run);
            if self.children.has(&errand) {
                continue;
            }
            if until > now {
                later.push(until);
            } else if self.children.len() < self.service.jobs {
                self.spawn(errand);
            }
        }
        later
    }

    /// Asks a cycle to end: its process, or whoever works on its runs.
    pub(super) fn cancel(&mut self, goal: &str, run: &RunId) -> Result<(), Failure> {
        let cycle = self.lead.reader.cycle(run)?;
        let slot = cycle.as_ref().and_then(|cycle| cycle.slot);
        let is_it = |errand: &Errand| match errand {
            Errand::Slot(start) => &*start.goal == goal && Some(start.slot) == slot,
            _ => false,
        };
        if self.children.cancel(is_it) {
            return Ok(());
        }
        let last = cycle
            .and_then(|cycle| cycle.repair)
            .unwrap_or_else(|| run.clone());
        let errand = Errand::Cancel(last);
        if !self.children.has(&errand) {
            self.spawn(errand);
        }
        Ok(())
    }

    /// Goes on with cycles that others left.
    pub(super) fn adopt(&mut self) -> Result<(), Failure> {
        for cycle in self.lead.reader.live_cycles()? {
            self.take_up(&cycle.run)?;
        }
        Ok(())
    }

    /// Goes on with a cycle, unless somebody here does.
    fn take_up(&mut self, run: &RunId) -> Result<(), Failure> {
        let errand = Errand::Adopt(run.clone());
        if !self.children.has(&errand) && !self.works_on(run)? {
            self.spawn(errand);
        }
        Ok(())
    }

    /// Goes on with cycles whose questions were answered, or can be answered no more; gives when
    /// the next question is one of those.
    pub(super) fn answered(&mut self, now: Moment) -> Option<Moment> {
        // If that cannot be read, it is read at the next look.
        let (answered, over) = answered(&self.lead.reader, now).unwrap_or_default();
        for cycle in answered {
            let before = self.tried.insert(cycle.run.clone(), cycle.heard);
            if before != Some(cycle.heard)
                && let Err(failure) = self.take_up(&cycle.run)
            {
                self.ui.say(&failure.render());
            }
        }
        over
    }

    /// Lets people be told what nobody else tells them; gives when to try again. Who ends a cycle
    /// tells of it, so that nothing is left but what could not be told, or came of no cycle.
    pub(super) fn tell(&mut self, now: Moment) -> Option<Moment> {
        // If that cannot be read, it is read at the next look.
        let open = self.lead.reader.notices().unwrap_or_default();
        let is_told = |goal: &PlanId| {
            self.children.any(|errand| match errand {
                Errand::Slot(start) => &*start.goal == goal.as_str(),
                errand => *errand == Errand::Tell,
            })
        };
        let tries = open
            .iter()
            .filter(|notice| !is_told(&notice.goal))
            .map(|notice| notice.tries)
            .min()?;
        let until = self.untold.filter(|_| tries > 0);
        if until.is_some_and(|until| until > now) {
            return until;
        }
        // A minute, then ever longer: whoever is to hear it is away for longer than a moment.
        let again = now.after(LATER * 4u32.pow(tries.min(4)));
        self.untold = Some(again);
        self.spawn(Errand::Tell);
        None
    }

    /// Whether a process of this daemon works on a cycle.
    pub(super) fn works_on(&self, run: &RunId) -> Result<bool, Failure> {
        let cycle = self.lead.reader.cycle(run)?;
        Ok(cycle.is_some_and(|cycle| {
            self.children.any(|errand| match errand {
                Errand::Slot(start) => {
                    *start.goal == *cycle.goal.as_str() && Some(start.slot) == cycle.slot
                }
                _ => false,
            })
        }))
    }
}
