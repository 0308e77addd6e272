//! A place of its own for the real program: an empty folder, an empty environment.

mod office;

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

pub use office::Office;

/// A temporary workspace, gone when dropped.
pub struct Sandbox {
    dir: tempfile::TempDir,
}

/// The headings below which a help lists commands.
const LISTS: [&str; 7] = ["Commands:", "Run:", "Look:", "Trust:", "Goals:", "Agents:", "State:"];

/// The names of the commands that a help lists.
pub fn commands_in(help: &str) -> Vec<String> {
    let mut is_list = false;
    let mut names = Vec::new();
    for line in help.lines() {
        match line.strip_prefix("  ") {
            None => is_list = LISTS.contains(&line) || is_list && line.is_empty(),
            Some(row) if is_list && !row.starts_with(' ') => names.extend(row.split(' ').next()),
            Some(_) => {}
        }
    }
    names.into_iter().filter(|name| *name != "help").map(Into::into).collect()
}

/// What the program did.
#[derive(Debug)]
pub struct Did {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Sandbox {
    /// An empty workspace: a `wf.yaml` without content marks its root.
    pub fn new() -> Self {
        let sandbox = Self { dir: tempfile::tempdir().expect("a temporary folder") };
        sandbox.file("wf.yaml", "# nothing is configured\n");
        sandbox
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Writes a file, with the folders above it.
    pub fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Imports lines of memory, signed with a key of the user.
    pub fn remember(&self, lines: impl AsRef<[u8]>) {
        self.file("known.jsonl", lines);
        if self.wf(&["memory", "sign", "known.jsonl", "--out", "known.json"]).code != Some(0) {
            self.wf(&["key", "init", "ada", "-q"]).exits(0);
            self.wf(&["memory", "sign", "known.jsonl", "--out", "known.json"]).exits(0);
        }
        self.wf(&["memory", "import", "known.json"]).exits(0);
    }

    /// The text of a file; empty if there is none.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap_or_default()
    }

    /// The database of the state, for somebody who does as they like.
    pub fn database(&self) -> rusqlite::Connection {
        #[expect(clippy::disallowed_methods, reason = "tests look at the state from outside")]
        let opened = rusqlite::Connection::open(self.at(".wf/state.db"));
        opened.expect("there is a state")
    }

    /// Waits, a minute at most, until no run goes on or waits.
    #[track_caller]
    pub fn until_runs_end(&self) {
        let open = "SELECT count(*) FROM runs WHERE outcome IS NULL";
        let count = || self.database().query_row(open, [], |row| row.get::<_, i64>(0)).unwrap_or(1);
        for _ in 0..1200 {
            if count() == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("a run never ends: {}", self.wf(&["show", "--last"]).all());
    }

    /// The program, ready to be started here. Who starts a daemon has accepted the goals that there are.
    pub fn command(&self, args: &[&str]) -> Command {
        if args.first() == Some(&"daemon") {
            self.accept();
        }
        self.unaccepted(args)
    }

    /// Accepts all goals, where that is for who owns them.
    pub fn accept(&self) {
        self.wf(&["goal", "accept", "--all", "--yes"]);
    }

    /// The program, where nobody has accepted anything.
    pub fn unaccepted(&self, args: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_wf"));
        command.args(args);
        command
    }

    /// Another program, ready to be started here.
    pub fn program(&self, program: &str) -> Command {
        #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
        let mut command = Command::new(program);
        #[expect(clippy::disallowed_methods, reason = "programs are found where the tests find them")]
        let path = std::env::var("PATH").unwrap_or_default();
        command.current_dir(self.path()).env_clear();
        command.env("PATH", path).env("HOME", self.path()).env("USER", "robin").env("LC_ALL", "C.UTF-8");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub fn wf(&self, args: &[&str]) -> Did {
        Did::of(&mut self.command(args))
    }

    /// Starts the program and lets it run.
    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).spawn().expect("wf can be started")
    }
}

impl Did {
    /// What a program did, once it has ended.
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().expect("wf can be started");
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Everything it wrote.
    pub fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// Asserts the exit code, showing what was written if it is another.
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

/// Waits, a bounded time, for something to become true.
#[track_caller]
pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never: {what}");
}
