use serde::Serialize;

use super::{IssueClass, Rule};

/// A finding of an inspection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InspectionIssue {
    /// The file, relative to the skill.
    pub file: String,
    /// The offset in it, in bytes.
    pub at: usize,
    /// The rule that is broken.
    pub rule: Rule,
    /// Its severity here: at most that of the rule.
    pub class: IssueClass,
    /// Its subject, if it has a name: a variable, a program, a module.
    pub subject: String,
    /// A description of the mistake, as a fragment without any secret.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl InspectionIssue {
    /// Makes an issue without subject and remedy.
    pub fn new(rule: Rule, file: &str, at: usize, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            at,
            rule,
            class: rule.class(),
            subject: String::new(),
            message: message.into(),
            help: help(rule).to_owned(),
        }
    }

    #[must_use]
    pub fn with_subject(mut self, subject: &str) -> Self {
        subject.clone_into(&mut self.subject);
        self
    }
}

/// An issue in the form of reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IssueRecord {
    /// The code of the rule.
    pub code: &'static str,
    /// `danger`, `need` or `quality`.
    pub class: &'static str,
    /// The file, relative to the skill.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// A description of the mistake.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl IssueRecord {
    /// Returns an issue in a file with this text.
    pub fn from_issue(issue: &InspectionIssue, text: &str) -> Self {
        let before = text.get(..issue.at).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or(before);
        Self {
            code: issue.rule.code(),
            class: issue.class.as_str(),
            file: issue.file.clone(),
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            message: issue.message.clone(),
            help: issue.help.clone(),
        }
    }
}

fn help(rule: Rule) -> &'static str {
    match rule {
        Rule::NotLoaded => "`wf skill validate` shows the problems of SKILL.md",
        Rule::NameForm => "use a name of a-z, 0-9 and single hyphens",
        Rule::DescriptionShort | Rule::DescriptionWhen => {
            "describe in one or two sentences what it does and when to use it"
        }
        Rule::DescriptionLong | Rule::DescriptionSteps => {
            "describe what it does and when to use it; steps belong in the body"
        }
        Rule::PathMissing => "add the file, or fix the path",
        Rule::PathOutside => "use paths relative to the skill's folder",
        Rule::ScriptMissing => "add the script, or remove it from `metadata.wf`",
        Rule::Secret => "remove and revoke it: it is known to everyone who has seen the file",
        Rule::Hidden => "rewrite the file without them",
        Rule::Injection => "read the text as an agent that follows it would",
        Rule::EncryptedArchive | Rule::FetchAndRun => {
            "ship what is needed as a file of the skill, or use a registry package"
        }
        Rule::AgentMemory | Rule::AgentSettings => {
            "let the user control agent instruction files: keep the instructions in the skill"
        }
        Rule::Resembling => "spell the package name as its publisher does",
        Rule::Exfiltration => "remove it: no credential may leave the machine",
        Rule::Covert => "state what is done, and let the user see it",
        Rule::Encoded | Rule::Concealed => "write it as readable text",
        Rule::RemoteText => "ship the instructions with the skill",
        Rule::NotText => "save the script as UTF-8",
        Rule::TooNested => "simplify it",
        Rule::EnvUndeclared => "declare it in `metadata.wf` under the script's `env`",
        Rule::NetUndeclared => "declare `allow: {net: true}` for the script in `metadata.wf`",
        Rule::NetDeclared => "check what it sends, and where",
        Rule::PipeToShell | Rule::DecodeToShell => {
            "ship executed code as a file of the skill, so that it can be reviewed"
        }
        Rule::EvalInput => "run a fixed program, and pass values as arguments",
        Rule::Unpickled => "read JSON, or YAML with a safe loader",
        Rule::DeleteAll => "use a literal path; `${NAME:?}` aborts if NAME is not set",
        Rule::WorldWritable => "grant permissions to the owner only",
        Rule::Privilege => "remove it: a skill has at most the permissions of its user",
        Rule::Persistence => "write only inside the workspace",
        Rule::Miner | Rule::ReverseShell => "remove it",
        Rule::TlsOff => "keep certificate verification enabled",
        Rule::PackageInstall => "list the requirements under `compatibility`",
        Rule::ArgumentRun => "use a fixed program",
        Rule::Unread => "read it in full before you approve it",
        Rule::PrivatePlace => {
            "check what it does with it; in the sandbox, nothing is there unless `allow: {read: \
             […]}` lists it"
        }
        Rule::Compiled => "ship its source instead of compiled files",
        Rule::Large => "remove it from the skill, or review it before you approve it",
    }
}
