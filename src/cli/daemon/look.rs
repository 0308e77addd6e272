use std::sync::Arc;
use std::time::Duration;

use super::lead::Lead;
use crate::cli::Failure;
use crate::cli::goals::{StoreLedger, notices};
use crate::goal::{Cause, Looking, Turn};
use crate::model::{Goal, GoalNews};
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

impl Start {
    /// The cycle of a slot of a goal.
    pub fn of(goal: &Goal, slot: Moment, cause: Cause) -> Self {
        Self {
            goal: goal.id.as_str().into(),
            path: goal.path.clone(),
            slot,
            cause,
        }
    }
}

/// What one look over goals comes to.
#[derive(Debug, Default)]
pub struct Look {
    /// What is to be done for each goal that was accounted for.
    pub turns: Vec<(Arc<Goal>, Turn)>,
    /// The goals that could not be accounted for.
    pub left: Vec<Arc<Goal>>,
    /// What could not be read or written.
    pub trouble: Option<StoreError>,
}

/// Looks at goals. One that cannot be accounted for keeps none of the others from it: whatever is due
/// now is due still when it can. What is decided about all of them is sent to the store at once, so
/// that it becomes durable together.
pub async fn look(lead: &Lead, goals: &[Arc<Goal>], now: Moment) -> Result<Look, Failure> {
    let mut look = Look::default();
    let mut ahead: Vec<(&Arc<Goal>, Looking<'_>)> = goals
        .iter()
        .map(|goal| (goal, Looking::new(goal, now)))
        .collect();
    let ledger = StoreLedger {
        store: &lead.store,
        reader: &lead.reader,
        token: Some(lead.token),
    };
    while !ahead.is_empty() {
        let mut sent = Vec::new();
        for (goal, mut looking) in std::mem::take(&mut ahead) {
            match lead.reader.known(&goal.id) {
                Err(error) => look.fail(goal, error),
                Ok(known) => match looking.decide(known.as_ref()) {
                    Some(entry) => sent.push((goal, looking, ledger.send(goal, entry, now))),
                    None => look.turns.push((Arc::clone(goal), looking.into_turn())),
                },
            }
        }
        for (goal, mut looking, ticket) in sent {
            match ticket.await {
                Err(error @ StoreError::Superseded { .. }) => return Err(error.into()),
                Err(error) => look.fail(goal, error),
                Ok(written) => {
                    looking.written(written);
                    if looking.is_over() {
                        look.turns.push((Arc::clone(goal), looking.into_turn()));
                    } else {
                        ahead.push((goal, looking));
                    }
                }
            }
        }
    }
    look.turns
        .sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
    look.tell(lead, now).await;
    Ok(look)
}

impl Look {
    fn fail(&mut self, goal: &Arc<Goal>, error: StoreError) {
        self.left.push(Arc::clone(goal));
        self.trouble = Some(error);
    }

    /// People are told that slots were missed. They are accounted for; that nobody can be told of
    /// them keeps no other goal from it.
    async fn tell(&mut self, lead: &Lead, now: Moment) {
        let missed = self.turns.iter().filter(|(_, turn)| turn.missed > 0);
        let bodies = missed.flat_map(|(goal, turn)| {
            let why = match turn.missed {
                1 => "1 slot was missed".to_owned(),
                count => format!("{count} slots were missed"),
            };
            let bodies = notices(goal, GoalNews::Missed, (&why, None, now));
            bodies.into_iter().map(|body| (&goal.id, body))
        });
        let tickets: Vec<_> = bodies
            .map(|(goal, body)| lead.store.tell(goal, body, now))
            .collect();
        for ticket in tickets {
            if let Err(error) = ticket.await {
                self.trouble = Some(error);
            }
        }
    }
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
