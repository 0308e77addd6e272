use std::{collections::VecDeque, time::Duration};

use serde::{Deserialize, Serialize};

use crate::goal::{
    GoalLedgerState, OpenSlot, ReconciliationCause, SlotEntry, SlotState, known::instant_before,
    row::SlotEntries,
};
use wf_base::{
    name::PlanId,
    time::{Moment, format_duration},
};
use wf_model::{Goal, GoalOverlapPolicy, MissedTimesChoice, schedule::Slot};

/// The decision about the scheduled times of a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotDecision {
    /// The changes to scheduled times since the last decision: new rows, and rows that replace those
    /// of the same times.
    pub rows: Vec<SlotEntry>,
    /// The time up to which all scheduled times are accounted for.
    pub decided_until: Moment,
    /// True if the running reconciliations are to be cancelled.
    pub cancels_running: bool,
    /// The next scheduled start; `None`: never.
    pub wake: Option<Moment>,
}

/// Decides about all scheduled times of a goal due and not accounted for. Pure: the same clock and ledger
/// lead to the same decision.
///
/// A scheduled time that is late by more than the goal's window is *missed*, and starts only by the
/// goal's rule for missed ones. One on time starts, unless another reconciliation is running: then
/// the goal's rule for overlaps decides. Excluded times, and those of a paused goal, are skipped.
pub fn decide(goal: &Goal, account_state: &GoalLedgerState, now: Moment) -> SlotDecision {
    let offset = goal.timing.offset(goal.id.as_str());
    let horizon = instant_before(now, offset);
    let mut deciding = SlotDecider::new(goal, account_state, now, offset);
    let mut walk = goal.timing.slots(account_state.decided_until, Moment::from_millis(i64::MAX)).peekable();
    let is_open = |slot: Moment| account_state.open_slots.iter().any(|open| open.slot == slot);
    // The scheduled times that are due by now and not accounted for, counted.
    let slots = std::iter::from_fn(|| walk.next_if(|slot| slot.at <= horizon));
    let slots = (0..).zip(slots);
    let slots =
        slots.filter(|(_, slot)| !account_state.unaccounted_starts.contains(&slot.at) && !is_open(slot.at));
    if account_state.paused.is_some() {
        deciding.pause(slots);
    } else {
        deciding.miss_expired();
        deciding.queue_due();
        deciding.decide_new(slots);
        deciding.start_queued();
    }
    // If the clock was fast and was corrected, future times must not stay decided. If it is only
    // behind the spread of a scheduled time, all stays as it is: times before a goal was first seen,
    // or before its schedule was changed, are not due.
    let (decided, next) = if account_state.decided_until <= now {
        (account_state.decided_until.max(horizon), walk.next())
    } else {
        (horizon, goal.timing.next(horizon))
    };
    SlotDecision {
        rows: deciding.entries.into_vec(),
        decided_until: decided,
        cancels_running: deciding.replaces,
        wake: next.map(|slot| slot.at.after(offset)),
    }
}

/// The reason recorded for a scheduled time in a pause of its goal.
const PAUSED: &str = "the goal was paused";

/// Decides about a goal whose schedule has changed: the undecided due times of the old schedule are
/// missed, and the new one counts from now on.
pub fn rescheduled(goal: &Goal, account_state: &GoalLedgerState, now: Moment) -> SlotDecision {
    let mut rows = SlotEntries::default();
    let (state, reason) = match account_state.paused {
        None => (SlotState::Missed, "the schedule changed before this slot was processed"),
        Some(_) => (SlotState::Skipped, PAUSED),
    };
    let old = account_state.timing.iter();
    let slots = old.flat_map(|old| old.slots(account_state.decided_until, now));
    for (number, slot) in (0..).zip(slots) {
        rows.push(number, excluded_or(&slot, state, reason));
    }
    let decided = now;
    let offset = goal.timing.offset(goal.id.as_str());
    SlotDecision {
        rows: rows.into_vec(),
        decided_until: decided,
        cancels_running: false,
        wake: goal.timing.next(decided).map(|slot| slot.at.after(offset)),
    }
}

