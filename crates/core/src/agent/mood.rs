//! The mood of a persona: a pure function of what happened in its conversation, and when (Silas 5.14).

use serde::{Deserialize, Serialize};

use wf_base::time::Moment;
use wf_model::{MoodWeights, PersonaChanges, PersonaEvent};

/// The thousandths by which a change goes back in an hour.
const DECAY: i64 = 100;

/// The milliseconds of an hour.
const HOUR: i64 = 3_600_000;

/// An event changing moods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PersonaOccurrence {
    pub at: Moment,
    pub event: PersonaEvent,
}

/// Returns what is left now of the changes by some events.
pub fn mood(weights: &MoodWeights, mut occurred: Vec<PersonaOccurrence>, now: Moment) -> PersonaChanges {
    occurred.retain(|one| one.at <= now);
    occurred.sort();
    let mut mood = PersonaChanges::default();
    let mut since = occurred.first().map_or(now, |one| one.at);
    for PersonaOccurrence { at, event } in occurred {
        mood = mood.decayed(decay(since, at)).plus(&weights.of(event));
        since = at;
    }
    mood.decayed(decay(since, now))
}

/// Returns the thousandths by which a change goes back between two instants.
fn decay(since: Moment, until: Moment) -> i32 {
    let time = i64::try_from(until.since(since).as_millis()).unwrap_or(i64::MAX);
    i32::try_from(time.saturating_mul(DECAY) / HOUR).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{HOUR, PersonaOccurrence, mood};
    use wf_base::time::Moment;
    use wf_model::{MoodWeights, PersonaChanges, PersonaEvent, PersonaTrait};

    fn at(hours: i64, event: PersonaEvent) -> PersonaOccurrence {
        PersonaOccurrence { at: Moment::from_millis(hours * HOUR), event }
    }

    fn after(occurred: &[PersonaOccurrence], hours: i64) -> PersonaChanges {
        mood(&MoodWeights::new([]), occurred.to_vec(), Moment::from_millis(hours * HOUR))
    }

    #[test]
    fn events_change_moods_which_go_back_by_a_tenth_in_an_hour() {
        let failed = [at(0, PersonaEvent::VerificationFailed), at(0, PersonaEvent::VerificationFailed)];
        let changes = |frustration, patience| {
            PersonaChanges::new([
                (PersonaTrait::Frustration, frustration),
                (PersonaTrait::Patience, patience),
            ])
        };
        assert_eq!(after(&failed, 0), changes(200, -100));
        assert_eq!(after(&failed, 1), changes(100, 0));
        assert!(after(&failed, 2).is_none());
    }

    #[test]
    fn the_order_of_the_records_does_not_matter_and_what_is_to_come_does_not_count() {
        let mut all = vec![
            at(0, PersonaEvent::VerificationFailed),
            at(1, PersonaEvent::TaskCompleted),
            at(2, PersonaEvent::Blocked),
        ];
        let told = after(&all, 2);
        all.reverse();
        assert_eq!(after(&all, 2), told);
        all.push(at(3, PersonaEvent::Compliment));
        assert_eq!(after(&all, 2), told);
        assert!(after(&[], 5).is_none());
    }
}
