use std::collections::BTreeMap;

use super::{RiskDirection, SummaryLine, SummaryLineKind, key_value::KeyValue, plans::ShownPlans};

/// Gathers lines. No two of them have the same path.
#[derive(Default)]
pub struct SummaryBuilder {
    lines: Vec<SummaryLine>,
    plan: String,
    part: String,
    /// The begin of the keys of the following lines, with a dot at its end; empty: there is none.
    above: String,
    path_counts: BTreeMap<String, u32>,
    /// The plans and gates that are shown, or will be.
    pub(crate) shown_plans: ShownPlans,
}

impl SummaryBuilder {
    /// Begins with the lines of a part.
    pub fn of_part(part: &str) -> Self {
        Self { part: part.to_owned(), ..Self::default() }
    }

    /// Assigns the following lines to the plan of a file; empty: the plan to be approved.
    pub(crate) fn set_plan(&mut self, path: &str) {
        path.clone_into(&mut self.plan);
        self.part.clear();
    }

    /// Assigns the following lines to a part of the plan.
    pub(crate) fn set_part(&mut self, within: &str) {
        within.clone_into(&mut self.part);
    }

    /// Adds lines whose keys begin with a key.
    pub(crate) fn below(&mut self, key: &str, add: impl FnOnce(&mut Self)) {
        let length = self.above.len();
        self.above.push_str(key);
        self.above.push('.');
        add(self);
        self.above.truncate(length);
    }

    /// Adds the lines of a key.
    pub fn add(
        &mut self,
        kind: SummaryLineKind,
        risk: fn(f64) -> RiskDirection,
        key: &str,
        value: impl KeyValue,
        is_default: bool,
    ) {
        for shown in value.lines() {
            let mut line = SummaryLine {
                plan: self.plan.clone(),
                part: self.part.clone(),
                key: format!("{}{key}{}", self.above, shown.suffix),
                kind,
                text: shown.text,
                risk: risk(shown.amount),
                is_default,
            };
            let times = self.path_counts.entry(line.path()).or_insert(0);
            *times += 1;
            if *times > 1 {
                line.key = format!("{} ({times})", line.key);
            }
            self.lines.push(line);
        }
    }

    /// Returns the lines, in the order in which they were added.
    pub fn lines(self) -> Vec<SummaryLine> {
        self.lines
    }
}
