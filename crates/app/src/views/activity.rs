use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    sentence::{ActivitySentence, ToldRun, health_sentence, pause_sentence, run_sentence, state_sentence},
    state_reader,
    suggestions::RecordedSuggestionRow,
};
use crate::{Caller, CommandError};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::machine::EventKind;
use wf_store::{LogRow, RunRow, StateEvent, StateFact, StoreReader};

const PAGE_SENTENCES: usize = 50;

/// The events that are read from the log at once, and the most that one page searches.
const WINDOW: u64 = 500;
const MAX_EVENTS: u64 = 10_000;

/// A choice of sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityQuery {
    /// The text in a sentence, in any case of letters; empty: any.
    pub text: String,
    /// The plan or the goal that it is about; empty: any.
    pub plan: String,
    /// The person in it; empty: any.
    pub person: String,
    /// The number of the event of the log before which it happened; `None`: the end of the log.
    pub before: Option<u64>,
}

/// A page of sentences about what was done.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct ActivityPage {
    /// The sentences, newest first.
    pub lines: Vec<ActivityLine>,
    /// The number of the event before which the next page begins; `None`: there are no older ones.
    pub older: Option<u64>,
}

/// A sentence about what was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActivityLine {
    /// The number of its event in the log.
    pub event: u64,
    pub at: Moment,
    /// The word for its kind.
    pub kind: &'static str,
    /// The sentence.
    pub text: String,
    pub people: Vec<String>,
    /// The plan of its run.
    pub plan: Option<PlanId>,
    pub run: Option<RunId>,
    pub goal: Option<String>,
    /// The moment until which its run can be undone, if it tells of the end of that and there is time.
    pub undo_until: Option<Moment>,
}

/// Returns a page of what was done. It is searched backwards, and no further than some thousand events.
pub fn activity_page(caller: &dyn Caller, query: &ActivityQuery) -> Result<ActivityPage, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(ActivityPage::default());
    };
    let now = caller.host().now();
    let reader = reader.store();
    let end = reader.log().end()?.map_or(0, |end| end.seq);
    let mut before = query.before.unwrap_or(u64::MAX).min(end + 1);
    let last = before.saturating_sub(MAX_EVENTS);
    let mut page = ActivityPage::default();
    while before > 1 && before > last {
        let after = before.saturating_sub(WINDOW + 1).max(last.saturating_sub(1));
        let count = usize::try_from(before - 1 - after).unwrap_or(usize::MAX);
        for row in reader.log().rows(after, count)?.iter().rev() {
            let lines = lines_of(reader, row, now)?;
            page.lines.extend(lines.into_iter().filter(|line| query.admits(line)));
            if page.lines.len() >= PAGE_SENTENCES {
                page.older = (row.position.seq > 1).then_some(row.position.seq);
                return Ok(page);
            }
        }
        before = after + 1;
    }
    page.older = (before > 1).then_some(before);
    Ok(page)
}

impl ActivityQuery {
    fn admits(&self, line: &ActivityLine) -> bool {
        let plan = line.plan.as_ref().map(PlanId::as_str);
        let has_text = line.text.to_lowercase().contains(&self.text.to_lowercase());
        let has_person = self.person.is_empty() || line.people.contains(&self.person);
        let names = [plan, line.goal.as_deref()];
        has_text && has_person && (self.plan.is_empty() || names.contains(&Some(self.plan.as_str())))
    }
}

/// Returns the sentences about an event of the log: rows of several goals may be recorded by one.
fn lines_of(reader: &StoreReader, row: &LogRow, now: Moment) -> Result<Vec<ActivityLine>, CommandError> {
    let line = |at, sentence: ActivitySentence| ActivityLine {
        event: row.position.seq,
        at,
        kind: sentence.kind,
        text: sentence.text,
        people: sentence.people,
        plan: row.plan.clone(),
        run: row.run.clone(),
        goal: None,
        undo_until: None,
    };
    if let (Some(event), Some(run), Some(plan)) = (&row.event, &row.run, &row.plan) {
        let (took, undo_until) = match event.fact {
            EventKind::RunEnded { .. } => {
                let ended = reader.runs().get(run)?;
                (ended.duration(), undo_until(reader, &ended, now)?)
            }
            _ => (None, None),
        };
        let run = ToldRun { plan: plan.as_str(), is_nested: row.parent.is_some(), took };
        let sentence = run_sentence(&event.fact, &run);
        let line = sentence.map(|sentence| ActivityLine { undo_until, ..line(event.at, sentence) });
        return Ok(line.into_iter().collect());
    }
    let Some(StateEvent { at, fact }) = &row.state else {
        return Ok(Vec::new());
    };
    let mut lines: Vec<ActivityLine> =
        state_sentence(fact).map(|sentence| line(*at, sentence)).into_iter().collect();
    if let StateFact::RowsRecorded { tables, .. } = fact {
        let rows = |table: &str| tables.get(table).map_or(&[][..], |change| &change.rows);
        for row in rows("reconciliations") {
            lines.extend(reconciliation_line(reader, *at, row, &line)?);
        }
        lines.extend(rows("suggestions").iter().filter_map(|suggestion_row| {
            let row = RecordedSuggestionRow::deserialize(suggestion_row).ok()?;
            let (plan, run) = (Some(row.plan.clone()), Some(row.run()));
            Some(ActivityLine { plan, run, ..line(*at, row.sentence()) })
        }));
        lines.extend(rows("goals").iter().filter_map(|goal_row| {
            let row = RecordedGoalRow::deserialize(goal_row).ok()?;
            let sentence = row.sentence(*at)?;
            Some(ActivityLine { goal: Some(row.goal), ..line(*at, sentence) })
        }));
    }
    Ok(lines)
}

