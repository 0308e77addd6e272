//! Runs checks outside the worker: a separate process, a minimal environment, bounded output.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::watch;

use wf_base::{name::Name, redact::SecretMask, time::Clock};
use wf_core::{
    machine::{CheckRuling, CheckVerdict, PriorFinding},
    verify::{CriterionJudgement, FilePresence, ProbeFindings, judge, judge_tests},
};
use wf_model::{
    Check, CheckProbe, JsonObject,
    expr::{EvalError, ExprScope, Template},
};

use super::executor::ProcessExecutor;
use crate::{
    HostEnv, ProcessEnv,
    disk::confined_dir::{ConfinedDir, PathLookupError},
    pinned::PinnedFiles,
    processes::{
        environment,
        probe::{ProbeJob, ProbeOutcome, ProbeRole},
        process::ProcessCommand,
        shell,
    },
    sandbox::{KeptCopy, SandboxFactory},
    work_error::{StopLevel, WorkError},
};
use reports::{ReportFolder, UncountedReport};

/// The number of bytes of a probe's output kept for the verdict.
const KEPT_OUTPUT_BYTES: usize = 1024 * 1024;

/// The default limit on a probe's output, in bytes.
const OUTPUT_LIMIT: u64 = 1 << 30;

/// The surroundings where checks run.
#[derive(Clone)]
pub struct CheckEnvironment {
    /// Starts the processes.
    pub executor: ProcessExecutor,
    /// The workspace's root.
    pub root: PathBuf,
    /// The engine's own environment.
    pub host: Arc<HostEnv>,
    /// The mask for evidence.
    pub mask: SecretMask,
    /// The clock for a check's duration.
    pub clock: Arc<dyn Clock>,
    /// The grace period between the request to terminate a probe and the kill.
    pub grace: Duration,
    /// The plan's resolved parameters.
    pub params: JsonObject,
    /// The sandbox; `None`: unconfined.
    pub sandboxes: Option<Arc<SandboxFactory>>,
    /// The executable files of skills; `None`: not restricted.
    pub pinned_files: Option<Arc<PinnedFiles>>,
    /// The paths hidden from checks, relative to the workspace.
    pub whiteouts: Vec<PathBuf>,
    /// The files shown to checks as copies.
    pub copies: Vec<KeptCopy>,
    /// The folder where each check writing a test report gets one of its own.
    pub reports: PathBuf,
    /// The findings of checks on the workspace before the work, by their names.
    pub prior: Arc<BTreeMap<Name, PriorFinding>>,
    /// True if the check is run before the work.
    pub precedes_work: bool,
}

/// A check with its templates rendered, ready to run.
pub struct RenderedCheck {
    check: Check,
    environment: CheckEnvironment,
    /// The command, if there is one, or the reason why it cannot run.
    command: Result<Option<ProcessCommand>, WorkError>,
    /// The folder for its test report, if it writes one into a file.
    reports: Option<ReportFolder>,
}

/// The verdict on a check, and the output it was given on.
pub struct CheckOutcome {
    pub verdict: CheckVerdict,
    /// Standard output, without secrets.
    pub output: String,
    /// True if that is only the beginning of it.
    pub truncated: bool,
}

impl RenderedCheck {
    /// Renders a check. Errors are reported by the verdict.
    pub fn new(check: &Check, environment: &CheckEnvironment, scope: &dyn ExprScope) -> Self {
        let file = check.expect.tests.as_ref().and_then(|tests| tests.report.as_ref());
        let reports = file.map(|_| ReportFolder::below(&environment.reports));
        let mut command = command(check, environment, scope);
        if let (Some(folder), Ok(Some(command))) = (&reports, &mut command) {
            command.env.push((REPORTS_VARIABLE.into(), folder.path().display().to_string()));
            if let Some(sandbox) = &mut command.sandbox {
                sandbox.reports = Some(folder.path().to_path_buf());
            }
        }
        Self { check: check.clone(), environment: environment.clone(), command, reports }
    }

