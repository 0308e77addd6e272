//! Tries the scripts of a skill: whether they can be read, and what they do with the flags that the
//! skill names for that. In a sandbox: no network, no home, and nothing can be written that stays.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;

use super::study::Studied;
use crate::cli::{Failure, Ui, Workspace};
use crate::exec::probe::{Probe, Probed};
use crate::exec::process::Command;
use crate::exec::sandbox::{Around, Sandbox};
use crate::exec::{Hands, Stop, shell};
use crate::expr::{Ref, Scope, StatusTest};
use crate::machine::Exit;
use crate::model::{Check, SkillCall};
use crate::name::Name;
use crate::skill::inspect::{Language, language};
use crate::spec;
use crate::untrusted::Untrusted;

/// The longest that one script may take.
const LONGEST: Duration = Duration::from_mins(1);

/// Where a script that is tried may leave its outputs: nobody reads them.
const OUTPUT: &str = "/tmp/wf-output";

/// What came of trying a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// The script.
    pub path: String,
    /// What was done: `syntax` or `dry_run`.
    pub what: &'static str,
    /// What came of it: `passed`, `failed`, or `not tried`.
    pub result: &'static str,
    /// Why, unless it passed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Tried {
    /// Whether it failed: of a script that a step could run that refuses an install.
    pub fn failed(&self) -> bool {
        self.result == "failed"
    }
}

/// Tries every script of a skill that lies in this folder.
pub fn trial(
    ui: &Ui,
    workspace: &Workspace,
    studied: &Studied,
    folder: &Path,
) -> Result<Vec<Tried>, Failure> {
    let host = ui.env.host();
    let around = Around::new(folder, &workspace.state, &host, &[]);
    let name =
        Name::parse("skill").map_err(|bad| Failure::new(crate::cli::Exit::Bug, bad.to_string()))?;
    let site = Site {
        folder,
        sandbox: around.of_check(&Check::new(name), &[]),
        path: host.get("PATH").cloned().unwrap_or_default(),
        home: host.get("HOME").cloned().unwrap_or_else(|| "/".to_owned()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut all = Vec::new();
    for (path, file) in &studied.bundle.files {
        if let Some(language) = language(path, &file.bytes) {
            let text = String::from_utf8_lossy(&file.bytes).into_owned();
            all.extend(runtime.block_on(site.syntax(path, language, text)));
        }
    }
    // What cannot be read is not executed.
    let is_readable = !all.iter().any(Tried::failed);
    for (path, script) in studied.own.scripts.iter() {
        let path = path.value.as_str();
        all.push(match spec::dry_run(path, script) {
            Some(call) if is_readable => runtime.block_on(site.dry_run(path, &call)),
            Some(_) => not_tried(path, "dry_run", "a script cannot be read"),
            None => not_tried(path, "dry_run", "the skill names no `dry_run`"),
        });
    }
    Ok(all)
}

fn not_tried(path: &str, what: &'static str, why: &str) -> Tried {
    Tried {
        path: path.to_owned(),
        what,
        result: "not tried",
        why: why.to_owned(),
    }
}

fn failed(path: &str, what: &'static str, why: String) -> Tried {
    Tried {
        path: path.to_owned(),
        what,
        result: "failed",
        why,
    }
}

/// What templates can read when a script is tried.
struct Nothing;

impl Scope for Nothing {
    fn value(&self, _: &Ref) -> Option<serde_json::Value> {
        None
    }

    fn test(&self, _: StatusTest, _: Option<&str>) -> bool {
        false
    }
}

struct Site<'a> {
    folder: &'a Path,
    sandbox: Sandbox,
    path: String,
    home: String,
}

impl Site<'_> {
    /// Whether an interpreter reads a script. It executes none of it.
    async fn syntax(&self, path: &str, language: Language, text: String) -> Option<Tried> {
        const READS: &str = "import ast, sys; ast.parse(sys.stdin.buffer.read())";
        let argv: &[&str] = match language {
            Language::Shell(shell) => &[shell, "-n"],
            Language::Python => &["python3", "-I", "-B", "-c", READS],
            Language::Script | Language::Other => return None,
        };
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let missing = argv.first().filter(|program| !self.is_there(program));
        if let Some(program) = missing {
            let why = format!("it cannot be checked here: there is no `{program}`");
            return Some(not_tried(path, "syntax", &why));
        }
        let probed = self.probe(argv, Some(text)).await;
        Some(told(path, "syntax", &probed))
    }

    async fn dry_run(&self, path: &str, call: &SkillCall) -> Tried {
        let call = shell::named(call, self.folder);
        // Nothing is known but what stands there.
        let argv = match call.argv(None, &Nothing) {
            Ok(argv) => argv,
            Err(bad) => return failed(path, "dry_run", bad.to_string()),
        };
        if let Some(program) = call.head.first().filter(|program| !self.is_there(program)) {
            let why = format!("there is no `{program}` here");
            return not_tried(path, "dry_run", &why);
        }
        told(path, "dry_run", &self.probe(argv, None).await)
    }

    async fn probe(&self, argv: Vec<String>, input: Option<String>) -> Probed {
        let folder = self.folder.display().to_string();
        let env = [
            ("HOME", &self.home),
            ("PATH", &self.path),
            ("WF_DRY_RUN", &"1".to_owned()),
            ("WF_OUTPUT", &OUTPUT.to_owned()),
            ("WF_SKILL", &folder),
            ("WF_WORKSPACE", &folder),
        ];
        let command = Command {
            argv,
            env: env
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .to_vec(),
            cwd: self.folder.to_path_buf(),
            sandbox: Some(self.sandbox.clone()),
            pins: None,
            input,
        };
        let probe = Probe {
            command,
            timeout: LONGEST,
            grace: Duration::from_secs(1),
            keep: 16 * 1024,
            output: Some(16 << 20),
        };
        let (_heard, stop) = watch::channel(Stop::No);
        Hands::Own.probe(probe, stop).await
    }

    fn is_there(&self, program: &str) -> bool {
        let mut folders = self.path.split(':').filter(|folder| !folder.is_empty());
        folders.any(|folder| Path::new(folder).join(program).is_file())
    }
}

fn told(path: &str, what: &'static str, probed: &Probed) -> Tried {
    let passed = probed.exit == Exit::Code { code: 0 };
    let said = Untrusted::printed(&probed.err).block();
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let end = match &probed.exit {
        Exit::Code { code } => format!("exit code {code}"),
        Exit::Signal { signal } => format!("signal {signal}"),
        Exit::TimedOut => "it took too long".to_owned(),
        Exit::Unable { why, .. } => why.clone(),
        _ => "it did not end by itself".to_owned(),
    };
    let why = match last {
        _ if passed => String::new(),
        Some(line) => format!("{end}: {}", line.trim()),
        None => end,
    };
    Tried {
        path: path.to_owned(),
        what,
        result: if passed { "passed" } else { "failed" },
        why,
    }
}