/// Decides about the scheduled times of a goal paused until now.
pub fn paused_until(goal: &Goal, state: &GoalLedgerState, now: Moment) -> SlotDecision {
    let mut known = state.clone();
    known.paused.get_or_insert((now, String::new()));
    // A scheduled time whose start was delayed by its spread was due all the same.
    let offset = goal.timing.offset(goal.id.as_str());
    decide(goal, &known, now.after(offset))
}

pub(super) fn excluded_or(slot: &Slot, state: SlotState, reason: &str) -> SlotEntry {
    match &slot.excluded {
        Some(excluded) => SlotEntry::of(slot.at, SlotState::Skipped, ReconciliationCause::Schedule, excluded),
        None => SlotEntry::of(slot.at, state, ReconciliationCause::Schedule, reason),
    }
}

/// A scheduled time with its number in one decision.
type NumberedSlot = (u64, Slot);

struct SlotDecider<'a> {
    goal: &'a Goal,
    state: &'a GoalLedgerState,
    now: Moment,
    offset: Duration,
    entries: SlotEntries,
    /// The scheduled times decided to start, and not started yet.
    open: Vec<OpenSlot>,
    replaces: bool,
}

impl<'a> SlotDecider<'a> {
    fn new(goal: &'a Goal, state: &'a GoalLedgerState, now: Moment, offset: Duration) -> Self {
        let due = |open: &&OpenSlot| open.cause.is_requested() || open.slot.after(offset) <= now;
        Self {
            goal,
            state,
            now,
            offset,
            entries: SlotEntries::default(),
            // Times that a fast clock decided too early are left until they come.
            open: state.open_slots.iter().filter(due).cloned().collect(),
            replaces: false,
        }
    }

    /// Skips everything in a pause, except what the user asked for explicitly.
    fn pause(&mut self, slots: impl Iterator<Item = NumberedSlot>) {
        for (number, slot) in slots {
            self.entries.push(number, excluded_or(&slot, SlotState::Skipped, PAUSED));
        }
        for open in std::mem::take(&mut self.open) {
            if open.cause.is_requested() {
                self.open.push(open);
            } else {
                self.close_slot(&open, SlotState::Skipped, PAUSED);
            }
        }
    }

    /// Returns the delay of a scheduled time if it were started now.
    fn delay(&self, slot: Moment) -> Duration {
        self.now.since(slot.after(self.offset))
    }

    /// Marks as missed the scheduled times that could not start for too long.
    fn miss_expired(&mut self) {
        let missed = self.goal.missed;
        for open in std::mem::take(&mut self.open) {
            let waited = self.now.since(open.at);
            let patience = match (open.state, missed.run) {
                _ if open.cause.is_requested() => Duration::MAX,
                (SlotState::Due, MissedTimesChoice::None) => self.goal.window,
                _ => self.goal.window.max(missed.window),
            };
            if waited > patience {
                let reason = format!("it could not start within {}", format_duration(patience));
                self.close_slot(&open, SlotState::Missed, &reason);
            } else {
                self.open.push(open);
            }
        }
    }

    /// Makes due scheduled times wait for a running reconciliation: one the user asked for, or that started
    /// before the clock was set back.
    fn queue_due(&mut self) {
        if self.state.active.is_empty() || self.goal.overlap == GoalOverlapPolicy::Allow {
            return;
        }
        for open in std::mem::take(&mut self.open) {
            match (open.state, open.cause, self.goal.overlap) {
                (SlotState::Due, ReconciliationCause::Schedule, GoalOverlapPolicy::Skip) => {
                    let reason = self.busy_reason();
                    self.close_slot(&open, SlotState::Skipped, &reason);
                }
                (SlotState::Due, ..) => {
                    self.close_slot(&open, SlotState::Queued, "");
                    let state = SlotState::Queued;
                    self.open.push(OpenSlot { state, ..open });
                }
                _ => self.open.push(open),
            }
        }
    }