    /// Runs the probe and judges the findings. A check that is told to stop rules `error`.
    pub async fn run(self, stop: watch::Receiver<StopLevel>) -> CheckOutcome {
        let Self { check, environment, command, reports } = self;
        let began = environment.clock.now();
        let ready = reports.as_ref().map_or(Ok(()), ReportFolder::create);
        let command = ready.and(command);
        let probed = match command {
            Ok(None) => None,
            Ok(Some(command)) => Some(environment.probe(&check, command, stop).await),
            Err(unable) => Some(ProbeOutcome::silent(unable.into())),
        };
        let files = environment.find_files(&check.expect.file_exists);
        let found = judgeable_findings(probed.as_ref(), &files);
        let took = environment.clock.now().since(began).as_millis();
        let duration_ms = u64::try_from(took).unwrap_or(u64::MAX);
        let rule = |findings: &ProbeFindings<'_>| judge(&check.expect, findings, &check.classify);
        let judged = discreet(rule, &found, &environment.mask);
        let tests = check.expect.tests.as_ref().map(|tests| {
            let counts = match (&tests.report, &reports) {
                (Some(name), Some(folder)) => folder.counts(name, &environment.mask),
                _ if found.truncated => Err(UncountedReport::LongOutput),
                _ if found.stdout.trim_ascii().is_empty() => Err(UncountedReport::NoOutput),
                _ => reports::counts_of(found.stdout, &environment.mask).map_err(UncountedReport::from),
            };
            (tests, counts.map_err(|uncounted| uncounted.to_string()))
        });
        let judged = match &tests {
            Some((tests, counts)) => {
                // Before the work, they are compared with themselves: it would pass if the work changed nothing.
                let own = counts.as_ref().ok().filter(|_| environment.precedes_work);
                let before = own.or_else(|| environment.prior.get(&check.name).map(|prior| &prior.tests));
                judge_tests(tests, counts.as_ref().map_err(String::as_str), before, judged)
            }
            None => judged,
        };
        let before = environment.prior.get(&check.name).filter(|_| check.is_run_before());
        let before = before.map(|prior| Box::new(prior.clone()));
        let output = String::from_utf8_lossy(&masked(found.stdout, &environment.mask)).into_owned();
        let truncated = found.truncated;
        let verdict = CheckVerdict {
            phase: check.phase,
            isolation: probed.map(|probed| probed.isolation.unwrap_or_default()),
            hidden: crate::view::first_paths(&environment.whiteouts),
            tests: tests.and_then(|(_, counts)| counts.ok()).map(Box::new),
            before,
            ..judged.verdict(check.name, check.mode, duration_ms)
        };
        CheckOutcome { verdict, output, truncated }
    }
}

impl CheckEnvironment {
    /// Runs the command of a check.
    pub(crate) async fn probe(
        &self,
        check: &Check,
        command: ProcessCommand,
        stop: watch::Receiver<StopLevel>,
    ) -> ProbeOutcome {
        let probe = ProbeJob {
            command,
            timeout: check.timeout,
            grace: self.grace,
            keep: KEPT_OUTPUT_BYTES,
            output: Some(check.limits.output.unwrap_or(OUTPUT_LIMIT)),
            role: ProbeRole::Observer,
        };
        self.executor.probe(probe, stop).await
    }

    /// Returns the folder shown as the workspace.
    fn folder(&self) -> &Path {
        self.sandboxes.as_ref().map_or(&self.root, |sandboxes| sandboxes.folder())
    }

    /// Looks up paths as files of the workspace. A path outside is refused whether or not the file
    /// exists.
    pub(crate) fn find_files(&self, paths: &[String]) -> Vec<FilePresence> {
        let find = |path: &String| {
            let path = Path::new(path);
            match ConfinedDir::open(self.folder()).and_then(|root| root.is_file(path)) {
                Ok(true) => FilePresence::Present,
                Ok(false) => FilePresence::Absent,
                Err(missed) => FilePresence::Unknown(missed.unable(path).reason),
            }
        };
        paths.iter().map(find).collect()
    }
}

