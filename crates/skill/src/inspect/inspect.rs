use std::collections::BTreeSet;

use super::{
    InspectionIssue, IssueClass, Rule, TextDetector,
    flow::flow,
    front, paths,
    python::ScriptDialect,
    rules::{FileInspection, ScriptPermissions, assigned, loaded, other, private_content, python, shell},
    texts,
};
use crate::{ScriptDeclarations, Skill, SkillBundle, shebang};

/// The maximum size of a script that is inspected, in bytes.
const LARGEST: usize = 1 << 20;

/// The subject of an inspection.
#[derive(Clone, Copy)]
pub struct InspectionInput<'a> {
    /// The files.
    pub bundle: &'a SkillBundle,
    /// The loaded `SKILL.md`; `None` if it could not be loaded, which is reported elsewhere.
    pub skill: Option<&'a Skill>,
    /// The declarations of the skill about its scripts.
    pub declared: &'a ScriptDeclarations,
    /// Finds credentials, invisible characters and prompt injection in a text.
    pub detect: TextDetector<'a>,
}

/// The language of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptLanguage {
    Shell(&'static str),
    Python,
    /// JavaScript or TypeScript.
    Script,
    /// Perl, Ruby and others these rules barely cover.
    Other,
}

const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "ksh", "dash", "ash"];

/// Returns the language of a file, if it is a script: by its first line, else by its extension.
pub fn language(path: &str, bytes: &[u8]) -> Option<ScriptLanguage> {
    let named = shebang(bytes);
    if let Some(language) = named.as_deref().and_then(language_of_program) {
        return Some(language);
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "py" | "pyw" => Some(ScriptLanguage::Python),
        "js" | "mjs" | "cjs" | "ts" | "mts" | "jsx" | "tsx" => Some(ScriptLanguage::Script),
        "pl" | "pm" | "rb" | "php" | "lua" | "fish" | "ps1" | "psm1" | "bat" | "cmd" | "vbs" => {
            Some(ScriptLanguage::Other)
        }
        ending if SHELLS.contains(&ending) => language_of_program(ending),
        _ => named.map(|_| ScriptLanguage::Other),
    }
}

/// Returns the language a program executes.
fn language_of_program(program: &str) -> Option<ScriptLanguage> {
    if let Some(shell) = SHELLS.into_iter().find(|shell| *shell == program) {
        return Some(ScriptLanguage::Shell(shell));
    }
    match program {
        "node" | "deno" | "bun" => Some(ScriptLanguage::Script),
        _ if program.starts_with("python") => Some(ScriptLanguage::Python),
        _ => None,
    }
}

/// Returns all issues of a skill, by file and offset. Takes time in the size of its files.
pub fn inspect(input: &InspectionInput<'_>) -> Vec<InspectionIssue> {
    let mut issues = Vec::new();
    if let Some(skill) = input.skill {
        issues.extend(front::front(skill));
        issues.extend(paths::paths(input.bundle, skill));
        issues.extend(body(input.bundle, skill));
    }
    for path in input.declared.scripts.keys() {
        if !input.bundle.files.contains_key(path) {
            let reason = format!("`metadata.wf` declares {path}, which does not exist");
            issues.push(InspectionIssue::new(Rule::ScriptMissing, "SKILL.md", 0, reason));
        }
    }
    let shared = SharedShellState::of(input.bundle);
    for (path, file) in &input.bundle.files {
        issues.extend(texts::texts(input.detect, path, &file.bytes));
        let declared = input.declared.scripts.get(path);
        issues.extend(match language(path, &file.bytes) {
            Some(language) => {
                script(path, &file.bytes, language, &script_permissions(input.declared, path), &shared)
            }
            None if is_compiled(path) => {
                let has_source = input.bundle.files.contains_key(&source(path));
                let (rule, reason) = if has_source {
                    let reason = "it is compiled Python, which may differ from its source";
                    (Rule::Unread, reason)
                } else {
                    let reason = "it is compiled Python without its source";
                    (Rule::Compiled, reason)
                };
                vec![InspectionIssue::new(rule, path, 0, reason)]
            }
            None => executable_issues(path, file.is_executable || declared.is_some(), &file.bytes),
        });
    }
    let steps = flow(input.bundle, &issues);
    issues.extend(steps);
    issues.sort();
    issues.dedup();
    issues
}

