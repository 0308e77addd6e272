use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    DueActions, GoalAccountAtDeployment, GoalCommand, GoalFact, GoalLedger, GoalLedgerState, GoalOccurrence,
    GoalOutcome, GoalRecord, InMemoryLedger, ReconciliationCause, ReconciliationHealth, ReconciliationPart,
    ReconciliationRun, ReconciliationRunEnd, ReconciliationStep, RepairOutcome, RunPermits, SlotDecision,
    SlotEntry, SlotState, next_step,
    notification::{NotifiedReconciliation, follow_ups, missed_notifications, notifications},
    paused_until, turn,
};
use crate::{goal::memory::RecordingLedger, machine::CheckVerdict};
use wf_base::{digest::Sha256Digest, name::RunId, time::Moment};
use wf_model::{Goal, GoalEvent};

/// The number of ended reconciliations known, at most: a goal pauses after fewer failures.
const MOST_ENDS: usize = 1000;

/// A reconciliation under way, by its check run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct OpenReconciliation {
    slot: Moment,
    /// The end of its check run.
    look: Option<ReconciliationRunEnd>,
    repair: Option<RunId>,
    /// The reason why it ended as waiting for people, if it did.
    waits: Option<String>,
    is_cancelled: bool,
    /// True if the scheduled time before it was blocked.
    #[serde(default)]
    was_blocked: bool,
}

/// The decisions about a goal without its waits: what happened goes in, and commands and records come out.
///
/// It does what a daemon does for a goal of its workspace, with the same rules, for whoever has a clock and can start runs.
/// **Invariant:** the same occurrences at the same times give the same commands and records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GoalDriver {
    goal: Goal,
    /// The name of the deployment, from which the ids of runs follow.
    deployment: String,
    ledger: InMemoryLedger,
    open: BTreeMap<RunId, OpenReconciliation>,
    /// The ends of the latest reconciliations, newest first, with the check run of each that ended here.
    ends: VecDeque<(Option<RunId>, Moment, ReconciliationHealth)>,
    resumed: Option<Moment>,
    /// The reason why the last due reconciliation was not permitted to start.
    refusal: Option<String>,
    is_recalled: bool,
    /// True once its recall is recorded, after which nothing is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_recorded_over: bool,
    wake: Option<Moment>,
    #[serde(skip)]
    now: Moment,
    #[serde(skip)]
    commands: Vec<GoalCommand>,
    #[serde(skip)]
    records: Vec<GoalRecord>,
}

impl GoalDriver {
    /// Creates the driver of a goal, under the name of its deployment, which no other one has.
    pub fn new(goal: Goal, deployment: String, account: GoalAccountAtDeployment) -> Self {
        let GoalAccountAtDeployment { known, ends, resumed } = account;
        Self {
            ledger: InMemoryLedger::of(goal.id.clone(), known),
            goal,
            deployment,
            open: BTreeMap::new(),
            ends: ends.into_iter().take(MOST_ENDS).map(|(at, health)| (None, at, health)).collect(),
            resumed,
            refusal: None,
            is_recalled: false,
            is_recorded_over: false,
            wake: None,
            now: Moment::default(),
            commands: Vec::new(),
            records: Vec::new(),
        }
    }

    /// Processes what happened.
    pub fn step(
        &mut self,
        at: Moment,
        occurrence: GoalOccurrence,
        permits: &mut dyn RunPermits,
    ) -> Vec<GoalCommand> {
        if self.is_recorded_over {
            return Vec::new();
        }
        self.now = self.now.max(at);
        match occurrence {
            GoalOccurrence::Woke => {}
            GoalOccurrence::Ended { run, end } => self.on_end(&run, end, permits),
            GoalOccurrence::Waits { run } => self.on_wait(&run),
            GoalOccurrence::Pause { reason } => self.pause(reason, permits),
            GoalOccurrence::Resume => self.resume(),
            GoalOccurrence::Request => self.request(permits),
            GoalOccurrence::Recall { cancels } => self.recall(cancels, permits),
        }
        self.consider(permits);
        self.ledger.drop_settled(&self.goal.id);
        if self.is_over() && !std::mem::replace(&mut self.is_recorded_over, true) {
            self.record(GoalFact::Recalled);
        }
        std::mem::take(&mut self.commands)
    }

