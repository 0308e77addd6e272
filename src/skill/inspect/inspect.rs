use std::collections::BTreeSet;

use super::flow::flow;
use super::python::Dialect;
use super::rules::{Given, Look, assigned, loaded, other, private, python, shell};
use super::{Class, Detect, Issue, Rule, front, paths, texts};
use crate::skill::{Bundle, Declared, Skill, shebang};

/// The largest script that is looked at, in bytes.
const LARGEST: usize = 1 << 20;

/// What is inspected.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The files.
    pub bundle: &'a Bundle,
    /// What `SKILL.md` says; `None`: it could not be loaded, which is said elsewhere.
    pub skill: Option<&'a Skill>,
    /// What the skill declares of its scripts.
    pub declared: &'a Declared,
    /// Finds credentials, characters that nobody sees and prompt injection in a text.
    pub detect: Detect<'a>,
}

/// In what a script is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A shell script, for this shell.
    Shell(&'static str),
    /// Python.
    Python,
    /// JavaScript or TypeScript.
    Script,
    /// Perl, Ruby and others that these rules hardly know.
    Other,
}

/// The shells whose scripts are read.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "ksh", "dash", "ash"];

/// In what a file is written, if it is a script: by its first line, else by its ending.
pub fn language(path: &str, bytes: &[u8]) -> Option<Language> {
    let named = shebang(bytes);
    if let Some(language) = named.as_deref().and_then(interpreted) {
        return Some(language);
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "py" | "pyw" => Some(Language::Python),
        "js" | "mjs" | "cjs" | "ts" | "mts" | "jsx" | "tsx" => Some(Language::Script),
        "pl" | "pm" | "rb" | "php" | "lua" | "fish" | "ps1" | "psm1" | "bat" | "cmd" | "vbs" => {
            Some(Language::Other)
        }
        ending if SHELLS.contains(&ending) => interpreted(ending),
        _ => named.map(|_| Language::Other),
    }
}

/// The language that a program executes.
fn interpreted(program: &str) -> Option<Language> {
    if let Some(shell) = SHELLS.into_iter().find(|shell| *shell == program) {
        return Some(Language::Shell(shell));
    }
    match program {
        "node" | "deno" | "bun" => Some(Language::Script),
        _ if program.starts_with("python") => Some(Language::Python),
        _ => None,
    }
}

/// Everything that is wrong with a skill, by file and place. Takes time in the size of its files.
pub fn inspect(case: &Case<'_>) -> Vec<Issue> {
    let mut issues = Vec::new();
    if let Some(skill) = case.skill {
        issues.extend(front::front(skill));
        issues.extend(paths::paths(case.bundle, skill));
        issues.extend(body(case.bundle, skill));
    }
    for path in case.declared.scripts.keys() {
        if !case.bundle.files.contains_key(path) {
            let why = format!("`metadata.wf` declares {path}, and there is no such file");
            issues.push(Issue::new(Rule::ScriptMissing, "SKILL.md", 0, why));
        }
    }
    let shared = Shared::of(case.bundle);
    for (path, file) in &case.bundle.files {
        issues.extend(texts::texts(case.detect, path, &file.bytes));
        let declared = case.declared.scripts.get(path);
        issues.extend(match language(path, &file.bytes) {
            Some(language) => script(
                (path, &file.bytes),
                language,
                &given(case.declared, path),
                &shared,
            ),
            None if is_compiled(path) => {
                let has_source = case.bundle.files.contains_key(&source(path));
                let (rule, why) = if has_source {
                    let why = "it is compiled Python, which may say something else than its source";
                    (Rule::Unread, why)
                } else {
                    let why = "it is compiled Python, and the skill does not have its source";
                    (Rule::Compiled, why)
                };
                vec![Issue::new(rule, path, 0, why)]
            }
            None => unread(path, file.is_executable || declared.is_some(), &file.bytes),
        });
    }
    let steps = flow(case.bundle, &issues);
    issues.extend(steps);
    issues.sort();
    issues.dedup();
    issues
}

/// What a file may use: what is declared of it; a file that is none of the scripts is part of
/// any of them.
fn given(declared: &Declared, path: &str) -> Given {
    let own = declared.scripts.get(path);
    let mut given = Given::default();
    for one in declared.scripts.values() {
        if own.is_some_and(|own| own != one) {
            continue;
        }
        given.env.extend(one.env.iter().cloned());
        given.net |= one.net;
        let read = one.read.iter();
        let places = read.filter_map(|path| private(path).map(|(part, _)| part));
        given.places.extend(places);
    }
    given
}