    /// Decides about new scheduled times; only late ones that may start are kept in memory.
    fn decide_new(&mut self, slots: impl Iterator<Item = NumberedSlot>) {
        let mut late: VecDeque<NumberedSlot> = VecDeque::new();
        let (rule, window) = (self.goal.missed, self.goal.window);
        let most = match rule.run {
            MissedTimesChoice::None => 0,
            MissedTimesChoice::Latest => 1,
            MissedTimesChoice::All => rule.cap as usize,
        };
        for (number, slot) in slots {
            let by = self.delay(slot.at);
            if slot.excluded.is_some() {
                let row = excluded_or(&slot, SlotState::Skipped, "");
                self.entries.push(number, row);
            } else if by <= window {
                // From here on all are on time.
                if rule.run == MissedTimesChoice::Latest {
                    late.drain(..).for_each(|(number, slot)| self.mark_superseded(number, &slot));
                }
                late.drain(..).for_each(|(number, slot)| self.accept_late(number, &slot));
                self.decide_on_time(number, &slot);
            } else if most == 0 {
                self.mark_missed(number, &slot, "no scheduler was running in time");
            } else if by > rule.window {
                let older = format!("it was processed more than {} late", format_duration(rule.window));
                self.mark_missed(number, &slot, &older);
            } else {
                late.push_back((number, slot));
                if late.len() > most
                    && let Some((number, slot)) = late.pop_front()
                {
                    self.mark_superseded(number, &slot);
                }
            }
        }
        late.drain(..).for_each(|(number, slot)| self.accept_late(number, &slot));
    }

    fn mark_missed(&mut self, number: u64, slot: &Slot, reason: &str) {
        self.entries.push(number, excluded_or(slot, SlotState::Missed, reason));
    }

    /// Marks a late scheduled time as missed in favor of later ones.
    fn mark_superseded(&mut self, number: u64, slot: &Slot) {
        let reason = match self.goal.missed.run {
            MissedTimesChoice::All => {
                format!("more than {} slots were missed", self.goal.missed.cap)
            }
            _ => "a later slot runs instead".to_owned(),
        };
        self.mark_missed(number, slot, &reason);
    }

    /// True if a reconciliation is running, or about to start.
    fn is_busy(&self) -> bool {
        !self.state.active.is_empty() || !self.open.is_empty()
    }

    /// Decides about a scheduled time on time.
    fn decide_on_time(&mut self, number: u64, slot: &Slot) {
        let (cause, reason) = (ReconciliationCause::Schedule, "");
        if self.goal.overlap == GoalOverlapPolicy::Allow || !self.is_busy() {
            self.open_slot(number, slot, SlotState::Due, cause, reason);
            return;
        }
        match self.goal.overlap {
            GoalOverlapPolicy::Skip | GoalOverlapPolicy::Allow => {
                let reason = self.busy_reason();
                let row = excluded_or(slot, SlotState::Skipped, &reason);
                self.entries.push(number, row);
            }
            GoalOverlapPolicy::QueueOne => {
                self.drop_queued("a later slot is queued instead");
                self.open_slot(number, slot, SlotState::Queued, cause, reason);
            }
            GoalOverlapPolicy::QueueAll => self.open_slot(number, slot, SlotState::Queued, cause, reason),
            GoalOverlapPolicy::Replace => {
                for open in std::mem::take(&mut self.open) {
                    self.close_slot(&open, SlotState::Skipped, "replaced by a later slot");
                }
                self.replaces = !self.state.active.is_empty();
                let state = if self.replaces { SlotState::Queued } else { SlotState::Due };
                self.open_slot(number, slot, state, cause, reason);
            }
        }
    }

