//! One act of a browser on several runs: what it will do to each, and then what it did. Each run is acted on by itself, is
//! recorded by itself, and is refused by itself.

use serde::Serialize;

use super::{request_cancel, request_retry_after};
use crate::{
    Caller, CommandError,
    plan_start::{load_at, signature_reason},
    retry::require_repeatable,
    specs::load::LoadedPlan,
    views::{StateReader, find_run, state_reader},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use wf_base::{keywords, name::RunId, time::Moment, untrusted::plain};
use wf_report::record::RunLifecycle;
use wf_store::{RunRow, RunState};

/// The most runs of one act: a page of the list.
pub const MAX_SELECTED: usize = 50;

/// The time to act on further runs: a browser waits for the answer.
const MAX_TIME: Duration = Duration::from_secs(25);

keywords! {
    /// An act on runs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RunAct {
        Cancel = "cancel",
        Retry = "retry",
    }
}

/// A run as a person has picked it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PickedRun {
    /// The beginning of its id.
    pub run: String,
    /// The number of its retries known to the person; `None`: nobody has shown them.
    pub repeats: Option<usize>,
}

impl PickedRun {
    /// Reads the text of a field: an id, and behind a point the number of known retries.
    pub fn parse(text: &str) -> Self {
        let (run, repeats) = text.split_once('.').unwrap_or((text, ""));
        Self { run: run.to_owned(), repeats: repeats.parse().ok() }
    }
}

/// A selected run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SelectedRun {
    /// Its id; the picked text if there is no such run.
    pub id: String,
    pub plan: String,
    /// The word for its state; `None`: there is no such run.
    pub life: Option<&'static str>,
    pub created: Option<Moment>,
    /// The effect on it in words, to come or past; or the reason why there is none.
    pub effect: String,
    /// True if the act does something to it, or did.
    pub is_affected: bool,
    /// The number of its retries.
    pub repeats: usize,
    /// The run started by the act.
    pub started: Option<RunId>,
}

impl SelectedRun {
    fn missing(picked: &PickedRun) -> Self {
        Self {
            id: picked.run.clone(),
            plan: String::new(),
            life: None,
            created: None,
            effect: "There is no such run, or there are several whose ids begin so.".to_owned(),
            is_affected: false,
            repeats: 0,
            started: None,
        }
    }

    fn of(reader: &StateReader, run: &RunId) -> Result<(Self, RunRow), CommandError> {
        let row = reader.store().runs().get(run)?;
        let owner = match row.state {
            RunState::Running => reader.store().leases().owner(run)?,
            RunState::Ended(_) => None,
        };
        let selected = Self {
            id: run.to_string(),
            plan: row.plan.clone(),
            life: Some(RunLifecycle::of(&row, owner).as_str()),
            created: Some(row.created),
            effect: String::new(),
            is_affected: false,
            repeats: reader.store().runs().repeats(run)?.len(),
            started: None,
        };
        Ok((selected, row))
    }
}

/// Returns the selected runs, with the effect of an act on each.
pub fn selected_runs(
    caller: &dyn Caller,
    act: RunAct,
    picked: &[PickedRun],
) -> Result<Vec<SelectedRun>, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(picked.iter().map(SelectedRun::missing).collect());
    };
    let mut plans = RetriedPlans::default();
    let mut selected_rows = Vec::with_capacity(picked.len());
    let mut found = BTreeSet::new();
    for one in picked {
        let Some(run) = find_run(&reader, &one.run)? else {
            selected_rows.push(SelectedRun::missing(one));
            continue;
        };
        // The beginnings of one id are one run.
        if !found.insert(run.clone()) {
            continue;
        }
        let (mut selected, row) = SelectedRun::of(&reader, &run)?;
        let refused = match act {
            RunAct::Cancel => cancel_refusal(&row),
            RunAct::Retry => match retry_refusal(caller, &reader, &row)? {
                None => plans.refusal(caller, &row)?,
                refused => refused,
            },
        };
        selected.is_affected = refused.is_none();
        selected.effect = refused.unwrap_or_else(|| effect(act, &selected, &row));
        selected_rows.push(selected);
    }
    Ok(selected_rows)
}

/// The plans of retried runs as they are now. Each is read once, however many runs it has.
#[derive(Default)]
struct RetriedPlans(BTreeMap<String, Result<LoadedPlan, String>>);

impl RetriedPlans {
    /// Returns the reason why a retry of a run would be refused by its plan.
    fn refusal(&mut self, caller: &dyn Caller, row: &RunRow) -> Result<Option<String>, CommandError> {
        let read = |path: &str| load_at(caller, path).map_err(|error| sentence(caller, &error));
        let loaded = self.0.entry(row.path.clone()).or_insert_with(|| read(&row.path));
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(reason) => return Ok(Some(format!("Nothing: {reason}"))),
        };
        let reason = signature_reason(caller, loaded)?;
        Ok(reason.map(|reason| format!("An approver signs for it, since {reason}.")))
    }
}

