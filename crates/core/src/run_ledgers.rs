//! The ledgers of a run and of all nested in it: a call is paid by each of them.
//!
//! **Invariant:** pure; a nested run counts for the run around it as long as that has not recorded its usage.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::machine::{AttemptUsage, BudgetLedger, BudgetUsage, Event, EventKind};
use wf_base::{name::RunId, time::Moment};

/// The ledgers of the runs one engine works on together.
#[derive(Clone, Debug, Default)]
pub struct RunLedgers(BTreeMap<RunId, OpenLedger>);

/// The ledger of a run, and what is not part of its events yet.
#[derive(Clone, Debug, Default)]
struct OpenLedger {
    parent: Option<RunId>,
    ledger: BudgetLedger,
    /// The most that calls under way may use.
    reserved_usage: AttemptUsage,
}

/// The reason why a call is not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetRefusal {
    /// The run around the one that wants to call, whose budget does not suffice; `None`: it is its own.
    pub around: Option<RunId>,
    /// The resource, with what would be used of it.
    pub over: BudgetUsage,
}

/// A call that is to be paid.
#[derive(Clone, Debug)]
pub struct CallClaim<'a> {
    pub run: &'a RunId,
    /// The amount its caller has set aside before.
    pub before_usage: AttemptUsage,
    /// The amount to be set aside instead: what its caller has used, and what the call may use.
    pub wanted_usage: AttemptUsage,
    /// True if the budget of the run itself was asked before.
    pub own_allows: bool,
}

impl RunLedgers {
    /// Adds a run, and the run it is nested in.
    pub fn open(&mut self, run: &RunId, parent: Option<&RunId>) {
        self.0.insert(run.clone(), OpenLedger { parent: parent.cloned(), ..OpenLedger::default() });
    }

    /// Adds a run of which something is recorded.
    pub fn open_recorded(&mut self, run: &RunId, parent: Option<&RunId>, ledger: BudgetLedger) {
        let set_aside = AttemptUsage::default();
        self.0.insert(run.clone(), OpenLedger { parent: parent.cloned(), ledger, reserved_usage: set_aside });
    }

    /// True if a budget limits the calls of a run: its own, or that of a run around it.
    pub fn limits_calls(&self, run: &RunId) -> bool {
        let Some(open) = self.0.get(run) else {
            return false;
        };
        open.ledger.limits_calls() || open.parent.as_ref().is_some_and(|parent| self.limits_calls(parent))
    }

    /// Applies an event of a run. Nested runs whose end it records are counted in it from now on.
    pub fn apply(&mut self, run: &RunId, event: &Event) {
        let Some(open) = self.0.get_mut(run) else {
            return;
        };
        open.ledger.apply_fact(event.at, &event.fact);
        match &event.fact {
            EventKind::AttemptEnded { attempt, .. } => self.close(&run.child(&attempt.to_string())),
            EventKind::ChildEnded(end) => self.close(&run.child(&end.id.attempt_path())),
            _ => {}
        }
    }

    /// Returns what a run has used, as its events record it.
    pub fn recorded(&self, run: &RunId) -> AttemptUsage {
        self.0.get(run).map(|open| open.ledger.usage()).unwrap_or_default()
    }

    /// Returns the time a run began.
    pub fn started(&self, run: &RunId) -> Option<Moment> {
        self.0.get(run).and_then(|open| open.ledger.since)
    }

    /// Sets aside what a call may use, if the budgets of its run and of all runs around it suffice.
    pub fn claim(&mut self, claim: &CallClaim<'_>) -> Result<(), BudgetRefusal> {
        let mut at = Some(claim.run);
        while let Some(run) = at
            && let Some(open) = self.0.get(run)
        {
            let is_own = run == claim.run;
            if !(is_own && claim.own_allows) {
                let others = minus(minus(self.total(run), open.ledger.usage()), claim.before_usage);
                if let Some(over) = open.ledger.refuses(others.plus(claim.wanted_usage)) {
                    return Err(BudgetRefusal { around: (!is_own).then(|| run.clone()), over });
                }
            }
            at = open.parent.as_ref();
        }
        self.replace(claim.run, claim.before_usage, claim.wanted_usage);
        Ok(())
    }

    /// Replaces what a caller has set aside.
    pub fn replace(&mut self, run: &RunId, before_usage: AttemptUsage, usage: AttemptUsage) {
        if let Some(open) = self.0.get_mut(run) {
            open.reserved_usage = minus(open.reserved_usage, before_usage).plus(usage);
        }
    }

    /// Returns what a run and all nested in it have used, and may use by calls under way.
    fn total(&self, run: &RunId) -> AttemptUsage {
        let own = self.0.get(run).map(|open| open.ledger.usage().plus(open.reserved_usage));
        let nested = self.0.iter().filter(|(_, open)| open.parent.as_ref() == Some(run));
        nested.fold(own.unwrap_or_default(), |sum, (nested, _)| sum.plus(self.total(nested)))
    }

    fn close(&mut self, run: &RunId) {
        if self.0.remove(run).is_some() {
            let nested = self.0.iter().filter(|(_, open)| open.parent.as_ref() == Some(run));
            let nested: Vec<RunId> = nested.map(|(id, _)| id.clone()).collect();
            for nested in nested {
                self.close(&nested);
            }
        }
    }
}

impl fmt::Display for BudgetRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it may use {}", self.over)?;
        match &self.around {
            Some(run) => write!(f, " of run {}, in which this run is nested", run.short()),
            None => Ok(()),
        }
    }
}

