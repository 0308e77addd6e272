//! Tries the scripts of a skill: checks their syntax, and runs them with the dry-run flags the
//! skill names. In a sandbox: no network, no home, and no lasting writes.

use std::{path::Path, time::Duration};

use serde::Serialize;
use tokio::sync::watch;

use crate::{CommandError, Host, Workspace, skills::InspectedSkill};
use wf_base::{name::Name, untrusted::UntrustedText};
use wf_core::machine::WorkExit;
use wf_exec::{
    ProcessExecutor, StopLevel,
    probe::{ProbeJob, ProbeOutcome, ProbeRole},
    process::ProcessCommand,
    sandbox::{SandboxFactory, SandboxSpec},
    shell,
};
use wf_model::{
    Check, SkillCall,
    expr::{ExprReference, ExprScope, StatusFunction},
};
use wf_skill::inspect::{ScriptLanguage, language};

/// The time limit for one script.
const SCRIPT_TIMEOUT: Duration = Duration::from_mins(1);

/// The folder where a tried script may leave its outputs, which are discarded.
const OUTPUT_FOLDER: &str = "/tmp/wf-output";

/// The result of trying a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScriptTrial {
    pub path: String,
    /// The kind of trial: `syntax` or `dry_run`.
    pub what: &'static str,
    /// The result: `passed`, `failed`, or `not tried`.
    pub result: &'static str,
    /// The reason, unless it passed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl ScriptTrial {
    /// True if it failed: for a script open to steps, this refuses an install.
    pub fn failed(&self) -> bool {
        self.result == "failed"
    }
}

