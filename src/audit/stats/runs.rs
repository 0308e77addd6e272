use std::collections::BTreeMap;

use serde_json::Value;

use super::place::Place;
use super::{GapTrend, Thrash};
use crate::audit::Entry;
use crate::name::RunId;
use crate::time::Moment;

/// What happened in one run, as far as it was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Life {
    /// When it began; `None`: that was not seen.
    pub began: Option<Moment>,
    ended: bool,
    places: BTreeMap<String, Place>,
}

/// The runs of a window.
pub(super) type Lives = BTreeMap<RunId, Life>;

impl Life {
    /// Takes an event into account; gives what no role may cause.
    pub(super) fn see(&mut self, run: &RunId, entry: &Entry) -> Option<String> {
        let short = run.short();
        let kind = entry.kind.as_str();
        if self.ended {
            return Some(format!("run {short}: {kind} came after its end"));
        }
        match kind {
            "run_started" => {
                let again = self.began.replace(entry.at).is_some();
                return again.then(|| format!("run {short} began twice"));
            }
            "run_ended" => self.ended = true,
            "round_closed" => self.reopen(entry),
            _ => {}
        }
        let place = entry.place.as_ref()?;
        let wrong = self.at_place(place, entry)?;
        Some(format!("run {short}: {place} {wrong}"))
    }

    /// Lets what another round reopens end again.
    fn reopen(&mut self, entry: &Entry) {
        let named = entry.about.get("reopened").and_then(Value::as_array);
        // Older records do not say which steps a round reopens.
        let all = entry.word("directive").is_none();
        for (name, place) in &mut self.places {
            let step = name.split('[').next();
            if all || named.is_some_and(|steps| steps.iter().any(|one| one.as_str() == step)) {
                place.reopen();
            }
        }
    }

    fn at_place(&mut self, name: &str, entry: &Entry) -> Option<String> {
        let place = self.places.entry(name.to_owned()).or_default();
        let attempt = entry.number("attempt").unwrap_or(0);
        match entry.kind.as_str() {
            "attempt_started" => place.began(attempt),
            "attempt_ended" => {
                // Of a run whose beginning was not seen the attempt may have begun before, too.
                let known = place.ended(entry, attempt) || self.began.is_none();
                return (!known)
                    .then(|| format!("ended attempt {attempt}, which was not under way"));
            }
            "criterion_judged" => {
                let verdict = entry.about.get("verdict")?;
                let word = |key: &str| verdict.get(key).and_then(Value::as_str);
                let ruled = (word("ruling") == Some("pass"), word("class"));
                place.judged(attempt, word("name")?, ruled);
            }
            "step_ended" => {
                let again = !place.is_over(entry.word("state"));
                return again.then(|| "ended twice".to_owned());
            }
            _ => {}
        }
        None
    }

    /// A place, if something happened there.
    pub(super) fn place(&self, name: &str) -> Option<&Place> {
        self.places.get(name)
    }

    pub(super) fn trends<'a>(&'a self, run: &'a RunId) -> impl Iterator<Item = GapTrend> + 'a {
        let all = self.places.iter();
        all.filter_map(move |(name, place)| place.trend(run, name))
    }

    pub(super) fn thrashing<'a>(&'a self, run: &'a RunId) -> impl Iterator<Item = Thrash> + 'a {
        let all = self.places.iter();
        all.filter_map(move |(name, place)| place.thrash(run, name))
    }
}
