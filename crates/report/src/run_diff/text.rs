use std::{fmt::Write as _, time::Duration};

use serde_json::Value;

use super::{DifferingEntry, RunDiff, RunIdentity, ValueDifference, difference::DURATION};
use wf_base::{
    units::{elapsed, fit, moment, plural},
    untrusted::{BAD, BOLD, DIM, GOOD, NAME, paint, untrusted},
};
use wf_model::Money;

/// The most characters of a value.
const VALUE_WIDTH: usize = 60;

/// The digits of a digest that are shown.
const DIGEST_WIDTH: usize = 12;

impl RunDiff {
    /// Returns the differences as text.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", head("-", &self.before), head("+", &self.after));
        for part in &self.parts {
            let _ = writeln!(text, "\n{}", paint(BOLD, part.part.as_str()));
            part.entries.iter().for_each(|entry| text.push_str(&entry_text(entry)));
        }
        let ending = match (self.count(), self.is_same()) {
            (0, _) => "no difference".to_owned(),
            (count, true) => format!("no difference but in {}", plural(count, "duration")),
            (count, false) => plural(count, "difference"),
        };
        let _ = writeln!(text, "\n{ending}");
        text
    }
}

fn head(mark: &str, run: &RunIdentity) -> String {
    let plan = untrusted(&run.plan);
    let life = paint(run.life.style(), run.life.as_str());
    format!("{mark} run {} · {plan} · {} · {life}", paint(NAME, run.run.short()), moment(run.created))
}

fn entry_text(entry: &DifferingEntry) -> String {
    let mut text = format!("  {}\n", untrusted(&entry.name));
    let width = entry.values.iter().map(|value| value.field.chars().count()).max().unwrap_or(0);
    for value in &entry.values {
        let field = paint(DIM, &format!("{:<width$}", untrusted(&value.field).to_string()));
        let _ = writeln!(text, "    {field}  {}", change_text(value));
    }
    text
}

fn change_text(value: &ValueDifference) -> String {
    let [before, after] =
        [&value.before, &value.after].map(|side| side.as_ref().map(|side| shown(&value.field, side)));
    match (before, after) {
        (Some(before), Some(after)) if before == after => format!("{before} → another one; see --json"),
        (before, after) => {
            let [before, after] = [before, after].map(|side| side.unwrap_or_else(|| "none".into()));
            format!("{} → {}", paint(BAD, &before), paint(GOOD, &after))
        }
    }
}

/// A value for people: on one line, and not longer than that.
fn shown(field: &str, value: &Value) -> String {
    let number = value.as_u64();
    match (field, number) {
        (DURATION, Some(millis)) => return elapsed(Duration::from_millis(millis)),
        ("cost_micro_usd", Some(micros)) => return Money::of_micros(micros).to_string(),
        _ => {}
    }
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let width =
        if matches!(field, "digest" | "definition" | "plan_digest") { DIGEST_WIDTH } else { VALUE_WIDTH };
    untrusted(&fit(&text, width)).to_string()
}
