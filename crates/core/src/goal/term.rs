use std::time::Duration;

use super::known::instant_before;
use wf_base::{time::Moment, units::plural};

/// The longest time before the end of an approval at which people are warned of it.
const LONGEST_NOTICE: Duration = Duration::from_hours(7 * 24);

/// The term of a standing approval: how long and for how many repairs it is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalTerm {
    pub issued: Moment,
    pub expires: Moment,
    /// The number of repairs it permits.
    pub executions: u32,
}

impl ApprovalTerm {
    /// Returns the reason to warn of its end at a moment, after a number of repairs; `None`: there is none. It is about to
    /// end in the last tenth of its validity, at most a week, and of its repairs.
    pub fn warning(&self, at: Moment, used: u32) -> Option<String> {
        let validity = self.expires.since(self.issued);
        if at >= instant_before(self.expires, (validity / 10).min(LONGEST_NOTICE)) {
            return Some(format!("its standing approval expires at {}", self.expires.to_second()));
        }
        let left = self.executions.saturating_sub(used);
        let is_low = used > 0 && left <= self.executions.div_ceil(10);
        is_low.then(|| {
            let repairs = plural(usize::try_from(left).unwrap_or(usize::MAX), "repair");
            format!("its standing approval permits {repairs} more")
        })
    }
}

/// A reconciliation of a goal with a standing approval.
#[derive(Clone, Copy, Debug)]
pub struct ApprovedReconciliation {
    /// Its scheduled time.
    pub slot: Moment,
    /// The scheduled time after it; `None`: there is none.
    pub next: Option<Moment>,
    /// The number of repairs under the approval before it.
    pub used_before: u32,
    /// The number of repairs after it.
    pub used: u32,
}

impl ApprovedReconciliation {
    /// Returns the warning that the approval ends, once: after the reconciliation for which it is due, and not before.
    pub fn warning(&self, term: &ApprovalTerm) -> Option<String> {
        let warned = self.slot > term.issued && term.warning(self.slot, self.used_before).is_some();
        if warned { None } else { term.warning(self.next.unwrap_or(self.slot), self.used) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn at(hours: i64) -> Moment {
        Moment::from_millis(hours * HOUR)
    }

    fn term(hours: i64, executions: u32) -> ApprovalTerm {
        ApprovalTerm { issued: at(0), expires: at(hours), executions }
    }

    #[test]
    fn the_last_tenth_is_its_end() {
        let warns = |term: ApprovalTerm, hour, used| term.warning(at(hour), used).is_some();
        assert!(!warns(term(100, 10), 89, 0));
        assert!(warns(term(100, 10), 90, 0));
        // At most a week before.
        assert!(!warns(term(24 * 365, 10), 24 * 358 - 1, 0));
        assert!(warns(term(24 * 365, 10), 24 * 358, 0));
        assert!(!warns(term(100, 10), 1, 8));
        assert_eq!(term(100, 10).warning(at(1), 9).unwrap(), "its standing approval permits 1 repair more");
        assert!(!warns(term(100, 1), 1, 0), "a single repair is not about to be used up before it is");
    }

    #[test]
    fn each_end_is_warned_of_once() {
        let term = term(100, 10);
        let warns = |slot, next, used_before, used| {
            let next = Some(at(next));
            ApprovedReconciliation { slot: at(slot), next, used_before, used }.warning(&term).is_some()
        };
        let hourly: Vec<i64> = (1..100).filter(|hour| warns(*hour, hour + 1, 0, 0)).collect();
        assert_eq!(hourly, [89]);
        let used: Vec<u32> = (0..10).filter(|used| warns(1, 2, *used, used + 1)).collect();
        assert_eq!(used, [8]);
        // A rare goal is warned of by the last reconciliation before the end.
        assert!(warns(24, 24 * 7, 0, 0));
        // One that was issued in its own last tenth was never warned of.
        assert!(warns(0, 99, 0, 0));
    }
}
