//! Whether a run may go on by its budget (DESIGN section 3; Silas 5.2.1).
//!
//! A budget never cuts short what runs, but for the end of its time: it keeps new work from
//! beginning. Checks of what ran go on, and so do `finally` steps, out of what is kept for them.
//! **Invariant:** no attempt of a main step begins once a limit, less what is kept, is reached;
//! attempts of `finally` steps go beyond a limit only where each is the first of its place.
//! **Invariant:** a resource is noticed at most once at each threshold.

use super::end::Final;
use super::ledger::Spent;
use super::state::{Doing, Spot, State};
use super::{Effect, Fact, Ledger, Machine, Phase, Timer};
use crate::model::{Class, Plan, Resource};
use crate::time::Moment;

/// What every reason begins with that is a budget's.
pub const SPENT: &str = "the budget is spent";

/// The parts of a limit that are noticed, in percent.
const THRESHOLDS: [u32; 3] = [80, 90, 95];

/// How often a limit on the time is extended at most: by a quarter each time.
const QUARTERS: u64 = 4;

impl State {
    /// Whether no main step begins any more.
    pub(super) fn closing(&self) -> bool {
        self.ending() || self.ledger.spent.is_some()
    }

    /// Notes that an attempt came closer to done than the one before it.
    pub(super) fn came_closer(&mut self, plan: &Plan, at: Moment, next: &super::Attempt) {
        let slot = super::state::spot(plan, &next.place).and_then(|spot| self.place(spot));
        let gaps = slot
            .and_then(|slot| slot.tries.as_ref())
            .map(|tries| &tries.gaps);
        if let Some([.., before, last]) = gaps.map(Vec::as_slice)
            && last.attempt.saturating_add(1) == next.attempt
            && u64::from(last.failed) * u64::from(before.of)
                < u64::from(before.failed) * u64::from(last.of)
        {
            self.ledger.progress = Some(at);
        }
    }
}

impl Machine {
    /// What the run has used up so far.
    pub fn ledger(&self) -> &Ledger {
        &self.state.ledger
    }

    /// Records the budget of the plan, as the run begins.
    pub(super) fn set_budget(&mut self) {
        if let Some(budget) = self.plan.parts().budget.clone() {
            self.emit(Fact::BudgetSet(Box::new(budget)));
        }
    }

    /// Whether another attempt of a main step may begin.
    pub(super) fn budget_allows_attempt(&self) -> bool {
        self.state.ledger.spent.is_none() && self.exhausted(true).is_none()
    }

    /// Whether another round of replanning may begin: it needs an attempt, too.
    pub(super) fn budget_round_left(&self) -> bool {
        let limit = self.state.ledger.limit(Resource::Rounds);
        let left = limit.is_none_or(|limit| self.state.ledger.rounds < limit);
        left && self.budget_allows_attempt()
    }

    /// What is used up; with `keeping`, of what is left to main steps. Rounds keep no attempt
    /// from beginning.
    fn exhausted(&self, keeping: bool) -> Option<Spent> {
        let budget = self.state.ledger.budget.as_ref()?;
        let mut what = Resource::ALL
            .into_iter()
            .filter(|what| *what != Resource::Rounds);
        what.find_map(|what| {
            let limit = self.state.ledger.limit(what)?;
            let kept = match what {
                _ if !keeping => 0,
                Resource::Attempts => self.kept_attempts(budget.kept(limit), limit),
                _ => budget.kept(limit),
            };
            let used = self.state.ledger.used(what, self.now);
            let spent = Spent { what, used, limit };
            (used >= limit - kept.min(limit)).then_some(spent)
        })
    }

    /// How many attempts are kept: at least one for each `finally` step, and none where there are
    /// no such steps, since nothing else takes any.
    fn kept_attempts(&self, share: u64, limit: u64) -> u64 {
        let steps = self.plan.steps().len();
        let last = steps.saturating_sub(self.plan.parts().main) as u64;
        if last == 0 {
            return 0;
        }
        share.max(last).min(limit.saturating_sub(1))
    }

    /// Whether the next attempt of a place may begin. If not, the budget is spent from now on.
    pub(super) fn affords(&mut self, spot: Spot) -> bool {
        if self.state.ledger.budget.is_none() {
            return true;
        }
        let last = self.plan.is_finally(spot.ix());
        let first = self.state.place(spot).is_none_or(|slot| slot.attempts == 0);
        if last && first || !last && self.budget_allows_attempt() {
            return true;
        }
        if !last && self.state.ledger.spent.is_some() {
            return false;
        }
        let Some(spent) = self.exhausted(!last) else {
            return true;
        };
        if !last && spent.what == Resource::WallTime && self.extend() {
            return self.affords(spot);
        }
        if self.state.ledger.spent.is_none() {
            let at_once = false;
            self.emit(Fact::BudgetSpent { spent, at_once });
            self.end_waits();
        }
        false
    }

    /// Ends a place whose next attempt the budget does not allow. A `finally` step that cannot be
    /// tried again has failed: only who insists cancels one.
    pub(super) fn refuse(&mut self, spot: Spot) {
        let tried = self.state.place(spot).is_some_and(|slot| slot.made() > 0);
        let why = self.unaffordable_why();
        let tries = self.state.place(spot).and_then(|slot| slot.tries.as_ref());
        let refuted = tries.is_some_and(|tries| !tries.failed.is_empty());
        let end = if tried && self.plan.is_finally(spot.ix()) {
            let class = Some(Class::Environmental);
            let standing = if refuted {
                super::Standing::Refuted
            } else {
                super::Standing::Unchecked
            };
            Final::bad(standing, class, why)
        } else if tried {
            Final::cancelled(why)
        } else {
            Final::skipped(why)
        };
        self.finish(spot, end);
    }

