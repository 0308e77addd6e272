//! A process in a container: the command line of podman or docker running it, and the one removing what is left of it.
//!
//! Both are called container engines here. The process of the attempt is the client of one. To end
//! it does not end a container of docker, whose processes belong to a daemon; so the container has a
//! name, and is removed by that name after every attempt, however it ended.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use wf_model::EngineFailure;

use super::{
    probe::{ProbeJob, ProbeRole},
    process::{self, ProcessCommand},
};
use crate::{HostEnv, ProcessEnv, work_error::WorkError};

/// The container engines, the preferred one first: containers of podman are descendants of the supervisor,
/// and end with it.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// The reason why no container can be run.
pub const NO_ENGINE: &str = "neither podman nor docker is in PATH";

/// The beginnings of the names of variables the client reads itself.
const CLIENT_PREFIXES: [&str; 8] =
    ["CONTAINER", "DBUS_", "DOCKER_", "LD_", "PODMAN_", "REGISTRY_", "STORAGE_", "XDG_"];

/// Further variables the client reads itself.
const CLIENT_VARIABLES: [&str; 3] = ["HOME", "PATH", "TMPDIR"];

/// The time limit for removing a container.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(20);

/// The container of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct AttemptContainer<'a> {
    /// The image, by its digest.
    pub image: &'a str,
    /// The name of the container, unique to the attempt.
    pub name: &'a str,
    /// The environment of `wf`, for the client.
    pub host: &'a HostEnv,
    /// The root of the workspace, mounted at the same path.
    pub root: &'a Path,
    /// The output file.
    pub output: &'a Path,
}

/// Returns the container engine to use, as found in a `PATH`.
pub fn find_engine(path: Option<&str>) -> Option<PathBuf> {
    let mut programs = ENGINES.iter().map(|name| process::find(name, path, Path::new("/")));
    programs.find_map(Result::ok)
}

impl AttemptContainer<'_> {
    /// Returns the command of a client executing a command in the container. No value of a variable is in its
    /// arguments, which every user of the machine can read.
    pub fn wrap(&self, command: ProcessCommand) -> Result<ProcessCommand, WorkError> {
        let engine = self.engine()?;
        let (own, passed): (ProcessEnv, ProcessEnv) =
            command.env.iter().cloned().partition(|(name, _)| is_read_by_client(name));
        let mut argv = vec![engine.display().to_string()];
        argv.extend(
            ["run", "--rm", "--init", "--log-driver", "none", "--stop-timeout", "0"].map(String::from),
        );
        argv.extend(["--security-opt".into(), "label=disable".into(), "--name".into(), self.name.into()]);
        argv.extend(user(&engine));
        argv.extend(self.mounts(&command.env));
        argv.extend(["--workdir".into(), command.cwd.display().to_string()]);
        let input = (!own.is_empty()).then(|| env_file(&own)).transpose()?;
        if input.is_some() {
            argv.extend(["--env-file", "/dev/stdin"].map(String::from));
        }
        argv.extend(passed.iter().flat_map(|(name, _)| ["--env".into(), name.clone()]));
        let mut words = command.argv.into_iter();
        let program = words.next().ok_or_else(|| WorkError::logical("no program to execute"))?;
        argv.extend(["--entrypoint".into(), program, self.image.to_owned()]);
        argv.extend(words);
        Ok(ProcessCommand { argv, env: self.client_env(passed), input, ..command })
    }

    /// Returns the command removing the container, if it is still there.
    pub fn removal(&self) -> Result<ProbeJob, WorkError> {
        let argv = [self.engine()?.display().to_string(), "rm".into(), "--force".into(), self.name.into()];
        let env = self.client_env(Vec::new());
        let command = ProcessCommand::new(argv.into(), env, self.root.to_path_buf());
        let grace = Duration::from_secs(1);
        let role = ProbeRole::Observer;
        Ok(ProbeJob { command, timeout: REMOVAL_TIMEOUT, grace, keep: 0, output: None, role })
    }

    fn engine(&self) -> Result<PathBuf, WorkError> {
        let engine_path = find_engine(self.host.get("PATH").map(String::as_str));
        engine_path.ok_or_else(|| {
            WorkError::engine(EngineFailure::Setup, format!("{NO_ENGINE}: install one of them"))
        })
    }

    /// Returns the variables of the client: its own from `wf`, and those to pass on.
    fn client_env(&self, passed: ProcessEnv) -> ProcessEnv {
        let own = self.host.iter().filter(|(name, _)| is_read_by_client(name));
        own.map(|(name, value)| (name.clone(), value.clone())).chain(passed).collect()
    }

    /// Returns the mounts: the workspace, and the files for the attempt if they are elsewhere.
    fn mounts(&self, env: &ProcessEnv) -> Vec<String> {
        let feedback = env.iter().find(|(name, _)| name == "WF_CORRECTION_FILE");
        let files = [Some(self.output), feedback.map(|(_, path)| Path::new(path))].into_iter().flatten();
        let files = files.filter(|file| !file.starts_with(self.root));
        let paths = std::iter::once(self.root).chain(files);
        paths.flat_map(|path| ["--mount".into(), mount(path)]).collect()
    }
}