fn minus(usage_sum: AttemptUsage, usage: AttemptUsage) -> AttemptUsage {
    AttemptUsage {
        attempts: usage_sum.attempts.saturating_sub(usage.attempts),
        tokens: usage_sum.tokens.saturating_sub(usage.tokens),
        cost: usage_sum.cost.minus(usage.cost),
    }
}

#[cfg(test)]
mod tests {
    use super::{CallClaim, RunLedgers};
    use crate::machine::{Attempt, AttemptUsage, Event, EventKind, TaskId, WorkExit};
    use wf_base::{
        name::{Name, RunId},
        time::Moment,
    };
    use wf_model::{JsonObject, Money, RunBudget};

    fn tokens(tokens: u64) -> AttemptUsage {
        AttemptUsage { attempts: 0, tokens, cost: Money::default() }
    }

    fn event(kind: EventKind) -> Event {
        Event { at: Moment::from_millis(0), fact: kind }
    }

    fn budget(max: u64) -> Event {
        event(EventKind::BudgetSet(Box::new(RunBudget { max_tokens: Some(max), ..RunBudget::default() })))
    }

    fn attempt() -> Attempt {
        Attempt { task_id: TaskId::of_step(&Name::parse("a").unwrap()), attempt: 1 }
    }

    fn ended(usage: AttemptUsage) -> Event {
        event(EventKind::AttemptEnded {
            attempt: attempt(),
            how: WorkExit::Completed,
            failure_class: None,
            findings: crate::machine::NestedFindings::default(),
            outputs: JsonObject::new(),
            artifacts: Vec::new(),
            standing: None,
            swapped_file: None,
            usage,
            left: crate::machine::LeftProcesses::default(),
            log: None,
            breakers: Vec::new(),
        })
    }

    fn claim(run: &RunId, before: u64, wanted: u64) -> CallClaim<'_> {
        CallClaim { run, before_usage: tokens(before), wanted_usage: tokens(wanted), own_allows: false }
    }

    /// An outer run with a budget of 100 tokens, and one nested in its attempt.
    fn nested() -> (RunLedgers, RunId, RunId) {
        let outer = RunId::from_stored("a".repeat(32));
        let inner = outer.child(&attempt().to_string());
        let mut ledgers = RunLedgers::default();
        ledgers.open(&outer, None);
        ledgers.apply(&outer, &budget(100));
        ledgers.open(&inner, Some(&outer));
        (ledgers, outer, inner)
    }

    #[test]
    fn a_nested_run_is_refused_what_the_run_around_it_cannot_pay() {
        let (mut ledgers, outer, inner) = nested();
        assert_eq!(ledgers.claim(&claim(&inner, 0, 100)), Ok(()));
        let refusal = ledgers.claim(&claim(&inner, 100, 101)).unwrap_err();
        assert_eq!(refusal.around.as_ref(), Some(&outer));
        let text = "it may use 101 of 100 tokens of run aaaaaaaa, in which this run is nested";
        assert_eq!(refusal.to_string(), text);
        // The own budget of the nested run comes first.
        ledgers.apply(&inner, &budget(50));
        let refusal = ledgers.claim(&claim(&inner, 100, 101)).unwrap_err();
        assert_eq!(
            (refusal.around.clone(), refusal.to_string()),
            (None, "it may use 101 of 50 tokens".into())
        );
        let asked = CallClaim { own_allows: true, ..claim(&inner, 100, 60) };
        assert_eq!(ledgers.claim(&asked), Ok(()));
    }

    #[test]
    fn a_budget_limits_the_calls_of_its_run_and_of_those_nested_in_it() {
        let (mut ledgers, outer, inner) = nested();
        assert!(ledgers.limits_calls(&outer) && ledgers.limits_calls(&inner));
        ledgers.open(&outer, None);
        assert!(!ledgers.limits_calls(&inner));
        ledgers.apply(&inner, &budget(5));
        assert!(ledgers.limits_calls(&inner) && !ledgers.limits_calls(&outer));
    }

    #[test]
    fn calls_under_way_count_in_every_run_around() {
        let (mut ledgers, outer, inner) = nested();
        ledgers.claim(&claim(&inner, 0, 60)).unwrap();
        assert!(ledgers.claim(&claim(&outer, 0, 41)).is_err());
        ledgers.claim(&claim(&outer, 0, 40)).unwrap();
        // The call of the nested run took less.
        ledgers.replace(&inner, tokens(60), tokens(10));
        assert_eq!(ledgers.claim(&claim(&outer, 40, 90)), Ok(()));
        ledgers.replace(&outer, tokens(90), tokens(0));
        ledgers.replace(&inner, tokens(10), tokens(0));
        assert_eq!(ledgers.claim(&claim(&inner, 0, 100)), Ok(()));
    }

    #[test]
    fn a_nested_run_is_counted_once_when_its_attempt_ends() {
        let (mut ledgers, outer, inner) = nested();
        ledgers.apply(&inner, &ended(tokens(30)));
        let deeper = inner.child("b#1");
        ledgers.open(&deeper, Some(&inner));
        ledgers.apply(&deeper, &ended(tokens(20)));
        assert!(ledgers.claim(&claim(&outer, 0, 51)).is_err());
        ledgers.apply(&outer, &ended(tokens(50)));
        assert_eq!(ledgers.recorded(&outer), tokens(50));
        assert!(ledgers.claim(&claim(&outer, 0, 51)).is_err());
        assert_eq!(ledgers.claim(&claim(&outer, 0, 50)), Ok(()));
    }
}