/// Returns the permissions of a file: its declarations; a file that is not a declared script is
/// part of all of them.
fn script_permissions(declared: &ScriptDeclarations, path: &str) -> ScriptPermissions {
    let own = declared.scripts.get(path);
    let mut permissions = ScriptPermissions::default();
    for declaration in declared.scripts.values() {
        if own.is_some_and(|own| own != declaration) {
            continue;
        }
        permissions.env.extend(declaration.env.iter().cloned());
        permissions.net |= declaration.net;
        let read = declaration.read.iter();
        let places = read.filter_map(|path| private_content(path).map(|(part, _)| part));
        permissions.places.extend(places);
    }
    permissions
}

/// The state shared by shell scripts of a skill that load each other.
#[derive(Default)]
struct SharedShellState {
    variables: BTreeSet<String>,
    /// The names of the files one of them loads.
    loaded_files: BTreeSet<String>,
}

impl SharedShellState {
    fn of(bundle: &SkillBundle) -> Self {
        let mut shared = Self::default();
        for (path, file) in &bundle.files {
            let is_shell = matches!(language(path, &file.bytes), Some(ScriptLanguage::Shell(_)));
            if let Ok(text) = std::str::from_utf8(&file.bytes)
                && is_shell
                && text.len() <= LARGEST
            {
                shared.variables.extend(assigned(text));
                shared.loaded_files.extend(loaded(text));
            }
        }
        shared
    }

    /// Returns the variables other scripts set for a script: those it loads, and those
    /// that load it.
    fn variables_set_for(&self, path: &str, text: &str) -> BTreeSet<String> {
        let name = path.rsplit('/').next().unwrap_or_default();
        if self.loaded_files.contains(name) || !loaded(text).is_empty() {
            return self.variables.clone();
        }
        BTreeSet::new()
    }
}

fn script(
    path: &str,
    bytes: &[u8],
    language: ScriptLanguage,
    permissions: &ScriptPermissions,
    shared: &SharedShellState,
) -> Vec<InspectionIssue> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return vec![InspectionIssue::new(Rule::NotText, path, 0, "this script is not UTF-8")];
    };
    if text.len() > LARGEST {
        let reason = "this script is larger than 1 MiB, too large to check";
        return vec![InspectionIssue::new(Rule::TooNested, path, 0, reason)];
    }
    let mut look = FileInspection::new(path, permissions);
    match language {
        ScriptLanguage::Shell(_) => shell(&mut look, text, 0, &shared.variables_set_for(path, text)),
        ScriptLanguage::Python => python(&mut look, text, 0),
        ScriptLanguage::Script => other(&mut look, text, ScriptDialect::Script),
        ScriptLanguage::Other => {
            other(&mut look, text, ScriptDialect::Other);
            let reason = "these rules barely cover its language";
            look.issues.push(InspectionIssue::new(Rule::Unread, path, 0, reason));
        }
    }
    look.issues
}

/// True if a file is a compiled Python program.
fn is_compiled(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    matches!(ending.as_deref(), Some("pyc" | "pyo"))
}

/// Returns the path of the source file that Python prefers to a compiled one, if it exists.
fn source(compiled: &str) -> String {
    let (stem, _) = compiled.rsplit_once('.').unwrap_or((compiled, ""));
    format!("{stem}.py")
}

/// Returns the issues of an executable file that is not a script.
fn executable_issues(path: &str, is_executed: bool, bytes: &[u8]) -> Vec<InspectionIssue> {
    let mut issues = Vec::new();
    let binary: [&[u8]; 4] = [b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];
    if binary.iter().any(|begin| bytes.starts_with(begin)) {
        issues.push(InspectionIssue::new(Rule::Unread, path, 0, "it is a binary program"));
    } else if is_executed {
        let reason = "it is executable, but its language is unknown";
        issues.push(InspectionIssue::new(Rule::Unread, path, 0, reason));
    }
    if bytes.len() > LARGEST {
        issues.push(InspectionIssue::new(Rule::Large, path, 0, "it is larger than 1 MiB"));
    }
    issues
}

/// Inspects the commands in fenced blocks of the body: an agent following it executes them in
/// its own sandbox, so they are only reported.
fn body(bundle: &SkillBundle, skill: &Skill) -> Vec<InspectionIssue> {
    let text = bundle.text("SKILL.md").unwrap_or_default();
    let permissions = ScriptPermissions { net: true, ..ScriptPermissions::default() };
    let mut look = FileInspection::new("SKILL.md", &permissions);
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
                        shell(&mut look, block, from, &BTreeSet::new());
                    }
                    None
                }
            };
        }
        at += line.len();
    }
    let concerns_text = |rule: Rule| {
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
    let issues = look.issues.into_iter().filter(|issue| concerns_text(issue.rule));
    issues.map(|issue| InspectionIssue { class: IssueClass::Quality, ..issue }).collect()
}