    /// Takes the records since the last time.
    pub fn take_records(&mut self) -> Vec<GoalRecord> {
        std::mem::take(&mut self.records)
    }

    pub fn goal(&self) -> &Goal {
        &self.goal
    }

    /// Returns the time it is to be woken; `None`: only if something happens.
    pub fn wake(&self) -> Option<Moment> {
        self.wake.filter(|_| !self.is_recalled)
    }

    /// True if it is paused: then nothing is started, whoever asks for it.
    pub fn is_paused(&self) -> bool {
        self.known().is_some_and(|known| known.paused.is_some())
    }

    /// True if it was recalled: it starts nothing more.
    pub fn is_recalled(&self) -> bool {
        self.is_recalled
    }

    /// True if it was recalled, and nothing is under way but what waits for people.
    pub fn is_over(&self) -> bool {
        self.is_recalled && self.open.values().all(|open| open.waits.is_some())
    }

    /// Returns the runs whose ends it waits for, with whether each is known to wait for people.
    pub fn running(&self) -> impl Iterator<Item = (&RunId, bool)> {
        let open = self.open.iter();
        open.map(|(look, open)| (open.repair.as_ref().unwrap_or(look), open.waits.is_some()))
    }

    /// Accounts for scheduled times, and starts what is due, until nothing more follows from it.
    fn consider(&mut self, permits: &mut dyn RunPermits) {
        while !self.is_recalled {
            let DueActions { start, cancel, wake, missed, is_open: _ } = self.turn();
            self.wake = wake;
            self.notify(missed_notifications(&self.goal, missed, self.now));
            for look in cancel {
                self.cancel(&look);
            }
            if start.is_empty() {
                return;
            }
            for (slot, cause) in start {
                self.start(slot, cause, permits);
            }
        }
    }

    fn turn(&mut self) -> DueActions {
        let mut ledger = RecordingLedger { ledger: &mut self.ledger, records: &mut self.records };
        let Ok(actions) = turn(&self.goal, &mut ledger, self.now);
        actions
    }

    /// Starts the reconciliation of a scheduled time, or skips it if not permitted.
    fn start(&mut self, slot: Moment, cause: ReconciliationCause, permits: &mut dyn RunPermits) {
        let run = self.run_of(slot, ReconciliationPart::Look);
        let wanted = ReconciliationRun {
            run: run.clone(),
            look: run.clone(),
            part: ReconciliationPart::Look,
            slot,
            checks: Vec::new(),
        };
        if let Err(reason) = permits.permit(&wanted) {
            return self.block(slot, cause, reason);
        }
        let was_blocked = self.refusal.take().is_some();
        self.ledger.start(&self.goal.id, slot, run.clone());
        let open = OpenReconciliation { slot, was_blocked, ..OpenReconciliation::default() };
        self.open.insert(run.clone(), open);
        self.record(GoalFact::Started { run, slot, cause });
        self.commands.push(GoalCommand::Start(wanted));
    }

    fn block(&mut self, slot: Moment, cause: ReconciliationCause, reason: String) {
        let decided = self.known().map(|known| known.decided_until);
        let decision = SlotDecision {
            rows: vec![SlotEntry::of(slot, SlotState::Blocked, cause, &reason)],
            decided_until: decided.unwrap_or_default(),
            cancels_running: false,
            wake: None,
        };
        let mut ledger = RecordingLedger { ledger: &mut self.ledger, records: &mut self.records };
        let Ok(_) = ledger.record(&self.goal, decided, &decision, self.now);
        if self.refusal.as_ref() != Some(&reason) {
            self.notify(notifications(&self.goal, GoalEvent::Blocked, &reason, None, self.now));
            self.refusal = Some(reason);
        }
    }

