use std::collections::BTreeMap;

use super::{Kind, Line, Sense};

/// Gathers lines. No two of them have the same path.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    lines: Vec<Line>,
    plan: String,
    within: String,
    taken: BTreeMap<String, u32>,
}

impl Sheet {
    /// What follows belongs to the plan of a file; empty: the plan that is asked about.
    pub(super) fn of_plan(&mut self, path: &str) {
        path.clone_into(&mut self.plan);
        self.within.clear();
    }

    /// What follows belongs to a part of the plan.
    pub(super) fn inside(&mut self, within: &str) {
        within.clone_into(&mut self.within);
    }

    /// Adds a line.
    pub(super) fn put(&mut self, kind: Kind, sense: Sense, key: &str, text: impl Into<String>) {
        let mut line = Line {
            plan: self.plan.clone(),
            within: self.within.clone(),
            key: key.to_owned(),
            kind,
            text: text.into(),
            sense,
            usual: false,
        };
        let times = self.taken.entry(line.path()).or_insert(0);
        *times += 1;
        if *times > 1 {
            line.key = format!("{key} ({times})");
        }
        self.lines.push(line);
    }

    /// Says of the last line that it holds where nothing is said.
    pub(super) fn usual(&mut self, usual: bool) {
        if let Some(line) = self.lines.last_mut() {
            line.usual = usual;
        }
    }

    /// Adds a line for each of a list, whose key ends with what it says.
    pub(super) fn each(&mut self, kind: Kind, sense: Sense, key: &str, texts: &[String]) {
        for text in texts {
            self.put(kind, sense, &format!("{key}[{text}]"), text);
        }
    }

    /// The lines, in the order in which they were added.
    pub(super) fn lines(self) -> Vec<Line> {
        self.lines
    }
}