/// Returns the moment until which a run can be undone; `None`: it cannot, or not any more.
fn undo_until(reader: &StoreReader, run: &RunRow, now: Moment) -> Result<Option<Moment>, CommandError> {
    let Some(offer) = run.undo.as_ref().filter(|offer| now < offer.until) else {
        return Ok(None);
    };
    let may_be = offer.decide(&reader.runs().undos(&run.id)?, now).is_ok();
    Ok(may_be.then_some(offer.until))
}

/// Returns the sentence about a recorded reconciliation, if that is when it ended and its goal is not as it was.
fn reconciliation_line(
    reader: &StoreReader,
    at: Moment,
    recorded: &Value,
    line: &dyn Fn(Moment, ActivitySentence) -> ActivityLine,
) -> Result<Option<ActivityLine>, CommandError> {
    let Some(run) = recorded.get(0).and_then(Value::as_str) else {
        return Ok(None);
    };
    let Some(cycle) = reader.reconciliations().find(&RunId::from_stored(run.to_owned()))? else {
        return Ok(None);
    };
    let Some((_, health, reason)) = cycle.ended.as_ref().filter(|(ended, ..)| *ended == at) else {
        return Ok(None);
    };
    let before = reader.reconciliations().health_before(&cycle)?;
    let health_change = health_sentence(cycle.goal.as_str(), *health, before, reason);
    let goal = Some(cycle.goal.as_str().to_owned());
    let run = Some(cycle.repair.clone().unwrap_or_else(|| cycle.run.clone()));
    Ok(health_change.map(|sentence| ActivityLine { run, goal, ..line(at, sentence) }))
}

/// A row of the table `goals`, as the log has it: the values of its columns, in order.
#[derive(Deserialize)]
struct RecordedGoalRow {
    goal: String,
    #[serde(rename = "path")]
    _path: Value,
    #[serde(rename = "timing")]
    _timing: Value,
    #[serde(rename = "decided_until")]
    _decided_until: Value,
    paused_at: Option<i64>,
    reason: String,
    resumed_at: Option<i64>,
    #[serde(rename = "deployment")]
    _deployment: Value,
}

impl RecordedGoalRow {
    /// Returns the sentence if the row was recorded because its pause began or ended.
    fn sentence(&self, at: Moment) -> Option<ActivitySentence> {
        let at = Some(at.millis());
        if self.paused_at == at {
            Some(pause_sentence(&self.goal, Some(&self.reason)))
        } else if self.paused_at.is_none() && self.resumed_at == at {
            Some(pause_sentence(&self.goal, None))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pause_is_told_of_when_it_begins_and_ends() {
        let suspension_text = |since: Value, resumed: Value, at: i64| {
            let row = json!(["mirror", "goals/mirror.md", {}, 1, since, "rain", resumed, null]);
            RecordedGoalRow::deserialize(&row)
                .unwrap()
                .sentence(Moment::from_millis(at))
                .map(|sentence| sentence.text)
        };
        assert_eq!(suspension_text(json!(5), Value::Null, 5).unwrap(), "the goal `mirror` was paused: rain");
        assert_eq!(suspension_text(json!(5), Value::Null, 6), None, "another decision in the pause");
        assert_eq!(suspension_text(Value::Null, json!(7), 7).unwrap(), "the goal `mirror` was resumed");
        assert_eq!(suspension_text(Value::Null, json!(7), 8), None);
        assert!(RecordedGoalRow::deserialize(&json!(["mirror"])).is_err());
    }

    #[test]
    fn a_query_admits_what_has_all_of_it() {
        let line = ActivityLine {
            event: 1,
            at: Moment::default(),
            kind: "approved",
            text: "robin approved `agree` of `release`".into(),
            people: vec!["robin".into()],
            plan: PlanId::parse("release").ok(),
            run: None,
            goal: None,
            undo_until: None,
        };
        let query = |text: &str, plan: &str, person: &str| ActivityQuery {
            text: text.into(),
            plan: plan.into(),
            person: person.into(),
            before: None,
        };
        assert!(query("", "", "").admits(&line));
        assert!(query("APPROVED", "release", "robin").admits(&line));
        assert!(!query("denied", "", "").admits(&line));
        assert!(!query("", "deploy", "").admits(&line));
        assert!(!query("", "", "sam").admits(&line));
    }
}
