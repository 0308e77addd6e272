use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::lead::Lead;
use crate::cli::Failure;
use crate::cli::goals::{StoreLedger, notices};
use crate::goal::{Cause, turn};
use crate::model::{Goal, GoalNews};
use crate::name::{PlanId, RunId};
use crate::store::StoreError;
use crate::time::Moment;

/// The first pause after a failure, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// A cycle that is to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The goal.
    pub goal: Arc<str>,
    /// Its file.
    pub path: String,
    /// The slot.
    pub slot: Moment,
    /// What it is begun for.
    pub cause: Cause,
}

/// What one look over all goals comes to.
#[derive(Debug, Default)]
pub struct Look {
    /// The cycles that are to begin.
    pub start: Vec<Start>,
    /// The cycles that are to be cancelled, by goal and first run.
    pub cancel: Vec<(PlanId, RunId)>,
    /// When the next slot begins, by goal.
    pub next: BTreeMap<PlanId, Moment>,
    /// How many slots were missed.
    pub missed: u64,
    /// What could not be read or written.
    pub trouble: Option<StoreError>,
}

/// Looks at all goals. A goal that cannot be accounted for keeps none of the others from it:
/// whatever is due now is due still when it can.
pub fn look(lead: &Lead, goals: &[Arc<Goal>], now: Moment) -> Result<Look, Failure> {
    let mut look = Look::default();
    for goal in goals {
        let mut ledger = StoreLedger {
            store: &lead.store,
            reader: &lead.reader,
            token: Some(lead.token),
        };
        let turned = match turn(goal, &mut ledger, now) {
            Ok(turned) => turned,
            Err(error @ StoreError::Superseded { .. }) => return Err(error.into()),
            Err(error) => {
                look.trouble = Some(error);
                continue;
            }
        };
        let id: Arc<str> = goal.id.as_str().into();
        look.start
            .extend(turned.start.iter().map(|(slot, cause)| Start {
                goal: Arc::clone(&id),
                path: goal.path.clone(),
                slot: *slot,
                cause: *cause,
            }));
        let cancel = turned.cancel.into_iter();
        look.cancel.extend(cancel.map(|run| (goal.id.clone(), run)));
        if let Some(wake) = turned.wake {
            look.next.insert(goal.id.clone(), wake);
        }
        if turned.missed > 0 {
            look.missed += turned.missed;
            // They are accounted for; that nobody can be told of them keeps no other goal from it.
            if let Err(error) = missed(lead, goal, (turned.missed, now)) {
                look.trouble = Some(error);
            }
        }
    }
    Ok(look)
}

/// People are told that slots were missed.
fn missed(lead: &Lead, goal: &Goal, (count, now): (u64, Moment)) -> Result<(), StoreError> {
    let why = match count {
        1 => "1 slot was missed".to_owned(),
        count => format!("{count} slots were missed"),
    };
    for body in notices(goal, GoalNews::Missed, (&why, None, now)) {
        lead.store.tell(&goal.id, body, now).wait()?;
    }
    Ok(())
}

/// How long to wait after so many failures in a row.
pub fn pause(failures: u32) -> Duration {
    let (first, most) = PAUSES;
    let doubled = first.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(most)
}

#[cfg(test)]
mod tests {
    use super::pause;
    use std::time::Duration;

    #[test]
    fn pauses_grow_to_a_minute() {
        let seconds: Vec<u64> = (1..9).map(|n| pause(n).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause(u32::MAX), Duration::from_mins(1));
    }
}
