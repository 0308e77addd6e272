//! What a skill needs and does not declare, and which of its dangers are accepted: both are shown,
//! signed for, and written into the lock.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::str::FromStr;

use clap::Args;

use super::study::Studied;
use crate::cli::{Exit, Failure};
use crate::report::{BAD, WARN, paint};
use crate::skill::inspect::{Class, Issue, Rule};
use crate::skill::lock::{Locked, LockedFile, locked_files};
use crate::untrusted::untrusted;

/// Which dangers are accepted.
#[derive(Args, Clone, Debug, Default)]
pub struct AcceptArgs {
    /// Accept what a rule finds in a file, as long as the file stays as it is
    #[arg(long, value_name = "RULE:FILE")]
    accept: Vec<Accepted>,
}

/// A rule and a file in which its findings are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    rule: Rule,
    file: String,
}

impl FromStr for Accepted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (code, file) = text
            .split_once(':')
            .ok_or("write the code of a rule and a file: pipe-to-shell:SKILL.md")?;
        let rule = Rule::of(code).ok_or_else(|| format!("no rule has the code `{code}`"))?;
        if matches!(rule, Rule::NotLoaded | Rule::NameForm) {
            return Err(format!("`{code}` cannot be accepted: change the skill"));
        }
        Ok(Self {
            rule,
            file: file.to_owned(),
        })
    }
}

/// On which terms a skill is installed: what it is granted, and which of its dangers are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// What its files need and it does not declare, by file.
    pub granted: BTreeMap<String, BTreeSet<String>>,
    /// The dangers that are accepted: by rule, the files as they are.
    pub exceptions: BTreeMap<String, BTreeMap<String, LockedFile>>,
}

impl Terms {
    /// The terms that a skill needs. Whoever accepts what was not found meant something else.
    pub fn of(studied: &Studied, accept: &AcceptArgs) -> Result<Self, Failure> {
        let files = locked_files(&studied.bundle);
        let mut terms = Self {
            granted: needs(studied),
            ..Self::default()
        };
        for one in &accept.accept {
            let is_it = |issue: &&Issue| issue.rule == one.rule && issue.file == one.file;
            let found = studied.of(Class::Danger).find(is_it);
            let (Some(_), Some(file)) = (found, files.get(&one.file)) else {
                let (code, file) = (one.rule.code(), one.file.escape_debug());
                let message =
                    format!("there is nothing to accept: `{code}` finds no danger in {file}");
                return Err(Failure::new(Exit::Usage, message)
                    .hint("without --accept it says what it finds, and where"));
            };
            let of = terms.exceptions.entry(one.rule.code().to_owned());
            of.or_default().insert(one.file.clone(), *file);
        }
        Ok(terms)
    }

    /// The terms that a lock says.
    pub fn locked(locked: &Locked) -> Self {
        Self {
            granted: locked.granted.clone(),
            exceptions: locked.exceptions.clone(),
        }
    }

    /// Whether a danger is left that nobody accepts.
    pub fn refuse(&self, studied: &Studied) -> bool {
        let files = locked_files(&studied.bundle);
        studied.of(Class::Danger).any(|issue| {
            let of = self.exceptions.get(issue.rule.code());
            let accepted = of.and_then(|of| of.get(&issue.file));
            accepted.is_none() || accepted != files.get(&issue.file)
        })
    }

    /// The question before a skill is installed on these terms.
    pub fn question(&self) -> &'static str {
        match (self.granted.is_empty(), self.exceptions.is_empty()) {
            (true, true) => "install this skill?",
            (false, true) => "install this skill, and grant what it needs?",
            (_, false) => "install this skill, although it is dangerous?",
        }
    }

    /// The terms, line by line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (file, needs) in &self.granted {
            let needs: Vec<String> = needs
                .iter()
                .map(|need| untrusted(need).to_string())
                .collect();
            let what = paint(WARN, "grants:");
            let _ = writeln!(text, "{what} {}: {}", untrusted(file), needs.join(", "));
        }
        for (rule, files) in &self.exceptions {
            for (path, file) in files {
                let what = paint(BAD, "accepts:");
                let digest = file.digest;
                let _ = writeln!(
                    text,
                    "{what} danger[{rule}] in {} {digest}",
                    untrusted(path)
                );
            }
        }
        text
    }
}

/// What the files of a skill need and it does not declare, by file.
fn needs(studied: &Studied) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for issue in studied.of(Class::Need) {
        let need = match (issue.rule, issue.subject.as_str()) {
            (Rule::EnvUndeclared, name) => format!("env {name}"),
            (Rule::NetUndeclared, what) => format!("net {what}"),
            (Rule::PrivatePlace, place) => format!("private {place}"),
            (rule, _) => rule.code().to_owned(),
        };
        all.entry(issue.file.clone()).or_default().insert(need);
    }
    all
}