    fn on_end(&mut self, run: &RunId, end: ReconciliationRunEnd, permits: &mut dyn RunPermits) {
        let Some((look, is_repair)) = self.reconciliation_of(run) else { return };
        if is_repair {
            self.conclude(&look, Some(&end.repair_outcome()), permits);
        } else {
            if let Some(open) = self.open.get_mut(&look) {
                open.look = Some(end);
            }
            self.conclude(&look, None, permits);
        }
    }

    fn on_wait(&mut self, run: &RunId) {
        let Some((look, is_repair)) = self.reconciliation_of(run) else { return };
        let Some(open) = self.open.get(&look) else { return };
        let short = run.short();
        let verdict = match &open.look {
            Some(found) if is_repair => {
                let waits = RepairOutcome::Waits(format!("for approval: wf approve {short}"));
                next_step(&self.goal, &found.findings(), Some(&waits))
            }
            _ => ReconciliationStep::End(GoalOutcome {
                health: ReconciliationHealth::Waiting,
                reason: format!("the checks wait for approval: wf approve {short}"),
            }),
        };
        if let ReconciliationStep::End(verdict) = verdict {
            self.end(&look, verdict, true);
        }
    }

    /// Goes on with a reconciliation whose check run has ended, and its repair if there was one.
    fn conclude(&mut self, look: &RunId, repaired: Option<&RepairOutcome>, permits: &mut dyn RunPermits) {
        let Some(found) = self.open.get(look).and_then(|open| open.look.clone()) else { return };
        let repaired = match next_step(&self.goal, &found.findings(), repaired) {
            ReconciliationStep::End(verdict) => return self.end(look, verdict, false),
            ReconciliationStep::Repair => match self.repair(look, found.checks.clone(), permits) {
                None => return,
                Some(outcome) => outcome,
            },
        };
        if let ReconciliationStep::End(verdict) = next_step(&self.goal, &found.findings(), Some(&repaired)) {
            self.end(look, verdict, false);
        }
    }

    /// Starts the repair of a reconciliation; returns the outcome if it may not start.
    fn repair(
        &mut self,
        look: &RunId,
        checks: Vec<CheckVerdict>,
        permits: &mut dyn RunPermits,
    ) -> Option<RepairOutcome> {
        let open = self.open.get(look)?;
        if open.is_cancelled {
            return Some(RepairOutcome::Cancelled);
        }
        // Two at once would undo each other.
        if let Some(other) = self.open.values().find_map(|other| other.repair.as_ref()) {
            let reason = format!("another {} is running: {}", self.goal.noun(), other.short());
            return Some(RepairOutcome::Waits(reason));
        }
        let slot = open.slot;
        let run = self.run_of(slot, ReconciliationPart::Repair);
        let part = ReconciliationPart::Repair;
        let wanted = ReconciliationRun { run: run.clone(), look: look.clone(), part, slot, checks };
        if let Err(reason) = permits.permit(&wanted) {
            return Some(RepairOutcome::Waits(reason));
        }
        if let Some(open) = self.open.get_mut(look) {
            open.repair = Some(run.clone());
            // The check run may have waited for people before it ended.
            open.waits = None;
        }
        self.record(GoalFact::RepairStarted { run, look: look.clone() });
        self.commands.push(GoalCommand::Start(wanted));
        None
    }

