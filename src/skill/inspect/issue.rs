use serde::Serialize;

use super::{Class, Rule};

/// What an inspection found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Issue {
    /// Where: the file, relative to the skill.
    pub file: String,
    /// Where: the byte in it.
    pub at: usize,
    /// The rule that is broken.
    pub rule: Rule,
    /// How bad it is here: at most as bad as the rule says.
    pub class: Class,
    /// What it is about, where that has a name: a variable, a program, a module.
    pub subject: String,
    /// What is wrong, as a fragment that holds no secret.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Issue {
    /// Says what is wrong and where.
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

    /// Names what it is about.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Self {
        subject.clone_into(&mut self.subject);
        self
    }
}

/// An issue as reports write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
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
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Told {
    /// An issue in a file with this text.
    pub fn of(issue: &Issue, text: &str) -> Self {
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
        Rule::NotLoaded => "`wf skill validate` shows what is wrong with SKILL.md",
        Rule::NameForm => "give it a name of a-z, 0-9 and single hyphens",
        Rule::DescriptionShort | Rule::DescriptionWhen => {
            "say in one or two sentences what it does and when to use it"
        }
        Rule::DescriptionLong | Rule::DescriptionSteps => {
            "say what it does and when to use it; steps belong in the body"
        }
        Rule::PathMissing => "add the file, or name the one that is meant",
        Rule::PathOutside => "name files of the skill relative to its folder",
        Rule::ScriptMissing => "add the script, or take it out of `metadata.wf`",
        Rule::Secret => "take it out and revoke it: whoever saw the file has it",
        Rule::Hidden => "write the file anew without them",
        Rule::Injection => "read the text as whoever follows it would",
        Rule::EncryptedArchive | Rule::FetchAndRun => {
            "ship what is needed as a file of the skill, or name a package of a registry"
        }
        Rule::AgentMemory | Rule::AgentSettings => {
            "let the user decide what agents obey: keep it in the skill"
        }
        Rule::Resembling => "write the name of the package as its publisher does",
        Rule::Exfiltration => "take it out: no credential leaves the machine",
        Rule::Covert => "say what is done, and let the user see it",
        Rule::Encoded | Rule::Concealed => "write it so that a reader sees it",
        Rule::RemoteText => "ship the instructions with the skill",
        Rule::NotText => "write the script in UTF-8",
        Rule::TooNested => "write it simpler",
        Rule::EnvUndeclared => "declare it in `metadata.wf` under the script's `env`",
        Rule::NetUndeclared => "declare `allow: {net: true}` for the script in `metadata.wf`",
        Rule::NetDeclared => "read what it sends, and where to",
        Rule::PipeToShell | Rule::DecodeToShell => {
            "ship what is executed as a file of the skill, so that it is seen"
        }
        Rule::EvalInput => "run a fixed program, and hand values over as arguments",
        Rule::Unpickled => "read JSON, or YAML with a safe loader",
        Rule::DeleteAll => "name what is deleted; `${NAME:?}` ends where NAME is not set",
        Rule::WorldWritable => "give rights to the owner alone",
        Rule::Privilege => "do without: a skill has the rights of who runs it, at most",
        Rule::Persistence => "write below the workspace alone",
        Rule::Miner | Rule::ReverseShell => "take it out",
        Rule::TlsOff => "let certificates be checked",
        Rule::PackageInstall => "say under `compatibility` what must be there",
        Rule::ArgumentRun => "name the program that is run",
        Rule::Unread => "read it in full before you approve it",
        Rule::PrivatePlace => {
            "read what it does with what is there; in the sandbox it is empty unless `allow: {read: […]}` names it"
        }
        Rule::Compiled => "ship its source, and leave out what is made of it",
        Rule::Large => "keep it out of the skill, or look at it before you approve it",
    }
}