/// Returns a mount at the same path, as a line of comma-separated values.
fn mount(path: &Path) -> String {
    let path = path.display().to_string().replace('"', "\"\"");
    format!("type=bind,\"source={path}\",\"target={path}\"")
}

/// Returns the options by which files are owned by the caller.
fn user(engine: &Path) -> Vec<String> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let mut options = vec!["--user".into(), format!("{}:{}", user.as_raw(), group.as_raw())];
    if engine.ends_with("podman") && !user.is_root() {
        options.extend(["--userns".into(), "keep-id".into()]);
    }
    options
}

/// True if the client would take the variable for its own.
fn is_read_by_client(name: &str) -> bool {
    CLIENT_VARIABLES.contains(&name) || CLIENT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns variables the client must not see as its own, one a line.
fn env_file(vars: &ProcessEnv) -> Result<String, WorkError> {
    if let Some((name, _)) = vars.iter().find(|(_, value)| value.contains('\n')) {
        let reason =
            format!("the value of `{name}` has more than one line, which a container cannot be given");
        return Err(WorkError::logical(reason));
    }
    Ok(vars.iter().map(|(name, value)| format!("{name}={value}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::{AttemptContainer, HostEnv, ProcessCommand};
    use std::{os::unix::fs::PermissionsExt as _, path::Path};

    const IMAGE: &str = "registry.example/tool@sha256:0123";

    /// A folder with engines of these names, which do nothing.
    fn folder_with(engines: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in engines {
            let file = folder.path().join(name);
            std::fs::write(&file, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    fn command(env: &[(&str, &str)]) -> ProcessCommand {
        ProcessCommand {
            argv: ["sh", "-c", "make"].map(String::from).into(),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            cwd: "/work/part".into(),
            sandbox: None,
            pins: None,
            input: None,
        }
    }

    fn with<T>(engines: &[&str], act: impl FnOnce(AttemptContainer<'_>) -> T) -> T {
        let folder = folder_with(engines);
        let path = folder.path().display().to_string();
        let host = [("PATH", path.as_str()), ("DOCKER_HOST", "unix:///d"), ("OTHER", "x")];
        let host: HostEnv = host.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let (root, output) = (Path::new("/work"), Path::new("/state/a,b.out"));
        act(AttemptContainer { image: IMAGE, name: "wf-r-build-1", host: &host, root, output })
    }

    fn value<'a>(command: &'a ProcessCommand, name: &str) -> Option<&'a str> {
        let mut own = command.env.iter().filter(|(known, _)| known == name);
        own.next().map(|(_, value)| value.as_str())
    }

    #[test]
    fn podman_is_preferred_and_one_is_needed() {
        for (engines, used) in [(&["docker", "podman"][..], "/podman"), (&["docker"], "/docker")] {
            let client = with(engines, |container| container.wrap(command(&[]))).unwrap();
            assert!(client.argv[0].ends_with(used), "{:?}", client.argv);
        }
        let error = with(&[], |container| container.wrap(command(&[]))).unwrap_err();
        assert_eq!(error.reason, "neither podman nor docker is in PATH: install one of them");
    }

    #[test]
    fn the_command_line_names_all_that_the_process_gets() {
        let env = [("WF_STEP", "build"), ("TOKEN", "s3cret")];
        let client = with(&["docker"], |container| container.wrap(command(&env))).unwrap();
        let words = client.argv[1..].join(" ");
        for part in [
            "run --rm --init ",
            " --name wf-r-build-1 --user ",
            " --mount type=bind,\"source=/work\",\"target=/work\" ",
            " --mount type=bind,\"source=/state/a,b.out\",\"target=/state/a,b.out\" ",
            " --workdir /work/part --env WF_STEP --env TOKEN ",
            " --entrypoint sh registry.example/tool@sha256:0123 -c make",
        ] {
            assert!(words.contains(part), "{part}\n{words}");
        }
        assert!(!words.contains("s3cret") && !words.contains("--userns"), "{words}");
        assert_eq!(value(&client, "TOKEN"), Some("s3cret"));
        assert_eq!(value(&client, "DOCKER_HOST"), Some("unix:///d"));
        assert_eq!(value(&client, "OTHER"), None);
        assert_eq!(client.input, None);
    }

    #[test]
    fn variables_of_the_process_are_not_those_of_the_client() {
        let env = [("HOME", "/inner"), ("DOCKER_HOST", "tcp://inner"), ("X", "1")];
        let client = with(&["docker"], |container| container.wrap(command(&env))).unwrap();
        assert_eq!(value(&client, "HOME"), None);
        assert_eq!(value(&client, "DOCKER_HOST"), Some("unix:///d"));
        assert_eq!(client.input.as_deref(), Some("HOME=/inner\nDOCKER_HOST=tcp://inner\n"));
        assert!(client.argv.join(" ").contains(" --env-file /dev/stdin --env X "), "{:?}", client.argv);
        let two = with(&["docker"], |container| container.wrap(command(&[("HOME", "a\nB=c")])));
        assert!(two.unwrap_err().reason.starts_with("the value of `HOME` has more than one line"));
    }

    #[test]
    fn the_container_is_removed_by_its_name() {
        let removal = with(&["podman"], |container| container.removal()).unwrap();
        assert_eq!(removal.command.argv[1..], ["rm", "--force", "wf-r-build-1"]);
    }
}
