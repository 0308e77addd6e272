use std::{
    path::Path,
    process::{Command, Stdio},
};

use super::GitError;
use wf_exec::HostEnv;

/// The variables of the user for git and its programs for connections: to find
/// themselves, the settings and credentials of the user, agents, proxies and certificates.
///
/// No `GIT_*` is among them: they would choose another repository, or settings and programs the
/// user's own files do not name. The user's and the system's settings are read, since credential helpers,
/// proxies, certificates and the rewriting of URLs are named there.
const PASSED: [&str; 26] = [
    "ALL_PROXY",
    "CURL_CA_BUNDLE",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "GNUPGHOME",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "KRB5CCNAME",
    "LOGNAME",
    "NIX_SSL_CERT_FILE",
    "NO_PROXY",
    "PATH",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "USER",
    "WAYLAND_DISPLAY",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Git prompts for nothing, and uses no protocol with programs of the source.
const VARIABLES: [(&str, &str); 6] = [
    ("GIT_ALLOW_PROTOCOL", "https:ssh:file"),
    ("GIT_ASKPASS", "true"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// Fetches one commit into a new repository without a work tree, in an empty folder, as the branch
/// `wanted`. Nothing is checked out, so that no hook, no filter and no link has an effect.
pub fn fetch_commit(dir: &Path, url: &str, revision: &str, host: &HostEnv) -> Result<(), GitError> {
    git(dir, &["init", "--quiet", "--bare", "--template=", "."], host)?;
    let commit = format!("+{revision}:refs/heads/wanted");
    let args =
        ["--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--"];
    let fetch: Vec<&str> = ["fetch"].iter().chain(&args).copied().chain([url, &commit]).collect();
    git(dir, &fetch, host)
}

/// Runs git outside of a sandbox, in a repository of `wf` itself.
fn git(dir: &Path, args: &[&str], host: &HostEnv) -> Result<(), GitError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "git needs the network and the user's credentials: it is awaited here, and no run is about"
    )]
    let mut git = Command::new("git");
    git.args(["-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0"]);
    git.args(args).current_dir(dir).env_clear().env("GIT_DIR", dir);
    git.envs(VARIABLES);
    git.envs(PASSED.iter().filter_map(|name| Some((name, host.get(*name)?))));
    let output = git.stdin(Stdio::null()).output();
    let output = output.map_err(|error| GitError::Unable(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let verb = args.first().copied().unwrap_or_default();
    Err(GitError::failed(verb, output.status.code().unwrap_or_default(), &output.stderr))
}