/// What the shell scripts of a skill that load each other have in common.
#[derive(Default)]
struct Shared {
    /// The variables that any of them sets.
    set: BTreeSet<String>,
    /// The names of the files that one of them loads.
    loaded: BTreeSet<String>,
}

impl Shared {
    fn of(bundle: &Bundle) -> Self {
        let mut shared = Self::default();
        for (path, file) in &bundle.files {
            let is_shell = matches!(language(path, &file.bytes), Some(Language::Shell(_)));
            if let Ok(text) = std::str::from_utf8(&file.bytes)
                && is_shell
                && text.len() <= LARGEST
            {
                shared.set.extend(assigned(text));
                shared.loaded.extend(loaded(text));
            }
        }
        shared
    }

    /// The variables that are set for a script from outside of it: it loads another, or another
    /// loads it.
    fn with(&self, path: &str, text: &str) -> BTreeSet<String> {
        let name = path.rsplit('/').next().unwrap_or_default();
        if self.loaded.contains(name) || !loaded(text).is_empty() {
            return self.set.clone();
        }
        BTreeSet::new()
    }
}

fn script(
    (path, bytes): (&str, &[u8]),
    language: Language,
    given: &Given,
    shared: &Shared,
) -> Vec<Issue> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return vec![Issue::new(
            Rule::NotText,
            path,
            0,
            "it is a script and not UTF-8",
        )];
    };
    if text.len() > LARGEST {
        let why = "it is a script larger than 1 MiB, which is too large to be checked";
        return vec![Issue::new(Rule::TooNested, path, 0, why)];
    }
    let mut look = Look::new(path, given);
    match language {
        Language::Shell(_) => shell(&mut look, (text, 0), &shared.with(path, text)),
        Language::Python => python(&mut look, (text, 0)),
        Language::Script => other(&mut look, text, Dialect::Script),
        Language::Other => {
            other(&mut look, text, Dialect::Other);
            let why = "these rules hardly know its language";
            look.issues.push(Issue::new(Rule::Unread, path, 0, why));
        }
    }
    look.issues
}

/// Whether a file is a program of Python in the form that it is loaded from.
fn is_compiled(path: &str) -> bool {
    let ending = path
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    matches!(ending.as_deref(), Some("pyc" | "pyo"))
}

/// The file that Python loads in place of a compiled one, if it is there.
fn source(compiled: &str) -> String {
    let (stem, _) = compiled.rsplit_once('.').unwrap_or((compiled, ""));
    format!("{stem}.py")
}

/// What is executed and is no script.
fn unread(path: &str, is_executed: bool, bytes: &[u8]) -> Vec<Issue> {
    let mut issues = Vec::new();
    let binary: [&[u8]; 4] = [b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];
    if binary.iter().any(|begin| bytes.starts_with(begin)) {
        issues.push(Issue::new(
            Rule::Unread,
            path,
            0,
            "it is a program in binary form",
        ));
    } else if is_executed {
        let why = "it can be executed, and says not in which language it is written";
        issues.push(Issue::new(Rule::Unread, path, 0, why));
    }
    if bytes.len() > LARGEST {
        issues.push(Issue::new(Rule::Large, path, 0, "it is larger than 1 MiB"));
    }
    issues
}

/// The commands that the body shows in fenced blocks: who follows it executes them, in a sandbox
/// of their own, so that they are only told.
fn body(bundle: &Bundle, skill: &Skill) -> Vec<Issue> {
    let text = bundle.text("SKILL.md").unwrap_or_default();
    let given = Given {
        net: true,
        ..Given::default()
    };
    let mut look = Look::new("SKILL.md", &given);
    let mut open: Option<(usize, bool)> = None;
    let mut at = skill.body.range().start;
    for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
        let word = line.trim();
        if let Some(kind) = word.strip_prefix("```") {
            open = match open {
                None => Some((
                    at + line.len(),
                    matches!(kind.trim(), "sh" | "bash" | "shell" | "console" | "zsh"),
                )),
                Some((from, is_shell)) => {
                    if is_shell {
                        let block = text.get(from..at).unwrap_or_default();
                        shell(&mut look, (block, from), &BTreeSet::new());
                    }
                    None
                }
            };
        }
        at += line.len();
    }
    let told = |rule: Rule| {
        !matches!(
            rule,
            Rule::PipeToShell
                | Rule::DecodeToShell
                | Rule::ReverseShell
                | Rule::EnvUndeclared
                | Rule::NetDeclared
                | Rule::NetUndeclared
                | Rule::PackageInstall
                | Rule::ArgumentRun
        )
    };
    let issues = look.issues.into_iter().filter(|issue| told(issue.rule));
    issues
        .map(|issue| Issue {
            class: Class::Quality,
            ..issue
        })
        .collect()
}
