use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::needs::{self, Need, Scene, tidy};
use super::python;
use crate::exec::{Host, process};
use crate::model::Object;

/// How much of a file says whether it is text, and who executes it.
const HEAD: u64 = 512;

/// How many interpreters of interpreters are followed.
const DEEPEST: usize = 4;

/// What is known wherever a check is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The workspace's root.
    pub root: &'a Path,
    /// The engine's own environment.
    pub host: &'a Host,
    /// The plan's parameters; `None` if they are not known when the run begins.
    pub params: Option<&'a Object>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The check executes it: noted even if it is not there.
    Script,
    /// It is a binary of the workspace that the check names: the product of work, unless it was
    /// text when the run began.
    Binary,
    /// It is read if it is there.
    Read,
}

/// A command, as far as it is known.
pub(in crate::exec) struct Said<'a> {
    /// The program and its arguments; `None` is a word that is only known later.
    pub(in crate::exec) argv: Vec<Option<String>>,
    /// The variables that it sees; `None` is a value that is only known later.
    pub(in crate::exec) vars: BTreeMap<String, Option<String>>,
    /// Where it runs; absolute.
    pub(in crate::exec) cwd: PathBuf,
    /// The workspace's root.
    pub(in crate::exec) root: &'a Path,
}

/// How a command comes to use a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum Role {
    /// It executes it.
    Script,
    /// It executes it, and sets its permissions as well.
    Touched,
    /// It may read it as code.
    Read,
}

/// What was looked up for commands before: many steps run the same programs in the same place.
#[derive(Debug, Default)]
pub(in crate::exec) struct Looked(BTreeMap<Asked, Meant>);

/// What is needed, and where: the working directory, the home and the `PATH`.
type Asked = (Need, PathBuf, Option<PathBuf>, Option<String>);

/// The files that a need means.
#[derive(Debug, Default)]
struct Meant {
    found: BTreeMap<String, Why>,
    /// The program, if it is one.
    program: Option<String>,
}

/// The files of the workspace that a command executes, or reads as code, by the paths at which it
/// finds them, relative to the root. What it makes itself is not among them, nor are binaries that
/// a script names: those are products of work.
pub(in crate::exec) fn executed(said: Said<'_>, looked: &mut Looked) -> BTreeMap<String, Role> {
    let cwd = tidy(&said.cwd);
    let direct = said.argv.first().cloned().flatten();
    let direct = direct.filter(|name| name.contains('/'));
    let direct = direct.map(|name| tidy(&cwd.join(name)));
    let mut looking = Looking {
        home: said.vars.get("HOME").cloned().flatten().map(PathBuf::from),
        path: said.vars.get("PATH").cloned().flatten(),
        root: said.root,
        cwd: cwd.clone(),
        found: BTreeMap::new(),
    };
    let scene = Scene {
        vars: said.vars,
        cwd: Some(cwd),
        root: said.root.to_path_buf(),
    };
    let relied = needs::said_by(&said.argv, scene);
    let own: Vec<String> = relied.own.iter().map(|file| looking.shown(file)).collect();
    let mut programs = BTreeSet::new();
    for need in relied.needs {
        let meant = looking.meant(need, looked);
        programs.extend(meant.program.clone());
        for (path, why) in &meant.found {
            let known = looking.found.entry(path.clone());
            known.or_insert(*why);
        }
    }
    let direct = direct.map(|file| looking.shown(&file));
    let role = |path: &String, why: Why| match why {
        _ if path.starts_with('/') || own.contains(path) => None,
        Why::Binary if direct.as_ref() != Some(path) => None,
        Why::Script | Why::Binary => Some(Role::Script),
        Why::Read if programs.contains(path) => Some(Role::Script),
        Why::Read => Some(Role::Read),
    };
    let touched: Vec<String> = (relied.touched.iter())
        .map(|file| looking.shown(file))
        .collect();
    let found = looking.found.iter().filter_map(|(path, why)| {
        let role = match role(path, *why)? {
            Role::Script if touched.contains(path) => Role::Touched,
            role => role,
        };
        Some((path.clone(), role))
    });
    found.collect()
}

