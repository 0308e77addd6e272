//! Which repositories of other users the user of `wf` trusts, by `safe.directory` in their own settings of git.
//!
//! Git refuses a repository of another user unless the settings of the user or of the system name it. A sandbox shows none of
//! the user's settings: it is told what they say of this repository, so that git refuses there what it refuses outside.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use super::{
    GitError, GitLocation,
    repository::{TIMEOUT, wait_for},
};
use wf_core::machine::WorkExit;
use wf_exec::{
    HostEnv,
    probe::{ProbeJob, ProbeRole},
    process::ProcessCommand,
    sandbox::SandboxFactory,
};

/// The variables of the user for git to find their settings.
const VARIABLES: [&str; 6] =
    ["PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// The settings below the home folder.
const OWN_SETTINGS: [&str; 2] = ["~/.gitconfig", "~/.config/git/config"];

/// The largest answer, in bytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The trust of a user in a repository of another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryTrust {
    /// The values of `safe.directory` that speak of the repository, or of one in it.
    pub values: Vec<String>,
    /// True if they name the repository itself.
    pub is_trusted: bool,
}

impl RepositoryTrust {
    /// Reads what the settings of the user say of a repository; `None`: it is the user's own.
    pub fn of(location: &GitLocation, state: &Path, host: &HostEnv) -> Result<Option<Self>, GitError> {
        let me = rustix::process::geteuid().as_raw();
        let places = [&location.top, &location.top.join(".git"), &location.dir];
        let is_own = |place: &&Path| fs::symlink_metadata(place).is_ok_and(|metadata| metadata.uid() == me);
        if places.iter().all(|place| is_own(&place.as_path())) {
            return Ok(None);
        }
        let answer = ask(&location.top, state, host)?;
        let home = host.get("HOME").map(Path::new);
        Ok(Some(Self::from_answer(&answer, &location.top, home)))
    }

    /// Reads values ending with NUL. An empty one takes back those before it.
    fn from_answer(answer: &[u8], top: &Path, home: Option<&Path>) -> Self {
        let mut trust = Self::default();
        let values = answer.strip_suffix(b"\0").unwrap_or_default().split(|byte| *byte == 0);
        for value in values.filter_map(|value| str::from_utf8(value).ok()) {
            if value.is_empty() {
                trust = Self::default();
                continue;
            }
            let (folder, reaches_below) = match value.strip_suffix("/*") {
                Some(folder) => (folder, true),
                None => (value, false),
            };
            let folder = match (folder.strip_prefix("~/"), home) {
                (Some(below), Some(home)) => home.join(below),
                _ => Path::new(folder).to_path_buf(),
            };
            let folder = folder.canonicalize().unwrap_or(folder);
            let names_it = value == "*" || folder == top || reaches_below && top.starts_with(&folder);
            trust.is_trusted |= names_it;
            if names_it || folder.starts_with(top) {
                trust.values.push(value.to_owned());
            }
        }
        trust
    }
}

/// Asks git for the values of `safe.directory`, outside of any repository: what a repository says of itself does not count.
fn ask(top: &Path, state: &Path, host: &HostEnv) -> Result<Vec<u8>, GitError> {
    let named =
        ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(|name| host.get(name).cloned());
    let elsewhere = host.get("XDG_CONFIG_HOME").map(|folder| format!("{folder}/git/config"));
    let files: Vec<String> =
        OWN_SETTINGS.map(str::to_owned).into_iter().chain(named).chain(elsewhere).collect();
    let values = VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), host.get(*name)?.clone())));
    let words = ["git", "config", "--null", "--get-all", "safe.directory"];
    let command = ProcessCommand {
        argv: words.map(str::to_owned).into(),
        env: values.chain([("LC_ALL".to_owned(), "C".to_owned())]).collect(),
        cwd: "/tmp".into(),
        sandbox: Some(SandboxFactory::new(top, state, host, &[]).read_only(&files)),
        pins: None,
        input: None,
    };
    let outcome = wait_for(ProbeJob {
        command,
        timeout: TIMEOUT,
        grace: std::time::Duration::from_secs(1),
        keep: MAX_ANSWER_BYTES,
        output: None,
        role: ProbeRole::Observer,
    })?;
    match outcome.exit {
        WorkExit::Code { code: 0 } => Ok(outcome.out),
        // Nothing is set.
        WorkExit::Code { code: 1 } => Ok(Vec::new()),
        WorkExit::Code { code } => Err(GitError::failed("config", code, &outcome.err)),
        other => Err(GitError::Unable(other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::RepositoryTrust;

    #[test]
    fn a_repository_is_trusted_by_its_name_by_a_folder_above_it_or_with_all_others() {
        let trusts = |values: &[&str]| {
            let answer: String = values.iter().map(|value| format!("{value}\0")).collect();
            let answer = answer.into_bytes();
            let home = Some(Path::new("/home/ada"));
            let trust = RepositoryTrust::from_answer(&answer, Path::new("/home/ada/src/repo"), home);
            (trust.is_trusted, trust.values.len())
        };
        for value in ["*", "/home/ada/src/repo", "~/src/repo", "/home/ada/*", "~/src/*"] {
            assert_eq!(trusts(&[value]), (true, 1), "{value}");
            assert_eq!(trusts(&["/other", value]), (true, 1), "{value}");
            assert_eq!(trusts(&[value, ""]), (false, 0), "{value}");
        }
        assert_eq!(trusts(&["/home/ada/src/repo/sub"]), (false, 1));
        for value in ["/home/ada/src", "/home/ada/src/rep/*", "/home/bob/*"] {
            assert_eq!(trusts(&[value]), (false, 0), "{value}");
        }
        assert_eq!(trusts(&[]), (false, 0));
    }
}