/// Returns the effect of an act on a run it is possible for.
fn effect(act: RunAct, selected: &SelectedRun, row: &RunRow) -> String {
    match act {
        RunAct::Cancel if selected.life == Some(RunLifecycle::Running.as_str()) => {
            "Its steps are ended, its `finally` steps run, and it ends as cancelled.".to_owned()
        }
        RunAct::Cancel => "Its `finally` steps run, and it ends as cancelled.".to_owned(),
        RunAct::Retry => {
            let first =
                row.failed_step.as_ref().map(|step| format!(", from `{step}` on")).unwrap_or_default();
            let before = match selected.repeats {
                0 => String::new(),
                1 => " It was retried once already.".to_owned(),
                count => format!(" It was retried {count} times already."),
            };
            format!("A new run repeats what did not succeed{first}, with the files as they are now.{before}")
        }
    }
}

fn cancel_refusal(row: &RunRow) -> Option<String> {
    match row.state {
        RunState::Ended(outcome) => Some(format!("Nothing: it has ended, {}.", outcome.as_str())),
        RunState::Running if row.parent.is_some() => {
            Some("Nothing: it is part of another run, which can be cancelled.".to_owned())
        }
        RunState::Running => None,
    }
}

fn retry_refusal(
    caller: &dyn Caller,
    reader: &StateReader,
    row: &RunRow,
) -> Result<Option<String>, CommandError> {
    if let Some(last) = reader.store().runs().repeats(&row.id)?.last()
        && reader.store().runs().get(last)?.state == RunState::Running
    {
        return Ok(Some(format!("Nothing: run `{}` retries it already.", last.short())));
    }
    let refused = require_repeatable(reader.store(), row).err();
    Ok(refused.map(|error| format!("Nothing: {}", sentence(caller, &error))))
}

/// Does an act to each of the selected runs, and returns its effect on each.
pub fn act_on_runs(caller: &dyn Caller, act: RunAct, picked: &[PickedRun]) -> Vec<SelectedRun> {
    let begun = caller.host().now();
    let picked = each_once(caller, picked);
    let done = picked.iter().map(|one| {
        if caller.host().now().since(begun) > MAX_TIME {
            let late = "Nothing yet: the others took long. Select it again.".to_owned();
            return SelectedRun { effect: late, ..SelectedRun::missing(one) };
        }
        act_on(caller, act, one).unwrap_or_else(|error| SelectedRun {
            effect: format!("Nothing: {}", sentence(caller, &error)),
            ..SelectedRun::missing(one)
        })
    });
    done.collect()
}

/// Returns the picked runs, each once: the beginnings of one id are one run.
fn each_once(caller: &dyn Caller, picked: &[PickedRun]) -> Vec<PickedRun> {
    let Ok(Some(reader)) = state_reader(caller) else {
        return picked.to_vec();
    };
    let mut found = BTreeSet::new();
    let is_new = |one: &&PickedRun| match find_run(&reader, &one.run) {
        Ok(Some(run)) => found.insert(run),
        _ => true,
    };
    picked.iter().filter(is_new).cloned().collect()
}

fn act_on(caller: &dyn Caller, act: RunAct, picked: &PickedRun) -> Result<SelectedRun, CommandError> {
    let find = || match state_reader(caller)? {
        Some(reader) => Ok::<_, CommandError>(find_run(&reader, &picked.run)?.map(|run| (reader, run))),
        None => Ok(None),
    };
    let Some((reader, run)) = find()? else {
        return Ok(SelectedRun::missing(picked));
    };
    let (selected, row) = SelectedRun::of(&reader, &run)?;
    let refused = |effect: String| Ok(SelectedRun { effect, ..selected.clone() });
    drop(reader);
    let done = match (act, picked.repeats) {
        (RunAct::Cancel, _) => match cancel_refusal(&row) {
            Some(reason) => return refused(reason),
            None => request_cancel(caller, &run).map(|()| None),
        },
        (RunAct::Retry, Some(known)) if known <= selected.repeats => {
            request_retry_after(caller, &run, known).map(Some)
        }
        // Else a form with no number, or a higher one, would start a run each time that it is sent.
        (RunAct::Retry, _) => return refused("Nothing: select it in the list.".to_owned()),
    };
    // As it is now: the act has changed it.
    let Some((reader, run)) = find()? else {
        return Ok(SelectedRun::missing(picked));
    };
    let (selected, row) = SelectedRun::of(&reader, &run)?;
    let effect = match &done {
        Ok(Some(_)) => "Retried.".to_owned(),
        Ok(None) if row.state == RunState::Running => "Told to end: it is still ending.".to_owned(),
        Ok(None) => "Cancelled.".to_owned(),
        Err(error) => format!("Nothing: {}", sentence(caller, error)),
    };
    Ok(SelectedRun { effect, is_affected: done.is_ok(), started: done.unwrap_or_default(), ..selected })
}

/// Returns the message and the hints of a failure in one text.
fn sentence(caller: &dyn Caller, error: &CommandError) -> String {
    let text = plain(&caller.failure_text(error));
    let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim()).replace("\nhint: ", "; ");
    if text.is_empty() { "the file of its plan has problems".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::PickedRun;

    #[test]
    fn a_picked_run_says_which_retries_were_known() {
        let read = |text: &str| {
            let PickedRun { run, repeats } = PickedRun::parse(text);
            (run, repeats)
        };
        assert_eq!(read("1a2b"), ("1a2b".to_owned(), None));
        assert_eq!(read("1a2b.3"), ("1a2b".to_owned(), Some(3)));
        assert_eq!(read("1a2b.x"), ("1a2b".to_owned(), None));
        assert_eq!(read(""), (String::new(), None));
    }
}