/// Tries every script of a skill in this folder.
pub fn try_scripts(
    host: &Host,
    workspace: &Workspace,
    inspected: &InspectedSkill,
    folder: &Path,
) -> Result<Vec<ScriptTrial>, CommandError> {
    let vars = host.vars();
    let sandbox = SandboxFactory::new(folder, &workspace.state, &vars, &[]);
    let name = Name::parse("skill")
        .map_err(|error| CommandError::new(crate::CliExitCode::Bug, error.to_string()))?;
    let site = TrialContext {
        folder,
        sandbox: sandbox.of_check(&Check::new(name), &[], &[]),
        path: vars.get("PATH").cloned().unwrap_or_default(),
        home: vars.get("HOME").cloned().unwrap_or_else(|| "/".to_owned()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut trials = Vec::new();
    for (path, file) in &inspected.bundle.files {
        if let Some(language) = language(path, &file.bytes) {
            let text = String::from_utf8_lossy(&file.bytes).into_owned();
            trials.extend(runtime.block_on(site.syntax(path, language, text)));
        }
    }
    // Unreadable scripts are not executed.
    let is_readable = !trials.iter().any(ScriptTrial::failed);
    for (path, script) in inspected.metadata.scripts.iter() {
        let path = path.value.as_str();
        trials.push(match wf_lang::dry_run(path, script) {
            Some(call) if is_readable => runtime.block_on(site.dry_run(path, &call)),
            Some(_) => not_tried(path, "dry_run", "a script failed its syntax check"),
            None => not_tried(path, "dry_run", "the skill declares no `dry_run`"),
        });
    }
    Ok(trials)
}

fn not_tried(path: &str, what: &'static str, reason: &str) -> ScriptTrial {
    ScriptTrial { path: path.to_owned(), what, result: "not tried", reason: reason.to_owned() }
}

fn failed(path: &str, what: &'static str, reason: String) -> ScriptTrial {
    ScriptTrial { path: path.to_owned(), what, result: "failed", reason }
}

/// The values that templates can read when a script is tried.
struct EmptyTemplateScope;

impl ExprScope for EmptyTemplateScope {
    fn value(&self, _: &ExprReference) -> Option<serde_json::Value> {
        None
    }

    fn test(&self, _: StatusFunction, _: Option<&str>) -> bool {
        false
    }
}

struct TrialContext<'a> {
    folder: &'a Path,
    sandbox: SandboxSpec,
    path: String,
    home: String,
}

impl TrialContext<'_> {
    /// Checks that an interpreter parses a script. It executes none of it.
    async fn syntax(&self, path: &str, language: ScriptLanguage, text: String) -> Option<ScriptTrial> {
        const READS: &str = "import ast, sys; ast.parse(sys.stdin.buffer.read())";
        let argv: &[&str] = match language {
            ScriptLanguage::Shell(shell) => &[shell, "-n"],
            ScriptLanguage::Python => &["python3", "-I", "-B", "-c", READS],
            ScriptLanguage::Script | ScriptLanguage::Other => return None,
        };
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let missing = argv.first().filter(|program| !self.interpreter_exists(program));
        if let Some(program) = missing {
            let reason = format!("cannot check it: `{program}` not found");
            return Some(not_tried(path, "syntax", &reason));
        }
        let probed = self.probe(argv, Some(text)).await;
        Some(output_text(path, "syntax", &probed))
    }

    async fn dry_run(&self, path: &str, call: &SkillCall) -> ScriptTrial {
        let call = shell::with_interpreter(call, self.folder);
        // Only literal values are known.
        let argv = match call.argv(None, &EmptyTemplateScope) {
            Ok(argv) => argv,
            Err(error) => return failed(path, "dry_run", error.to_string()),
        };
        if let Some(program) = call.head.first().filter(|program| !self.interpreter_exists(program)) {
            let reason = format!("`{program}` not found");
            return not_tried(path, "dry_run", &reason);
        }
        output_text(path, "dry_run", &self.probe(argv, None).await)
    }

    async fn probe(&self, argv: Vec<String>, input: Option<String>) -> ProbeOutcome {
        let folder = self.folder.display().to_string();
        let env = [
            ("HOME", &self.home),
            ("PATH", &self.path),
            ("WF_DRY_RUN", &"1".to_owned()),
            ("WF_OUTPUT", &OUTPUT_FOLDER.to_owned()),
            ("WF_SKILL", &folder),
            ("WF_WORKSPACE", &folder),
        ];
        let command = ProcessCommand {
            argv,
            env: env.map(|(name, value)| (name.to_owned(), value.clone())).to_vec(),
            cwd: self.folder.to_path_buf(),
            sandbox: Some(self.sandbox.clone()),
            pins: None,
            input,
        };
        let probe = ProbeJob {
            command,
            timeout: SCRIPT_TIMEOUT,
            grace: Duration::from_secs(1),
            keep: 16 * 1024,
            output: Some(16 << 20),
            role: ProbeRole::Observer,
        };
        let (_heard, stop) = watch::channel(StopLevel::No);
        ProcessExecutor::InProcess.probe(probe, stop).await
    }

    fn interpreter_exists(&self, program: &str) -> bool {
        let mut folders = self.path.split(':').filter(|folder| !folder.is_empty());
        folders.any(|folder| Path::new(folder).join(program).is_file())
    }
}

fn output_text(path: &str, what: &'static str, probed: &ProbeOutcome) -> ScriptTrial {
    let passed = probed.exit == WorkExit::Code { code: 0 };
    let message = UntrustedText::printed(&probed.err).block();
    let last = message.lines().rev().find(|line| !line.trim().is_empty());
    let end = match &probed.exit {
        WorkExit::Code { code } => format!("exit code {code}"),
        WorkExit::Signal { signal } => format!("signal {signal}"),
        WorkExit::TimedOut => "timed out".to_owned(),
        WorkExit::Error { reason, .. } => reason.clone(),
        _ => "it did not exit normally".to_owned(),
    };
    let reason = match last {
        _ if passed => String::new(),
        Some(line) => format!("{end}: {}", line.trim()),
        None => end,
    };
    ScriptTrial { path: path.to_owned(), what, result: if passed { "passed" } else { "failed" }, reason }
}
