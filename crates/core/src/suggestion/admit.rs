use std::time::Duration;

use super::{Suggestion, SuggestionRecord, SuggestionState};
use wf_base::time::Moment;
use wf_model::SuggestionLimits;

const HOUR: Duration = Duration::from_hours(1);

/// The reason why a suggestion is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuggestionDrop {
    /// The same plan with the same parameters waits, or was suggested not long ago.
    Repeated,
    /// A suggestion of the same plan was dismissed not long ago.
    Unwanted,
    /// As many wait as may.
    Full,
    /// As many were kept within an hour as may be.
    TooMany,
}

/// Decides whether a suggestion is kept, beside those that are.
pub fn admit(
    suggestions: &[SuggestionRecord],
    suggestion: &Suggestion,
    limits: &SuggestionLimits,
    now: Moment,
) -> Result<(), SuggestionDrop> {
    let within = |at: Moment, time: Duration| now.since(at) < time;
    let is_pending = |record: &&SuggestionRecord| record.state == SuggestionState::Pending;
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let is_same = |one: &SuggestionRecord| {
        (&one.suggestion.path, &one.suggestion.params) == (&suggestion.path, &suggestion.params)
    };
    let repeat = Duration::from_millis(limits.repeat_ms);
    if suggestions.iter().any(|one| is_same(one) && (is_pending(&one) || within(one.since, repeat))) {
        return Err(SuggestionDrop::Repeated);
    }
    let cooldown = Duration::from_millis(limits.cooldown_ms);
    let is_unwanted = |one: &SuggestionRecord| {
        let is_dismissed = one.state == SuggestionState::Dismissed;
        is_dismissed && one.suggestion.path == suggestion.path && within(one.changed, cooldown)
    };
    if suggestions.iter().any(is_unwanted) {
        return Err(SuggestionDrop::Unwanted);
    }
    if count(suggestions.iter().filter(is_pending).count()) >= limits.max_pending {
        return Err(SuggestionDrop::Full);
    }
    if count(suggestions.iter().filter(|one| within(one.since, HOUR)).count()) >= limits.max_per_hour {
        return Err(SuggestionDrop::TooMany);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Suggestion, SuggestionRecord, SuggestionRefusal, SuggestionState},
        SuggestionDrop, admit,
    };
    use serde_json::json;
    use wf_base::{
        name::{PlanId, RunId},
        time::Moment,
    };
    use wf_model::{JsonObject, SuggestionLimits};

    fn suggestion(path: &str, folder: &str) -> Suggestion {
        let params = JsonObject::from_iter([("folder".to_owned(), json!(folder))]);
        Suggestion { title: "Sort".into(), why: String::new(), path: path.into(), params }
    }

    fn minute(minute: i64) -> Moment {
        Moment::from_millis(minute * 60_000)
    }

    fn kept(number: u32, suggestion: Suggestion, since: i64) -> SuggestionRecord {
        SuggestionRecord {
            number,
            run: RunId::from_bytes([1; 16]),
            plan: PlanId::parse("suggest").unwrap(),
            suggestion,
            state: SuggestionState::Pending,
            since: minute(since),
            changed: minute(since),
            started: None,
        }
    }

    fn decide(suggestions: &[SuggestionRecord], one: &Suggestion, at: i64) -> Result<(), SuggestionDrop> {
        admit(suggestions, one, &SuggestionLimits::default(), minute(at))
    }

    #[test]
    fn the_same_is_not_suggested_twice_within_its_time_or_while_it_waits() {
        let (same, other) = (suggestion("sort.md", "a"), suggestion("sort.md", "b"));
        let waits = [kept(1, same.clone(), 0)];
        assert_eq!(decide(&waits, &same, 1_000), Err(SuggestionDrop::Repeated));
        assert_eq!(decide(&waits, &other, 1), Ok(()));
        let done = [waits[0].accept(RunId::from_bytes([2; 16]), minute(1)).unwrap()];
        assert_eq!(decide(&done, &same, 179), Err(SuggestionDrop::Repeated));
        assert_eq!(decide(&done, &same, 180), Ok(()));
    }

    #[test]
    fn a_plan_that_was_dismissed_is_left_alone_for_a_while() {
        let dismissed = [kept(1, suggestion("sort.md", "a"), 0).dismiss(minute(50)).unwrap()];
        assert_eq!(decide(&dismissed, &suggestion("sort.md", "b"), 169), Err(SuggestionDrop::Unwanted));
        assert_eq!(decide(&dismissed, &suggestion("sort.md", "b"), 170), Ok(()));
        assert_eq!(decide(&dismissed, &suggestion("other.md", "b"), 60), Ok(()));
    }

    #[test]
    fn few_wait_and_few_are_kept_within_an_hour() {
        let mut all: Vec<_> = (1..=5).map(|one| kept(one, suggestion("a.md", &one.to_string()), 0)).collect();
        assert_eq!(decide(&all, &suggestion("b.md", ""), 59), Err(SuggestionDrop::Full));
        all[0] = all[0].accept(RunId::from_bytes([2; 16]), minute(1)).unwrap();
        assert_eq!(decide(&all, &suggestion("b.md", ""), 59), Ok(()));
        all.push(kept(6, suggestion("b.md", ""), 2));
        all[1] = all[1].accept(RunId::from_bytes([3; 16]), minute(2)).unwrap();
        assert_eq!(decide(&all, &suggestion("c.md", ""), 59), Err(SuggestionDrop::TooMany));
        assert_eq!(decide(&all, &suggestion("c.md", ""), 60), Ok(()));
    }

    #[test]
    fn a_suggestion_is_decided_once() {
        let one = kept(7, suggestion("a.md", ""), 0);
        let accepted = one.accept(RunId::from_bytes([2; 16]), minute(1)).unwrap();
        assert_eq!(accepted.dismiss(minute(2)), Err(SuggestionRefusal::Accepted(7)));
        let dismissed = one.dismiss(minute(1)).unwrap();
        assert_eq!(dismissed.accept(one.run, minute(2)), Err(SuggestionRefusal::Dismissed(7)));
    }
}
