//! Runs checks, outside the worker: an own process, a minimal environment, bounded output.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::beneath::{Beneath, Missed};
use super::pinned::Pins;
use super::probe::Probed;
use super::process::Command;
use super::sandbox::Around;
use super::{Env, Hands, Host, Stop, Unable, environment, shell};
use crate::expr::{EvalError, Scope, Template};
use crate::machine::{Ruling, Verdict};
use crate::mask::Mask;
use crate::model::{Check, CheckPhase, ClassRule, Expect, Mode, Object, Probe};
use crate::name::Name;
use crate::time::Clock;
use crate::verify::{FileFound, Found, Judgement, judge};

/// How much of a probe's output is kept for judging, in bytes.
pub(super) const HEAD: usize = 1024 * 1024;

/// How much a probe may print if nothing is said, in bytes.
pub(super) const OUTPUT: u64 = 1 << 30;

/// Where checks run.
#[derive(Clone)]
pub struct Ground {
    /// Who starts their processes.
    pub hands: Hands,
    /// The workspace's root.
    pub root: PathBuf,
    /// The engine's own environment.
    pub host: Arc<Host>,
    /// What evidence must not show.
    pub mask: Mask,
    /// For the time a check took.
    pub clock: Arc<dyn Clock>,
    /// The time between asking a probe to end and killing it.
    pub grace: Duration,
    /// The plan's resolved parameters.
    pub params: Object,
    /// What confines them; `None`: nothing.
    pub around: Option<Arc<Around>>,
    /// The files of skills that they may execute; `None`: nothing was said of any.
    pub pins: Option<Arc<Pins>>,
    /// What they do not see of the workspace, relative to it.
    pub whiteouts: Vec<PathBuf>,
}

/// A check with its templates rendered, ready to run.
pub struct Trial {
    name: Name,
    phase: CheckPhase,
    mode: Mode,
    expect: Expect,
    classify: Vec<ClassRule>,
    timeout: Duration,
    /// How much the probe may print, in bytes.
    output: u64,
    ground: Ground,
    /// What is run, if anything; or why it cannot be.
    command: Result<Option<Command>, Unable>,
}

impl Trial {
    /// Renders a check. What goes wrong is told by the verdict.
    pub fn new(check: &Check, ground: &Ground, scope: &dyn Scope) -> Self {
        Self {
            name: check.name.clone(),
            phase: check.phase,
            mode: check.mode,
            expect: check.expect.clone(),
            classify: check.classify.clone(),
            timeout: check.timeout,
            output: check.limits.output.unwrap_or(OUTPUT),
            ground: ground.clone(),
            command: command(check, ground, scope),
        }
    }

    /// Runs the probe and judges what it left. A check that is told to end rules `error`.
    pub async fn run(self, stop: watch::Receiver<Stop>) -> Verdict {
        let began = self.ground.clock.now();
        let probed = match self.command {
            Ok(None) => None,
            Ok(Some(command)) => {
                let probe = super::probe::Probe {
                    command,
                    timeout: self.timeout,
                    grace: self.ground.grace,
                    keep: HEAD,
                    output: Some(self.output),
                };
                Some(self.ground.hands.probe(probe, stop).await)
            }
            Err(unable) => Some(Probed::silent(unable.into())),
        };
        let root = &self.ground.root;
        let paths = self.expect.file_exists.iter();
        let files: Vec<FileFound> = paths.map(|path| look(root, path)).collect();
        let found = found(probed.as_ref(), &files);
        let took = self.ground.clock.now().since(began).as_millis();
        let millis = u64::try_from(took).unwrap_or(u64::MAX);
        let rule = |found: &Found<'_>| judge(&self.expect, found, &self.classify);
        let judged = discreet(rule, &found, &self.ground.mask);
        Verdict {
            phase: self.phase,
            guards: probed.map(|probed| probed.guards.unwrap_or_default()),
            hidden: super::view::listed(&self.ground.whiteouts),
            ..judged.verdict(self.name, self.mode, millis)
        }
    }
}