    /// Ends the main steps that wait between two attempts, for a lock, or for people before they
    /// begin: their turn will not come.
    fn end_waits(&mut self) {
        let asked = |live: &super::state::Live| live.doing == Doing::Asking && live.attempt == 0;
        let live = self.state.live.iter().filter(|(_, live)| asked(live));
        let waits = self.state.resting.keys().chain(&self.state.locking);
        let mut spots: Vec<Spot> = waits.chain(live.map(|(spot, _)| spot)).copied().collect();
        spots.retain(|spot| !self.plan.is_finally(spot.ix()));
        for spot in spots {
            if !self.is_over(spot) {
                self.withdraw(Some(spot));
                self.refuse(spot);
            }
        }
    }

    /// Why nothing new begins, once the budget is spent.
    pub(super) fn spent_why(&self) -> Option<String> {
        let spent = self.state.ledger.spent?;
        Some(format!("{SPENT}: {spent}{}", kept_why(spent)))
    }

    /// Why a place does not begin, by the budget.
    pub(super) fn unaffordable_why(&self) -> String {
        match self.spent_why() {
            Some(why) => format!("not started: {why}"),
            None => self.stopping_why(),
        }
    }

    /// Extends the limit on the time by a quarter, if the run came further within the last
    /// quarter, up to twice the limit. False if it did not.
    fn extend(&mut self) -> bool {
        let ledger = &self.state.ledger;
        let Some(budget) = ledger.budget.as_ref().filter(|budget| budget.progress) else {
            return false;
        };
        let (Some(own), Some(limit)) = (budget.max_wall_time_ms, ledger.limit(Resource::WallTime))
        else {
            return false;
        };
        let quarter = own.div_ceil(QUARTERS);
        let far = ledger
            .progress
            .is_none_or(|at| self.now.since(at) > millis(quarter));
        let most = own.saturating_mul(2);
        if far || limit >= most {
            return false;
        }
        let limit = limit.saturating_add(quarter).min(most);
        self.emit(Fact::BudgetExtended { limit });
        self.budget_timer();
        true
    }

    /// Tells which parts of the limits have been reached. What the time comes to is for its timer
    /// to say, so that an input that answers nothing changes nothing.
    pub(super) fn notice_budget(&mut self) {
        if self.state.ledger.budget.is_none() || self.state.outcome.is_some() {
            return;
        }
        let told = Resource::ALL
            .into_iter()
            .filter(|what| *what != Resource::WallTime);
        for what in told {
            self.notice(what);
        }
    }

    /// Tells the highest part of a limit that has been reached, if it was not told. True if it
    /// was told now.
    fn notice(&mut self, what: Resource) -> bool {
        let ledger = &self.state.ledger;
        let Some(limit) = ledger.limit(what).filter(|limit| *limit > 0) else {
            return false;
        };
        let used = ledger.used(what, self.now);
        let known = ledger.noticed.get(&what).copied().unwrap_or(0);
        let reached =
            |percent: &u32| u128::from(used) * 100 >= u128::from(limit) * u128::from(*percent);
        let highest = THRESHOLDS.into_iter().rfind(reached);
        let Some(percent) = highest.filter(|percent| *percent > known) else {
            return false;
        };
        let spent = Spent { what, used, limit };
        self.emit(Fact::BudgetNoticed { spent, percent });
        true
    }

    /// The part of the time that is told next, or all of it: in milliseconds from the beginning.
    fn next_mark(&self) -> Option<u64> {
        let what = Resource::WallTime;
        let ledger = &self.state.ledger;
        let limit = ledger.limit(what)?;
        if self.state.phase >= Phase::Finally || self.state.ending() {
            return None;
        }
        let known = ledger.noticed.get(&what).copied().unwrap_or(0);
        let next = THRESHOLDS.into_iter().find(|percent| *percent > known);
        let part = |percent| (u128::from(limit) * u128::from(percent)).div_ceil(100);
        let mark = next.map(|percent| u64::try_from(part(percent)).unwrap_or(limit));
        Some(mark.unwrap_or(limit))
    }

    /// Sets the timer of the budget.
    pub(super) fn budget_timer(&mut self) {
        if let (Some(ms), Some(since)) = (self.next_mark(), self.state.ledger.since) {
            let (timer, at) = (Timer::Budget { ms }, since.after(millis(ms)));
            self.turn.effects.push(Effect::Wake { timer, at });
        }
    }

    /// Does what the passing of time does to the budget. A timer that was set before the limit
    /// was extended says nothing any more.
    pub(super) fn budget_woke(&mut self, ms: u64) {
        let what = Resource::WallTime;
        let used = self.state.ledger.used(what, self.now);
        let limit = self.state.ledger.limit(what);
        let Some(limit) = limit.filter(|_| self.next_mark() == Some(ms) && used >= ms) else {
            return;
        };
        if used < limit {
            self.notice(what);
            self.budget_timer();
        } else if self.state.ledger.spent.is_some() || !self.extend() {
            let spent = Spent { what, used, limit };
            let at_once = true;
            self.emit(Fact::BudgetSpent { spent, at_once });
            self.sweep();
        }
    }
}

/// What is left of a limit, and for what.
fn kept_why(spent: Spent) -> &'static str {
    match spent.what {
        _ if spent.used >= spent.limit => "",
        Resource::Attempts => ", and the rest is kept for `finally` steps",
        _ => ", and the rest is kept for checks and `finally` steps",
    }
}

fn millis(millis: u64) -> std::time::Duration {
    std::time::Duration::from_millis(millis)
}
