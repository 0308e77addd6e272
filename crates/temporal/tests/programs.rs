//! Processes of the tests: what they wrote, and an end to all of them.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The longest time that anything takes.
const LONGEST_WAIT: Duration = Duration::from_secs(90);

/// What a program wrote, and how it ended.
#[derive(Debug)]
pub struct Did {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Did {
    /// Runs a program to its end.
    pub fn of(command: &mut Command) -> Self {
        Self::ended(command.spawn().unwrap())
    }

    /// Waits for the end of a program.
    pub fn ended(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Everything that it wrote.
    pub fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.all());
        self
    }

    /// Asserts that something was written.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.all().contains(text), "does not say {text:?}:\n{}", self.all());
        self
    }
}

/// A program with an environment that has only what it needs.
pub fn program(path: &str, folder: &Path, home: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
    let mut command = Command::new(path);
    #[expect(clippy::disallowed_methods, reason = "programs are found where the tests find them")]
    let path = std::env::var("PATH").unwrap_or_default();
    command.current_dir(folder).env_clear();
    command.env("PATH", path).env("HOME", home).env("USER", "robin").env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Sends a signal to a process.
pub fn signal(name: &str, pid: u32) {
    #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
    let sent = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).output().unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
}

/// Kills every process that has a folder in its arguments, in its environment, or as its working directory.
pub fn kill_all_of(folder: &Path) {
    let word = folder.to_str().unwrap().as_bytes();
    let own = std::process::id();
    for (pid, process) in processes() {
        let has = |file: &str| {
            let text = std::fs::read(process.join(file)).unwrap_or_default();
            text.windows(word.len()).any(|part| part == word)
        };
        if pid != own && (has("cmdline") || has("environ") || works_in(&process, folder)) {
            #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).output();
        }
    }
}

/// True if a process works in a folder, or below it.
pub fn is_working_in(folder: &Path) -> bool {
    processes().iter().any(|(_, process)| works_in(process, folder))
}

fn works_in(process: &Path, folder: &Path) -> bool {
    std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
}

/// All processes, each with its folder in `/proc`.
fn processes() -> Vec<(u32, PathBuf)> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pid = |entry: &std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    entries.filter_map(|entry| Some((pid(&entry)?, entry.path()))).collect()
}

/// Waits, a bounded time, for something to become true.
#[track_caller]
pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    #[expect(clippy::disallowed_methods, reason = "a test waits for real programs")]
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < LONGEST_WAIT, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
