use std::{sync::Arc, time::Duration};

use super::lead::Leadership;
use crate::{CommandError, goals::StoreLedger};
use wf_base::time::Moment;
use wf_core::goal::{DueActions, LedgerTurn, ReconciliationCause, missed_notifications};
use wf_model::Goal;
use wf_store::StoreError;

/// The first pause after a failure, and the longest.
const BACKOFF_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// A reconciliation to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueReconciliation {
    pub goal: Arc<str>,
    /// Its file.
    pub path: String,
    /// The scheduled time.
    pub slot: Moment,
    pub cause: ReconciliationCause,
}

impl DueReconciliation {
    /// The reconciliation of a scheduled time of a goal.
    pub fn of(goal: &Goal, slot: Moment, cause: ReconciliationCause) -> Self {
        Self { goal: goal.id.as_str().into(), path: goal.path.clone(), slot, cause }
    }
}

/// The result of examining goals.
#[derive(Debug, Default)]
pub struct GoalExamination {
    /// The actions for each goal, accounted for.
    pub turns: Vec<(Arc<Goal>, DueActions)>,
    /// The unaccounted goals.
    pub unaccounted: Vec<Arc<Goal>>,
    /// The error of a read or a write.
    pub error: Option<StoreError>,
}

/// Examines goals. One that cannot be accounted for does not hold up the others: its due times stay
/// due until it can. The decisions about all of them are sent to the store at once, so that they
/// become durable together.
pub async fn examine_goals(
    lead: &Leadership,
    goals: &[Arc<Goal>],
    now: Moment,
) -> Result<GoalExamination, CommandError> {
    let mut look = GoalExamination::default();
    let mut ahead: Vec<(&Arc<Goal>, LedgerTurn<'_>)> =
        goals.iter().map(|goal| (goal, LedgerTurn::new(goal, now))).collect();
    let ledger = StoreLedger { store: &lead.store, reader: &lead.reader, token: Some(lead.token) };
    while !ahead.is_empty() {
        let mut sent = Vec::new();
        for (goal, mut looking) in std::mem::take(&mut ahead) {
            match lead.reader.goals().ledger(&goal.id) {
                Err(error) => look.record_failure(goal, error),
                Ok(state) => match looking.decide(state.as_ref()) {
                    Some(entry) => sent.push((goal, looking, ledger.send(goal, entry, now))),
                    None => look.turns.push((Arc::clone(goal), looking.into_turn())),
                },
            }
        }
        for (goal, mut looking, ticket) in sent {
            match ticket.await {
                Err(error @ StoreError::Superseded { .. }) => return Err(error.into()),
                Err(error) => look.record_failure(goal, error),
                Ok(written) => {
                    looking.on_recorded(written);
                    if looking.is_over() {
                        look.turns.push((Arc::clone(goal), looking.into_turn()));
                    } else {
                        ahead.push((goal, looking));
                    }
                }
            }
        }
    }
    look.turns.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
    look.send_missed_notifications(lead, now).await;
    Ok(look)
}

impl GoalExamination {
    fn record_failure(&mut self, goal: &Arc<Goal>, error: StoreError) {
        self.unaccounted.push(Arc::clone(goal));
        self.error = Some(error);
    }

    /// Sends notifications of missed scheduled times. They are accounted for; a failure to notify
    /// does not hold up other goals.
    async fn send_missed_notifications(&mut self, lead: &Leadership, now: Moment) {
        let missed = self.turns.iter().filter(|(_, turn)| turn.missed > 0);
        let bodies = missed.flat_map(|(goal, turn)| {
            let bodies = missed_notifications(goal, turn.missed, now);
            bodies.into_iter().map(|body| (&goal.id, body))
        });
        let tickets: Vec<_> =
            bodies.map(|(goal, body)| lead.store.notifications().queue(goal, body, now)).collect();
        for ticket in tickets {
            if let Err(error) = ticket.await {
                self.error = Some(error);
            }
        }
    }
}

/// The pause after this many consecutive failures.
pub fn backoff_pause(failures: u32) -> Duration {
    let (first, most) = BACKOFF_PAUSES;
    let doubled = first.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(most)
}

#[cfg(test)]
mod tests {
    use super::backoff_pause;
    use std::time::Duration;

    #[test]
    fn pauses_grow_to_a_minute() {
        let seconds: Vec<u64> = (1..9).map(|n| backoff_pause(n).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(backoff_pause(u32::MAX), Duration::from_mins(1));
    }
}
