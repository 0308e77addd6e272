use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{CliExitCode, CommandError, Workspace, test_clock::TestClock};
use wf_audit::AuditorConfig;
use wf_base::{
    digest::Sha256Digest,
    name::RunId,
    time::{Clock, FixedClock, Moment, SystemClock},
};
use wf_store::LEASE;

/// The variables for the clock, the ids and the death of `wf` itself, for its tests.
pub const FOR_TESTS: [&str; 6] = ["WF_NOW", "WF_SEED", "WF_CRASH", "WF_LEASE", "WF_WARP", "WF_SEGMENT"];

/// The environment of a process of `wf`, read once: its variables, its folder, its clock and its randomness.
///
/// `WF_NOW` (an instant) stops the clock and `WF_SEED` decides the ids of runs, keys and
/// nonces, so that a recorded session reads the same every time; `WF_CRASH` is for [`crash`](wf_base::failpoint) and
/// `WF_LEASE` is the length of leases in milliseconds, `WF_SEGMENT` that of a segment of the audit log in bytes. With `WF_WARP` (an instant) a daemon moves its
/// clock itself, from `WF_NOW` on, and ends there. They are for tests: a program built for
/// use refuses them, because knowing the seed means knowing every key.
#[derive(Clone)]
pub struct Host {
    vars: BTreeMap<String, String>,
    cwd: PathBuf,
    clock: Arc<dyn Clock>,
    test_clock: Option<TestClock>,
    /// The state folder, if other than that of the workspace.
    state: Option<PathBuf>,
}

impl Host {
    /// Reads the environment.
    pub fn read() -> Result<Self, CommandError> {
        Self::read_as("engine")
    }

    /// Reads the environment of a process with a certain role in a run.
    pub fn read_as(role: &str) -> Result<Self, CommandError> {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let vars: BTreeMap<String, String> = std::env::vars_os().filter_map(text).collect();
        let cwd = std::env::current_dir().map_err(|error| {
            CommandError::new(CliExitCode::Usage, format!("cannot access the current directory: {error}"))
        })?;
        refuse_test_variables(&vars, cfg!(debug_assertions))?;
        if let Some(plan) = vars.get("WF_CRASH") {
            wf_base::failpoint::arm(plan, role)
                .map_err(|error| CommandError::new(CliExitCode::Usage, error.to_string()))?;
        }
        Self::new(vars, cwd)
    }

    /// An environment of these variables, in a folder.
    pub fn new(vars: BTreeMap<String, String>, cwd: PathBuf) -> Result<Self, CommandError> {
        let (clock, test_clock) = clock(vars.get("WF_NOW"), vars.get("WF_WARP"))?;
        Ok(Self { vars, cwd, clock, test_clock, state: None })
    }

    /// Chooses a state folder.
    #[must_use]
    pub fn with_state(self, state: Option<&Path>) -> Self {
        Self { state: state.map(Path::to_path_buf), ..self }
    }

    /// Returns the same environment in another folder, with a state folder.
    #[must_use]
    pub fn of_folder(&self, cwd: &Path, state: &Path) -> Self {
        Self { cwd: cwd.to_owned(), state: Some(state.to_owned()), ..self.clone() }
    }

    /// Returns the same environment in another folder, with the state folder of the workspace there.
    #[must_use]
    pub fn in_folder(&self, cwd: PathBuf) -> Self {
        Self { cwd, state: None, ..self.clone() }
    }

    /// True if a state folder was chosen.
    pub fn has_state_folder(&self) -> bool {
        self.state.is_some()
    }

    /// The workspace of the current folder.
    pub fn workspace(&self) -> Workspace {
        self.workspace_of(&self.cwd)
    }

    /// The workspace of a folder.
    pub fn workspace_of(&self, dir: &Path) -> Workspace {
        Workspace::find(dir, self.state.as_deref(), &self.cwd)
    }

