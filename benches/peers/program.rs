//! The programs that are compared: where each is, which version it is, and how it is told what to
//! do.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{load::Load, ours, python, small};

/// How a program runs a workload in a folder that has its spec.
pub struct Job {
    /// Runs or checks it.
    pub argv: Vec<String>,
    /// Goes on with it, or runs it again once all is done.
    pub again: Vec<String>,
    /// Says afterwards, with its exit code, whether the state is sound.
    pub sound: Option<Vec<String>>,
}

/// What writes the spec of a workload into a folder; or why the program cannot do it.
type Prepare = fn(&Load, &Path, &str) -> Result<Job, &'static str>;

/// A program that there may be.
struct Known {
    name: &'static str,
    /// What its file is called, `python` for a package of the environment.
    file: &'static str,
    prepare: Prepare,
    /// A word that its version has, where others have the same name.
    word: &'static str,
}

/// A program that is there.
pub struct Program {
    /// What it is called in tables.
    pub name: &'static str,
    /// Its version.
    pub version: String,
    file: String,
    prepare: Prepare,
}

/// All that is known, in the order of tables.
const KNOWN: [Known; 14] = {
    const fn known(name: &'static str, file: &'static str, prepare: Prepare) -> Known {
        Known { name, file, prepare, word: "" }
    }
    [
        known("wf", "", ours::wf),
        known("wf-normal", "", ours::wf_normal),
        known("wf-cached", "", ours::wf_cached),
        known("floor", "", ours::floor),
        known("floor-wal", "", ours::floor_wal),
        Known { word: "GNU Make", ..known("make", "make", small::make) },
        known("ninja", "ninja", small::ninja),
        known("xargs", "xargs", small::xargs),
        Known { word: "GNU parallel", ..known("parallel", "parallel", small::parallel) },
        known("just", "just", small::just),
        known("task", "task", small::task),
        known("doit", "python", python::doit),
        known("luigi", "python", python::luigi),
        known("snakemake", "python", python::snakemake),
    ]
};

/// The one that is a package, too, and comes last.
const DBOS: Known = Known { name: "dbos", file: "python", prepare: python::dbos, word: "" };

/// The names of all programs.
pub fn names() -> Vec<&'static str> {
    known().map(|known| known.name).collect()
}

fn known() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter().chain(std::iter::once(&DBOS))
}

/// The programs that there are, of those with these names (all, if there are none), and why others
/// are not.
pub fn found(names: &[String]) -> (Vec<Program>, Vec<(String, String)>) {
    let mut there = Vec::new();
    let mut missing = Vec::new();
    for known in known() {
        if !names.is_empty() && !names.iter().any(|name| name == known.name) {
            continue;
        }
        match known.find() {
            Ok(program) => there.push(program),
            Err(reason) => missing.push((known.name.to_owned(), reason)),
        }
    }
    (there, missing)
}

impl Known {
    fn find(&self) -> Result<Program, String> {
        let program =
            |file: String, version| Program { name: self.name, version, file, prepare: self.prepare };
        if self.file.is_empty() {
            let own = std::env::current_exe().expect("the benchmark knows its file");
            let own = own.to_string_lossy().into_owned();
            let version = match self.name.strip_prefix("wf") {
                Some(_) => said(&[ours::released(), "--version"]).unwrap_or_default(),
                None => "of this benchmark".into(),
            };
            return Ok(program(own, version));
        }
        let reason = || not_installed(self.name);
        let file = located(self.file).ok_or_else(reason)?;
        let version = match self.file {
            "python" => said(&[&file, "-c", ASK, self.name]),
            _ => said(&[&file, "--version"]),
        };
        let version = version.ok_or_else(reason)?;
        if !version.contains(self.word) {
            return Err(format!("{file} is another program: {version}"));
        }
        Ok(program(file, version))
    }
}

impl Program {
    /// Writes the spec of a workload into a folder and says how it is run; or why it cannot.
    pub fn prepare(&self, load: &Load, dir: &Path) -> Result<Job, &'static str> {
        fs::create_dir_all(dir).expect("a folder for each program");
        (self.prepare)(load, dir, &self.file)
    }
}

/// Asks Python for the version of a package.
const ASK: &str = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))";

/// Where the script that installs programs puts them.
pub fn installed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/peers")
}

/// The file of a program: where the script installs, then on the path. `python` is the one of the
/// environment alone; so is `task`, a name that others have.
fn located(file: &str) -> Option<String> {
    let own = installed().join("venv/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = match file {
        "python" | "task" => vec![],
        _ => std::env::split_paths(&path).collect(),
    };
    let mut files = std::iter::once(own).chain(path).map(|dir| dir.join(file));
    let file = files.find(|file| file.is_file())?;
    Some(file.to_string_lossy().into_owned())
}

/// Why a program is not there: what the script that installs noted, if it ran.
fn not_installed(name: &str) -> String {
    let notes = fs::read_to_string(installed().join("missing")).unwrap_or_default();
    let note = notes.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
    note.unwrap_or("not installed").to_owned()
}

/// The first line that a program prints.
pub fn said(argv: &[&str]) -> Option<String> {
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).stdin(Stdio::null());
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.filter(|_| output.status.success()).map(|line| line.trim().to_owned())
}

/// Words of a command line.
pub fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}

/// Writes a file of a spec.
pub fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) {
    fs::write(dir.join(name), text).expect("a spec can be written");
}
