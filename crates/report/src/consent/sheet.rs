use std::collections::BTreeMap;

use super::{RiskDirection, SummaryLine, SummaryLineKind};

/// Gathers lines. No two of them have the same path.
#[derive(Debug, Default)]
pub(super) struct SummaryBuilder {
    lines: Vec<SummaryLine>,
    plan: String,
    part: String,
    path_counts: BTreeMap<String, u32>,
}

impl SummaryBuilder {
    /// Assigns the following lines to the plan of a file; empty: the plan to be approved.
    pub(super) fn set_plan(&mut self, path: &str) {
        path.clone_into(&mut self.plan);
        self.part.clear();
    }

    /// Assigns the following lines to a part of the plan.
    pub(super) fn set_part(&mut self, within: &str) {
        within.clone_into(&mut self.part);
    }

    /// Adds a line.
    pub(super) fn add_line(
        &mut self,
        kind: SummaryLineKind,
        sense: RiskDirection,
        key: &str,
        text: impl Into<String>,
    ) {
        let mut line = SummaryLine {
            plan: self.plan.clone(),
            part: self.part.clone(),
            key: key.to_owned(),
            kind,
            text: text.into(),
            risk: sense,
            is_default: false,
        };
        let times = self.path_counts.entry(line.path()).or_insert(0);
        *times += 1;
        if *times > 1 {
            line.key = format!("{key} ({times})");
        }
        self.lines.push(line);
    }

    /// Marks the last line as a default or not.
    pub(super) fn mark_default(&mut self, usual: bool) {
        if let Some(line) = self.lines.last_mut() {
            line.is_default = usual;
        }
    }

    /// Adds a line for each item of a list, whose key ends with the item.
    pub(super) fn add_each(
        &mut self,
        kind: SummaryLineKind,
        sense: RiskDirection,
        key: &str,
        texts: &[String],
    ) {
        for text in texts {
            self.add_line(kind, sense, &format!("{key}[{text}]"), text);
        }
    }

    /// The lines, in the order in which they were added.
    pub(super) fn lines(self) -> Vec<SummaryLine> {
        self.lines
    }
}