/// What a probe left for judgement; `None`: nothing was run.
pub(super) fn found<'a>(probed: Option<&'a Probed>, files: &'a [FileFound]) -> Found<'a> {
    Found {
        exit: probed.map(|probed| &probed.exit),
        stdout: probed.map_or(&[], |probed| &probed.out),
        stderr: probed.map_or(&[], |probed| &probed.err),
        truncated: probed.is_some_and(|probed| probed.truncated),
        out_end: probed.map_or(&[], |probed| probed.ends.out.as_bytes()),
        err_end: probed.map_or(&[], |probed| probed.ends.err.as_bytes()),
        files,
    }
}

/// What a check executes, with everything rendered.
pub(super) fn command(
    check: &Check,
    ground: &Ground,
    scope: &dyn Scope,
) -> Result<Option<Command>, Unable> {
    let Some(probe) = &check.probe else {
        return Ok(None);
    };
    let unable = |error: EvalError| Unable::logical(error.to_string());
    let env: Env = environment::of_check(
        &ground.host,
        &ground.root,
        &ground.params,
        &check.env,
        scope,
    )
    .map_err(unable)?;
    let cwd = folder(&ground.root, check.cwd.as_deref())?;
    let mut command = Command {
        argv: Vec::new(),
        env,
        cwd,
        sandbox: (ground.around.as_ref()).map(|around| around.of_check(check, &ground.whiteouts)),
        pins: ground.pins.clone(),
        input: None,
    };
    command.argv = match probe {
        Probe::Run(script) => shell::argv(script, command.path(), &command.cwd),
        Probe::Exec(words) => render(words, scope).map_err(unable)?,
    };
    Ok(Some(command))
}

/// Renders the words of a command.
pub(super) fn render(words: &[Template], scope: &dyn Scope) -> Result<Vec<String>, EvalError> {
    words.iter().map(|word| word.render(scope)).collect()
}

/// A folder below the root, which links must not lead out of. One that is not there is found
/// missing by whoever goes there.
fn folder(root: &Path, cwd: Option<&str>) -> Result<PathBuf, Unable> {
    let Some(cwd) = cwd else {
        return Ok(root.to_path_buf());
    };
    match Beneath::open(root).and_then(|root| root.find(Path::new(cwd))) {
        Ok(_) | Err(Missed::Absent) => Ok(root.join(cwd)),
        Err(missed) => Err(missed.unable(Path::new(cwd))),
    }
}

/// Looks whether a path is a file of the workspace. One that leaves it is refused whether or not
/// there is something.
pub(super) fn look(root: &Path, path: &str) -> FileFound {
    let path = Path::new(path);
    match Beneath::open(root).and_then(|root| root.is_file(path)) {
        Ok(true) => FileFound::Yes,
        Ok(false) => FileFound::No,
        Err(missed) => FileFound::Unable(missed.unable(path).why),
    }
}

/// The ruling on what was found, told without secrets. Texts are shortened when they are told,
/// so they are masked before that: half a secret would not be known as one.
pub(super) fn discreet(
    judge: impl Fn(&Found<'_>) -> Judgement,
    found: &Found<'_>,
    mask: &Mask,
) -> Judgement {
    let judged = judge(found);
    if mask.is_empty() {
        return judged;
    }
    let shown = Found {
        stdout: &masked(found.stdout, mask),
        stderr: &masked(found.stderr, mask),
        ..*found
    };
    let told = judge(&shown);
    let reason = match judged.ruling {
        Ruling::Pass => "",
        // The same expectation was missed, so the masked text tells it.
        _ if told.expected == judged.expected => &told.found,
        _ => "output with a secret in it",
    };
    Judgement {
        expected: mask.text(&judged.expected).into_owned(),
        found: mask.text(reason).into_owned(),
        evidence: told.evidence,
        ..judged
    }
}

/// Bytes without secrets. Where they were cut off, what could be the beginning of one is left out.
pub(super) fn masked(bytes: &[u8], mask: &Mask) -> Vec<u8> {
    let mut stream = mask.stream();
    let mut shown = stream.feed(bytes).into_owned();
    if bytes.len() < HEAD {
        shown.extend(stream.finish());
    }
    shown
}

#[cfg(test)]
mod tests;