    /// Ends a reconciliation; one waiting for people, and `goes_on` once they decided, ends anew then.
    fn end(&mut self, look: &RunId, outcome: GoalOutcome, goes_on: bool) {
        let Some(open) = self.open.get_mut(look) else { return };
        let is_waiting = outcome.health == ReconciliationHealth::Waiting;
        if is_waiting && open.waits.as_ref() == Some(&outcome.reason) {
            return;
        }
        let cycle = NotifiedReconciliation {
            look,
            repair: open.repair.as_ref(),
            slot: Some(open.slot),
            was_blocked: open.was_blocked,
        };
        self.ends.retain(|(run, ..)| run.as_ref() != Some(look));
        let before: Vec<_> = self.ends.iter().map(|(_, at, health)| (*at, *health)).collect();
        let follows = follow_ups(&self.goal, &before, self.resumed, cycle, &outcome, self.now);
        self.ends.push_front((Some(look.clone()), self.now, outcome.health));
        self.ends.truncate(MOST_ENDS);
        if goes_on {
            open.waits = Some(outcome.reason.clone());
        } else {
            self.open.remove(look);
        }
        self.ledger.end(&self.goal.id, look);
        if let Some(reason) = &follows.pause {
            self.ledger.pause(&self.goal.id, reason, self.now);
        }
        self.record(GoalFact::Ended { look: look.clone(), outcome, pause: follows.pause });
        self.notify(follows.notices);
    }

    fn pause(&mut self, reason: String, permits: &mut dyn RunPermits) {
        // Times due before the pause are accounted for as such.
        self.consider(permits);
        if !self.is_paused() {
            self.ledger.pause(&self.goal.id, &reason, self.now);
            self.record(GoalFact::Paused { reason });
        }
    }

    /// Ends the pause at the next scheduled time, without catching up.
    fn resume(&mut self) {
        let Some(known) = self.known().filter(|known| known.paused.is_some()) else { return };
        let decision = paused_until(&self.goal, &known, self.now);
        let mut ledger = RecordingLedger { ledger: &mut self.ledger, records: &mut self.records };
        let Ok(_) = ledger.record(&self.goal, Some(known.decided_until), &decision, self.now);
        self.ledger.resume(&self.goal.id);
        self.resumed = Some(self.now);
        self.record(GoalFact::Resumed);
    }

    fn request(&mut self, permits: &mut dyn RunPermits) {
        self.consider(permits);
        if !self.is_paused()
            && self.ledger.queue(&self.goal.id, self.now, ReconciliationCause::Person, self.now)
        {
            self.record(GoalFact::Requested { slot: self.now });
        }
    }

    fn recall(&mut self, cancels: bool, permits: &mut dyn RunPermits) {
        self.consider(permits);
        self.is_recalled = true;
        if cancels {
            for look in self.open.keys().cloned().collect::<Vec<_>>() {
                self.cancel(&look);
            }
        }
    }

    fn cancel(&mut self, look: &RunId) {
        if let Some(open) = self.open.get_mut(look)
            && !std::mem::replace(&mut open.is_cancelled, true)
        {
            let run = open.repair.as_ref().unwrap_or(look).clone();
            self.commands.push(GoalCommand::Cancel(run));
        }
    }

    /// Returns the reconciliation a run belongs to, by its check run, and whether it is its repair.
    fn reconciliation_of(&self, run: &RunId) -> Option<(RunId, bool)> {
        if self.open.contains_key(run) {
            return Some((run.clone(), false));
        }
        let repairs = |(_, open): &(&RunId, &OpenReconciliation)| open.repair.as_ref() == Some(run);
        self.open.iter().find(repairs).map(|(look, _)| (look.clone(), true))
    }

    fn run_of(&self, slot: Moment, part: ReconciliationPart) -> RunId {
        let (slot, part) = (slot.millis().to_be_bytes(), part.as_str());
        let parts: [&[u8]; 3] = [self.deployment.as_bytes(), &slot, part.as_bytes()];
        RunId::from_stored(Sha256Digest::of_parts(parts).to_string().chars().take(32).collect::<String>())
    }

    fn known(&self) -> Option<GoalLedgerState> {
        let Ok(known) = self.ledger.known(&self.goal.id);
        known.map(std::borrow::Cow::into_owned)
    }

    fn record(&mut self, fact: GoalFact) {
        self.records.push(GoalRecord { at: self.now, fact });
    }

    fn notify(&mut self, notices: Vec<Value>) {
        if !notices.is_empty() {
            self.commands.push(GoalCommand::Notify(notices));
        }
    }
}