struct Looking<'a> {
    home: Option<PathBuf>,
    path: Option<String>,
    root: &'a Path,
    cwd: PathBuf,
    found: BTreeMap<String, Why>,
}

impl Looking<'_> {
    fn need(&mut self, need: Need) {
        match need {
            Need::Script(file) => self.script(&file, 0),
            Need::File(file) => self.note(&file, Why::Read),
            Need::Program(name, path) => self.program(&name, Some(&path), 0),
            // What git is told by is no file of the plan.
            Need::Git(_) => {}
        }
    }

    /// What a need means.
    fn meant<'l>(&self, need: Need, looked: &'l mut Looked) -> &'l Meant {
        let place = (self.cwd.clone(), self.home.clone(), self.path.clone());
        let asked = (need.clone(), place.0, place.1, place.2);
        looked.0.entry(asked).or_insert_with(|| {
            let mut own = Looking {
                home: self.home.clone(),
                path: self.path.clone(),
                cwd: self.cwd.clone(),
                found: BTreeMap::new(),
                ..*self
            };
            let program = match &need {
                Need::Program(name, path) => process::find(name, Some(path), &self.cwd).ok(),
                _ => None,
            };
            let program = program.map(|file| self.shown(&tidy(&file)));
            own.need(need);
            let found = own.found;
            Meant { found, program }
        })
    }

    fn shown(&self, file: &Path) -> String {
        let file = file.strip_prefix(self.root).unwrap_or(file);
        file.to_string_lossy().into_owned()
    }

    fn note(&mut self, file: &Path, why: Why) {
        self.found.entry(self.shown(file)).or_insert(why);
    }

    fn program(&mut self, name: &str, path: Option<&str>, depth: usize) {
        if let Ok(file) = process::find(name, path, &self.cwd) {
            let file = tidy(&file);
            self.note(&file, Why::Read);
            self.interpreters(&file, &head(&file), depth);
        }
    }

    fn script(&mut self, file: &Path, depth: usize) {
        let head = head(file);
        let binary = head.contains(&0) && file.starts_with(self.root);
        self.note(file, if binary { Why::Binary } else { Why::Script });
        self.interpreters(file, &head, depth);
    }

    /// Who executes a file that begins with `#!`, and what those read when they start.
    fn interpreters(&mut self, file: &Path, head: &[u8], depth: usize) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let shim = file.parent().is_some_and(|dir| dir.ends_with("shims"));
        if name.starts_with("python") || name.starts_with("pypy") || shim {
            for (file, within) in python::starters(file, self.home.as_deref()) {
                if !within.is_some_and(|within| within.starts_with(self.root)) {
                    self.note(&file, Why::Read);
                }
            }
            let names = [self.cwd.as_path(), self.root].map(|dir| dir.join(".python-version"));
            for file in names {
                self.note(&file, Why::Read);
            }
        }
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let Some(line) = line.strip_prefix(b"#!").filter(|_| depth < DEEPEST) else {
            return;
        };
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.split_whitespace();
        let Some(interpreter) = words.next() else {
            return;
        };
        self.script(&self.cwd.join(interpreter), depth + 1);
        if interpreter.ends_with("/env") {
            let name = words.find(|word| !word.starts_with('-') && !word.contains('='));
            let path = self.path.clone();
            if let Some(name) = name {
                self.program(name, path.as_deref(), depth + 1);
            }
        }
    }
}

/// The beginning of a file; empty if it cannot be read or is none.
fn head(file: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    if file.is_file() {
        let read = File::open(file).and_then(|file| file.take(HEAD).read_to_end(&mut head));
        if read.is_err() {
            head.clear();
        }
    }
    head
}
