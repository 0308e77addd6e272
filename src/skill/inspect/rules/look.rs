use std::collections::BTreeSet;

use crate::skill::inspect::{Issue, Rule};

/// What a script may use.
#[derive(Clone, Debug, Default)]
pub(in crate::skill::inspect) struct Given {
    /// The variables that are declared, or set by what it loads.
    pub(in crate::skill::inspect) env: BTreeSet<String>,
    /// Whether it may use the network.
    pub(in crate::skill::inspect) net: bool,
    /// The private places that it may read.
    pub(in crate::skill::inspect) places: BTreeSet<&'static str>,
}

/// Whoever looks at a file.
#[derive(Debug)]
pub(in crate::skill::inspect) struct Look<'a> {
    /// The file.
    pub(in crate::skill::inspect) file: &'a str,
    /// What it may use.
    pub(in crate::skill::inspect) given: &'a Given,
    /// What was found.
    pub(in crate::skill::inspect) issues: Vec<Issue>,
    /// How deeply programs stand in programs.
    pub(in crate::skill::inspect) depth: usize,
    /// What was said already: of a variable or a module once is enough.
    said: BTreeSet<(Rule, String)>,
}

/// How deeply programs that stand in programs are followed.
const DEEPEST: usize = 6;

impl<'a> Look<'a> {
    pub(in crate::skill::inspect) fn new(file: &'a str, given: &'a Given) -> Self {
        Self {
            file,
            given,
            issues: Vec::new(),
            depth: 0,
            said: BTreeSet::new(),
        }
    }

    pub(super) fn find(&mut self, rule: Rule, at: usize, message: impl Into<String>) {
        self.issues.push(Issue::new(rule, self.file, at, message));
    }

    pub(super) fn once(&mut self, (rule, of): (Rule, &str), at: usize, message: impl Into<String>) {
        if self.said.insert((rule, of.to_owned())) {
            let issue = Issue::new(rule, self.file, at, message);
            self.issues.push(issue.about(of));
        }
    }

    /// Something reaches the network.
    pub(super) fn net(&mut self, what: &str, at: usize) {
        let rule = if self.given.net {
            Rule::NetDeclared
        } else {
            Rule::NetUndeclared
        };
        self.once((rule, what), at, format!("`{what}` reaches the network"));
    }

    /// A variable of the environment is read.
    pub(super) fn reads(&mut self, name: &str, at: usize) {
        if !super::env::is_known(name) && !self.given.env.contains(name) {
            let message = format!("it reads the variable {name}, which is not declared");
            self.once((Rule::EnvUndeclared, name), at, message);
        }
    }

    /// A path is named at which something private is kept.
    pub(super) fn path(&mut self, path: &str, at: usize) {
        if let Some((part, what)) = super::private(path)
            && part != "~"
            && !self.given.places.contains(part)
        {
            let home = if part.starts_with('.') { "~/" } else { "" };
            let place = format!("{home}{part}");
            let message = format!("it names {place}: {what}");
            self.once((Rule::PrivatePlace, &place), at, message);
        }
    }

    /// Looks at a program that stands in another.
    pub(super) fn deeper(&mut self, at: usize, look: impl FnOnce(&mut Self)) {
        if self.depth >= DEEPEST {
            self.find(
                Rule::TooNested,
                at,
                "programs stand in programs more deeply than is followed",
            );
            return;
        }
        self.depth += 1;
        look(self);
        self.depth -= 1;
    }
}