    /// A variable; `None` if it is not set, not text, or empty.
    pub fn var(&self, name: &str) -> Option<&str> {
        let value = self.vars.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    /// All variables with text, except those for tests of `wf` itself.
    pub fn vars(&self) -> BTreeMap<String, String> {
        let mut vars = self.vars.clone();
        vars.retain(|name, _| !FOR_TESTS.contains(&name.as_str()));
        vars
    }

    /// Only certain variables, as far as they are set.
    pub fn vars_named(&self, names: &[&str]) -> Vec<(String, String)> {
        let set = |name: &&str| Some(((*name).to_owned(), self.vars.get(*name)?.clone()));
        names.iter().filter_map(set).collect()
    }

    /// The current folder.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// The clock moved by a daemon itself, in tests.
    pub fn warp(&self) -> Option<TestClock> {
        self.test_clock.clone()
    }

    /// The current instant.
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// The login name of the user running `wf`, as far as it is known: `USER`, else `LOGNAME`,
    /// else the system's name for the owner of this process.
    pub fn login(&self) -> Option<String> {
        let name = ["USER", "LOGNAME"].into_iter().find_map(|name| self.var(name));
        name.map(str::to_owned).or_else(|| {
            let users = std::fs::read_to_string("/etc/passwd").ok()?;
            let uid = rustix::process::getuid().as_raw().to_string();
            let is_own = |line: &&str| line.split(':').nth(2) == Some(&uid);
            let own = users.lines().find(is_own)?;
            own.split(':').next().map(str::to_owned)
        })
    }

    /// True if this is a job of GitHub Actions.
    pub fn in_actions(&self) -> bool {
        matches!(self.var("GITHUB_ACTIONS"), Some("true" | "1"))
    }

    /// True in a job of any continuous integration: `CI` is set, and not to a no.
    pub fn in_ci(&self) -> bool {
        let is_no = |text: &str| ["false", "0"].contains(&text);
        self.var("CI").is_some_and(|value| !is_no(value))
    }

    /// The time a run stays with a process giving no sign of life.
    pub fn lease(&self) -> Result<Duration, CommandError> {
        let Some(text) = self.var("WF_LEASE") else {
            return Ok(LEASE);
        };
        let millis = text.parse().map_err(|_| {
            CommandError::new(CliExitCode::Usage, format!("WF_LEASE={text}: expected milliseconds"))
        })?;
        Ok(Duration::from_millis(millis))
    }

    /// The length of a segment of the audit log, in bytes.
    pub fn audit_segment(&self) -> u64 {
        let chosen = self.var("WF_SEGMENT").and_then(|bytes| bytes.parse().ok());
        chosen.unwrap_or(AuditorConfig::SEGMENT)
    }

    pub fn new_run(&self) -> Result<RunId, CommandError> {
        let mut bytes = [0; 16];
        if let Some(seed) = self.var("WF_SEED") {
            let digest = Sha256Digest::of_bytes(seed.as_bytes());
            return Ok(RunId::from_bytes(first_half(digest.bytes())));
        }
        seeded_bytes(&mut bytes)?;
        Ok(RunId::from_bytes(bytes))
    }

    /// Random bytes for a purpose. Under a seed, they are the same for the same purpose.
    pub fn random(&self, purpose: &str) -> Result<[u8; 32], CommandError> {
        let mut bytes = [0; 32];
        if let Some(seed) = self.var("WF_SEED") {
            return Ok(*Sha256Digest::of_parts([seed.as_bytes(), purpose.as_bytes()]).bytes());
        }
        seeded_bytes(&mut bytes)?;
        Ok(bytes)
    }

    /// Random bytes for an id or a nonce: the first half of [`Host::random`].
    pub fn random_id(&self, purpose: &str) -> Result<[u8; 16], CommandError> {
        Ok(first_half(&self.random(purpose)?))
    }
}

fn first_half(bytes: &[u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(bytes.split_at(16).0);
    half
}

/// Refuses variables for tests alone, in a program for use.
fn refuse_test_variables(vars: &BTreeMap<String, String>, for_tests: bool) -> Result<(), CommandError> {
    let set = FOR_TESTS.into_iter().find(|name| vars.contains_key(*name));
    match set.filter(|_| !for_tests) {
        Some(name) => Err(CommandError::new(
            CliExitCode::Usage,
            format!("{name} is set, but only test builds of wf support it"),
        )
        .hint(format!("unset {name}"))),
        None => Ok(()),
    }
}

fn seeded_bytes(bytes: &mut [u8]) -> Result<(), CommandError> {
    getrandom::fill(bytes).map_err(|error| {
        let message = format!("cannot read random bytes from the system: {error}");
        CommandError::new(CliExitCode::State, message)
    })
}

/// The clock: that of the system, or one standing still or moved by a daemon.
fn clock(
    fixed: Option<&String>,
    end: Option<&String>,
) -> Result<(Arc<dyn Clock>, Option<TestClock>), CommandError> {
    let moment = |name: &str, text: &String| {
        let parsed = Moment::parse(text);
        parsed.map_err(|error| CommandError::new(CliExitCode::Usage, format!("{name}: {error}")))
    };
    let Some(text) = fixed else {
        return Ok((Arc::new(SystemClock), None));
    };
    let now = moment("WF_NOW", text)?;
    let Some(end) = end else {
        return Ok((Arc::new(FixedClock(now)), None));
    };
    let warp = TestClock::new(now, moment("WF_WARP", end)?);
    Ok((Arc::new(warp.clone()), Some(warp)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{FOR_TESTS, refuse_test_variables};

    #[test]
    fn what_is_for_tests_is_refused_by_a_program_that_is_not() {
        for name in FOR_TESTS {
            let vars = BTreeMap::from([(name.to_owned(), "1".to_owned())]);
            assert!(refuse_test_variables(&vars, true).is_ok());
            let refusal = refuse_test_variables(&vars, false).unwrap_err().hints;
            let refusal: String =
                refusal.iter().map(|hint| hint.render(&|action| format!("{action:?}"))).collect();
            assert!(refusal.contains(&format!("unset {name}")), "{refusal}");
        }
        assert!(refuse_test_variables(&BTreeMap::new(), false).is_ok());
    }
}
