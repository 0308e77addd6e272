use std::collections::BTreeMap;

use serde_json::Value;

use super::{GapTrend, ThrashPattern, place::TaskHistory};
use crate::records::record::AuditEntry;
use wf_base::{name::RunId, time::Moment};

/// The known history of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunHistory {
    /// The time of its start; `None`: it was not seen.
    pub started_at: Option<Moment>,
    has_ended: bool,
    tasks: BTreeMap<String, TaskHistory>,
}

/// The runs of a window.
pub(super) type RunHistories = BTreeMap<RunId, RunHistory>;

impl RunHistory {
    /// Adds an event; returns a violation of the roles' boundaries.
    pub(super) fn add_event(&mut self, run: &RunId, entry: &AuditEntry) -> Option<String> {
        let short = run.short();
        let kind = entry.kind.as_str();
        if self.has_ended {
            return Some(format!("run {short}: {kind} after its end"));
        }
        match kind {
            "run_started" => {
                let again = self.started_at.replace(entry.at).is_some();
                return again.then(|| format!("run {short} started twice"));
            }
            "run_ended" => self.has_ended = true,
            "round_completed" => self.reopen(entry),
            _ => {}
        }
        let place = entry.place.as_ref()?;
        let wrong = self.add_task_event(place, entry)?;
        Some(format!("run {short}: {place} {wrong}"))
    }

    /// Reopens the tasks of another round.
    fn reopen(&mut self, entry: &AuditEntry) {
        let named = entry.about.get("reopened").and_then(Value::as_array);
        // Older records do not name the steps that a round reopens.
        let all = entry.summary_text("directive").is_none();
        for (name, place) in &mut self.tasks {
            let step = name.split('[').next();
            if all || named.is_some_and(|steps| steps.iter().any(|one| one.as_str() == step)) {
                place.reopen();
            }
        }
    }

    fn add_task_event(&mut self, name: &str, entry: &AuditEntry) -> Option<String> {
        let place = self.tasks.entry(name.to_owned()).or_default();
        let attempt = entry.summary_number("attempt").unwrap_or(0);
        match entry.kind.as_str() {
            "attempt_started" => place.start_attempt(attempt),
            "attempt_ended" => {
                // If the start of the run was not seen, the attempt may have started before, too.
                let known = place.ended(entry, attempt) || self.started_at.is_none();
                return (!known).then(|| format!("ended attempt {attempt}, which was not running"));
            }
            "check_completed" => {
                let verdict = entry.about.get("verdict")?;
                let word = |key: &str| verdict.get(key).and_then(Value::as_str);
                let passed = word("ruling") == Some("pass");
                place.add_verdict(attempt, word("name")?, passed, word("failure_class"));
            }
            "step_ended" => {
                let again = !place.is_over(entry.summary_text("state"));
                return again.then(|| "ended twice".to_owned());
            }
            _ => {}
        }
        None
    }

    /// Returns a task that has events.
    pub(super) fn place(&self, name: &str) -> Option<&TaskHistory> {
        self.tasks.get(name)
    }

    pub(super) fn trends<'a>(&'a self, run: &'a RunId) -> impl Iterator<Item = GapTrend> + 'a {
        let all = self.tasks.iter();
        all.filter_map(move |(name, place)| place.trend(run, name))
    }

    pub(super) fn thrashing<'a>(&'a self, run: &'a RunId) -> impl Iterator<Item = ThrashPattern> + 'a {
        let all = self.tasks.iter();
        all.filter_map(move |(name, place)| place.thrash(run, name))
    }
}
