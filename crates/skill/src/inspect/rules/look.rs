use std::collections::BTreeSet;

use crate::inspect::{InspectionIssue, Rule};

/// The permissions of a script.
#[derive(Clone, Debug, Default)]
pub(in crate::inspect) struct ScriptPermissions {
    /// The variables that are declared, or set by the files it sources.
    pub(in crate::inspect) env: BTreeSet<String>,
    /// True if it may use the network.
    pub(in crate::inspect) net: bool,
    /// The private places it may read.
    pub(in crate::inspect) places: BTreeSet<&'static str>,
}

/// An inspection of a file.
#[derive(Debug)]
pub(in crate::inspect) struct FileInspection<'a> {
    pub(in crate::inspect) file: &'a str,
    pub(in crate::inspect) permissions: &'a ScriptPermissions,
    /// The issues found.
    pub(in crate::inspect) issues: Vec<InspectionIssue>,
    /// The nesting depth of programs in programs.
    pub(in crate::inspect) depth: usize,
    /// The issues already reported: one per variable or module is enough.
    reported: BTreeSet<(Rule, String)>,
}

/// The maximum nesting of programs in programs that is followed.
const DEEPEST: usize = 6;

impl<'a> FileInspection<'a> {
    pub(in crate::inspect) fn new(file: &'a str, permissions: &'a ScriptPermissions) -> Self {
        Self { file, permissions, issues: Vec::new(), depth: 0, reported: BTreeSet::new() }
    }

    pub(super) fn report(&mut self, rule: Rule, at: usize, message: impl Into<String>) {
        self.issues.push(InspectionIssue::new(rule, self.file, at, message));
    }

    pub(super) fn report_once(&mut self, rule: Rule, of: &str, at: usize, message: impl Into<String>) {
        if self.reported.insert((rule, of.to_owned())) {
            let issue = InspectionIssue::new(rule, self.file, at, message);
            self.issues.push(issue.with_subject(of));
        }
    }

    /// Records an access to the network.
    pub(super) fn net(&mut self, tool: &str, at: usize) {
        let rule = if self.permissions.net { Rule::NetDeclared } else { Rule::NetUndeclared };
        self.report_once(rule, tool, at, format!("`{tool}` uses the network"));
    }

    /// Records that an environment variable is read.
    pub(super) fn reads(&mut self, name: &str, at: usize) {
        if !super::lists::is_known_variable(name) && !self.permissions.env.contains(name) {
            let message = format!("it reads the undeclared variable {name}");
            self.report_once(Rule::EnvUndeclared, name, at, message);
        }
    }

    /// Checks a path for private content.
    pub(super) fn path(&mut self, path: &str, at: usize) {
        if let Some((part, meaning)) = super::private_content(path)
            && part != "~"
            && !self.permissions.places.contains(part)
        {
            let home = if part.starts_with('.') { "~/" } else { "" };
            let place = format!("{home}{part}");
            let message = format!("it refers to {place}: {meaning}");
            self.report_once(Rule::PrivatePlace, &place, at, message);
        }
    }

    /// Checks a program nested in another.
    pub(super) fn inspect_nested(&mut self, at: usize, look: impl FnOnce(&mut Self)) {
        if self.depth >= DEEPEST {
            self.report(Rule::TooNested, at, "programs are nested too deeply to analyze");
            return;
        }
        self.depth += 1;
        look(self);
        self.depth -= 1;
    }
}