/// Returns the findings for judgement; `None`: no command was run.
pub(crate) fn judgeable_findings<'a>(
    probed: Option<&'a ProbeOutcome>,
    files: &'a [FilePresence],
) -> ProbeFindings<'a> {
    ProbeFindings {
        exit: probed.map(|probed| &probed.exit),
        stdout: probed.map_or(&[], |probed| &probed.out),
        stderr: probed.map_or(&[], |probed| &probed.err),
        truncated: probed.is_some_and(|probed| probed.truncated),
        out_end: probed.map_or(&[], |probed| probed.ends.out.as_bytes()),
        err_end: probed.map_or(&[], |probed| probed.ends.err.as_bytes()),
        files,
    }
}

/// Returns a check's command with all templates rendered.
pub(crate) fn command(
    check: &Check,
    environment: &CheckEnvironment,
    scope: &dyn ExprScope,
) -> Result<Option<ProcessCommand>, WorkError> {
    let Some(probe) = &check.probe else {
        return Ok(None);
    };
    let unable = |error: EvalError| WorkError::logical(error.to_string());
    let env: ProcessEnv =
        environment::of_check(&environment.host, &environment.root, &environment.params, &check.env, scope)
            .map_err(unable)?;
    let cwd = folder(environment, check.cwd.as_deref())?;
    let sandbox = environment.sandboxes.as_ref();
    let mut command = ProcessCommand {
        sandbox: sandbox
            .map(|sandboxes| sandboxes.of_check(check, &environment.whiteouts, &environment.copies)),
        pins: environment.pinned_files.clone(),
        ..ProcessCommand::new(Vec::new(), env, cwd)
    };
    command.argv = match probe {
        CheckProbe::Run(script) => shell::argv(script, command.path(), &command.cwd),
        CheckProbe::Exec(words) => render(words, scope).map_err(unable)?,
    };
    Ok(Some(command))
}

/// Renders the words of a command.
pub(super) fn render(templates: &[Template], scope: &dyn ExprScope) -> Result<Vec<String>, EvalError> {
    templates.iter().map(|word| word.render(scope)).collect()
}

/// Resolves a folder below the root; links must not lead out of it. A missing folder is reported
/// later, on use.
fn folder(environment: &CheckEnvironment, cwd: Option<&str>) -> Result<PathBuf, WorkError> {
    let Some(cwd) = cwd else {
        return Ok(environment.root.clone());
    };
    match ConfinedDir::open(environment.folder()).and_then(|root| root.find(Path::new(cwd))) {
        Ok(_) | Err(PathLookupError::Absent) => Ok(environment.root.join(cwd)),
        Err(missed) => Err(missed.unable(Path::new(cwd))),
    }
}

/// Returns the judgement without secrets. Texts are shortened when they are reported, so they are
/// masked before that: half a secret would not be recognised.
pub(crate) fn discreet(
    judge: impl Fn(&ProbeFindings<'_>) -> CriterionJudgement,
    findings: &ProbeFindings<'_>,
    mask: &SecretMask,
) -> CriterionJudgement {
    let judged = judge(findings);
    if mask.is_empty() {
        return judged;
    }
    let shown = ProbeFindings {
        stdout: &masked(findings.stdout, mask),
        stderr: &masked(findings.stderr, mask),
        ..*findings
    };
    let masked = judge(&shown);
    let reason = match judged.ruling {
        CheckRuling::Pass => "",
        // The same expectation failed, so the masked text describes it.
        _ if masked.expected == judged.expected => &masked.found,
        _ => "output that contains a secret",
    };
    CriterionJudgement {
        expected: mask.text(&judged.expected).into_owned(),
        found: mask.text(reason).into_owned(),
        evidence: masked.evidence,
        ..judged
    }
}

/// Returns the bytes without secrets. At a cut-off, a possible beginning of a secret is dropped.
pub(crate) fn masked(bytes: &[u8], mask: &SecretMask) -> Vec<u8> {
    let mut stream = mask.stream();
    let mut shown = stream.feed(bytes).into_owned();
    if bytes.len() < KEPT_OUTPUT_BYTES {
        shown.extend(stream.finish());
    }
    shown
}

mod reports;
#[cfg(test)]
mod tests;

pub use reports::REPORTS_VARIABLE;