    /// Accepts a missed scheduled time to start late: one after the other, whatever the rule for
    /// overlaps.
    fn accept_late(&mut self, number: u64, slot: &Slot) {
        let reason = format!("{} late", format_duration(round_duration(self.delay(slot.at))));
        let state = if self.is_busy() { SlotState::Queued } else { SlotState::Due };
        self.open_slot(number, slot, state, ReconciliationCause::CatchUp, &reason);
    }

    fn drop_queued(&mut self, reason: &str) {
        for open in std::mem::take(&mut self.open) {
            if open.state == SlotState::Queued && open.cause == ReconciliationCause::Schedule {
                self.close_slot(&open, SlotState::Skipped, reason);
            } else {
                self.open.push(open);
            }
        }
    }

    fn busy_reason(&self) -> String {
        let live = self.state.active.first();
        match live.map_or_else(|| self.open.first().map(|open| open.slot), |live| live.slot) {
            Some(slot) if live.is_none() => {
                format!("the reconciliation of {} has not started yet", slot.to_second())
            }
            Some(slot) => format!("the reconciliation of {} is still running", slot.to_second()),
            None => "a manual reconciliation is still running".into(),
        }
    }

    fn open_slot(
        &mut self,
        number: u64,
        slot: &Slot,
        state: SlotState,
        cause: ReconciliationCause,
        reason: &str,
    ) {
        let row = SlotEntry::of(slot.at, state, cause, reason);
        self.entries.push(number, row);
        self.open.push(OpenSlot { slot: slot.at, state, cause, at: self.now });
    }

    /// Records another decision for a scheduled time that was to start.
    fn close_slot(&mut self, open: &OpenSlot, state: SlotState, reason: &str) {
        self.entries.replace(SlotEntry::of(open.slot, state, open.cause, reason));
    }

    /// Makes the first queued one due once nothing is running.
    fn start_queued(&mut self) {
        let goes_on =
            !self.state.active.is_empty() || self.open.iter().any(|open| open.state == SlotState::Due);
        if goes_on {
            return;
        }
        let Some(first) = self.open.iter().min_by_key(|open| open.slot).cloned() else {
            return;
        };
        let reason = match self.entries.get_mut(first.slot) {
            Some(row) => row.reason.clone(),
            None => String::new(),
        };
        self.entries.replace(SlotEntry::of(first.slot, SlotState::Due, first.cause, reason));
    }
}

/// Rounds a duration to a readable precision.
fn round_duration(time: Duration) -> Duration {
    if time < Duration::from_secs(1) { time } else { Duration::from_secs(time.as_secs()) }
}

/// The time after a scheduled time within which the file may be mended: an editor saves what is half done.
const BROKEN_GRACE: Duration = Duration::from_mins(1);

/// Decides, by the schedule at the last decision, about the scheduled times that came while a goal could not be read: they are
/// missed. Those of a paused goal are left until it can be read again.
pub fn missed_while_broken(
    goal: &PlanId,
    state: &GoalLedgerState,
    reason: &str,
    now: Moment,
) -> SlotDecision {
    let Some(timing) = state.timing.as_ref().filter(|_| state.paused.is_none()) else {
        let decided_until = state.decided_until;
        return SlotDecision { rows: Vec::new(), decided_until, cancels_running: false, wake: None };
    };
    let delay = timing.offset(goal.as_str()) + BROKEN_GRACE;
    let decided_until = state.decided_until.max(instant_before(now, delay));
    let reason = format!("broken: {reason}");
    let mut rows = SlotEntries::default();
    let slots = timing.slots(state.decided_until, Moment::from_millis(i64::MAX));
    for (number, slot) in (0..).zip(slots.take_while(|slot| slot.at <= decided_until)) {
        if !state.unaccounted_starts.contains(&slot.at) {
            rows.push(number, excluded_or(&slot, SlotState::Missed, &reason));
        }
    }
    SlotDecision {
        rows: rows.into_vec(),
        decided_until,
        cancels_running: false,
        wake: timing.next(decided_until).map(|slot| slot.at.after(delay)),
    }
}
