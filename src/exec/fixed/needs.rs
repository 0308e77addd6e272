//! What a command relies on, by its words alone. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::words::{self, Event, Part, Simple, Word};
use crate::exec::shell;

/// How deep scripts inside of scripts are looked at.
const DEEPEST: usize = 8;

/// Something that a check relies on. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    /// A file that is executed, if it is text.
    Script(PathBuf),
    /// A file that is read if it is there.
    File(PathBuf),
    /// A program by its name, and the `PATH` in which it is looked for.
    Program(String, String),
    /// A repository of git, as seen from a folder.
    Git(PathBuf),
}

mod families;

/// What is known before a command runs.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    /// The variables. `None`: only known later.
    pub(super) vars: BTreeMap<String, Option<String>>,
    /// The working directory; `None` if it is only known later.
    pub(super) cwd: Option<PathBuf>,
    /// The workspace's root.
    pub(super) root: PathBuf,
}

/// What a command relies on, and what it says itself that it makes.
pub(super) struct Relied {
    pub(super) needs: BTreeSet<Need>,
    /// The scripts that it executes only after it made them: who knows its words knows them.
    pub(super) own: BTreeSet<PathBuf>,
    /// The files whose permissions it sets.
    pub(super) touched: BTreeSet<PathBuf>,
}

/// What a command relies on that no shell reads, and what it makes. `None` is a word that is only
/// known later.
pub(super) fn said_by(argv: &[Option<String>], scene: Scene) -> Relied {
    let mut walker = Walker::new(scene);
    walker.bare = true;
    walker.command(argv, &Simple::default());
    let own = walker.own.difference(&walker.found).cloned().collect();
    Relied {
        needs: walker.needs,
        own,
        touched: walker.touched,
    }
}

struct Walker {
    scene: Scene,
    outer: Vec<Scene>,
    needs: BTreeSet<Need>,
    depth: usize,
    /// Whether there is no shell, and so nothing that is built into it.
    bare: bool,
    /// The files that it has made so far.
    made: BTreeSet<PathBuf>,
    /// The scripts that it executes once it has made them, and those that it finds.
    own: BTreeSet<PathBuf>,
    found: BTreeSet<PathBuf>,
    /// The files whose permissions it sets.
    touched: BTreeSet<PathBuf>,
}

impl Walker {
    fn new(scene: Scene) -> Self {
        Self {
            scene,
            outer: Vec::new(),
            needs: BTreeSet::new(),
            depth: 0,
            bare: false,
            made: BTreeSet::new(),
            own: BTreeSet::new(),
            found: BTreeSet::new(),
            touched: BTreeSet::new(),
        }
    }

    fn script(&mut self, text: &str) {
        if self.depth >= DEEPEST {
            return;
        }
        self.depth += 1;
        let bare = std::mem::take(&mut self.bare);
        for event in words::read(text) {
            match event {
                Event::Open => self.outer.push(self.scene.clone()),
                Event::Close => {
                    if let Some(scene) = self.outer.pop() {
                        self.scene = scene;
                    }
                }
                Event::Simple(simple) => self.simple(&simple),
            }
        }
        self.bare = bare;
        self.depth -= 1;
    }

    fn simple(&mut self, simple: &Simple) {
        let assigned = |word: &Word| match word.first() {
            Some(Part::Text(text)) => is_assignment(text),
            _ => false,
        };
        let count = simple
            .words
            .iter()
            .take_while(|word| assigned(word))
            .count();
        let (before, words) = simple.words.split_at(count);
        let kept = self.scene.vars.clone();
        for word in before {
            self.assign(word);
        }
        if words.is_empty() {
            return self.makes_of(simple);
        }
        let known: Vec<Option<String>> = words.iter().map(|word| self.value(word)).collect();
        if matches!(known.first(), Some(Some(name)) if DECLARING.contains(&name.as_str())) {
            words.iter().skip(1).for_each(|word| self.assign(word));
            return;
        }
        self.command(&known, simple);
        self.makes_of(simple);
        if count > 0 {
            self.scene.vars = kept;
        }
    }

    /// Notes `NAME=value`.
    fn assign(&mut self, word: &Word) {
        let Some(Part::Text(text)) = word.first() else {
            return;
        };
        let Some((name, rest)) = text.split_once('=') else {
            return;
        };
        let mut value: Word = vec![Part::Text(rest.to_owned())];
        value.extend(word.iter().skip(1).cloned());
        let value = self.value(&value);
        self.scene.vars.insert(name.to_owned(), value);
    }

    fn value(&self, word: &Word) -> Option<String> {
        let mut value = String::new();
        for part in word {
            match part {
                Part::Text(text) => value += text,
                Part::Var(name) => value += self.scene.vars.get(name)?.as_ref()?,
                Part::Unknown => return None,
            }
        }
        Some(value)
    }

    fn path(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let path = if path.is_absolute() {
            path.to_path_buf()
        } else {
            self.scene.cwd.as_ref()?.join(path)
        };
        Some(tidy(&path))
    }

    fn need_script(&mut self, path: &str) {
        if let Some(path) = self.path(path) {
            let made = self.made.contains(&path);
            let kind = if made { &mut self.own } else { &mut self.found };
            kind.insert(path.clone());
            self.needs.insert(Need::Script(path));
        }
    }

    /// Notes the files that a command makes of what it prints.
    fn makes_of(&mut self, simple: &Simple) {
        let made = simple.made.iter().filter_map(|word| self.value(word));
        let made: Vec<String> = made.collect();
        self.makes(made.iter().map(String::as_str));
    }

    /// Notes files that are made anew.
    fn makes<'a>(&mut self, paths: impl Iterator<Item = &'a str>) {
        let made: Vec<PathBuf> = paths.filter_map(|path| self.path(path)).collect();
        self.made.extend(made);
    }

    fn need_file(&mut self, path: &str) {
        self.needs.extend(self.path(path).map(Need::File));
    }

    /// A program and its arguments.
    fn command(&mut self, words: &[Option<String>], simple: &Simple) {
        let Some((Some(name), args)) = words.split_first() else {
            return;
        };
        let builtin = !self.bare && shell::is_builtin(name);
        match name.as_str() {
            "cd" | "pushd" if !self.bare => return self.change(args),
            "." | "source" if !self.bare => {
                if let Some(Some(file)) = args.first() {
                    self.need_script(file);
                }
                return;
            }
            "eval" | "trap" if !self.bare => {
                let text: Vec<&str> = args.iter().flatten().map(String::as_str).collect();
                return self.script(&text.join(" "));
            }
            _ if name.contains('/') => self.need_script(name),
            _ if builtin => {}
            _ => {
                if let Some(Some(path)) = self.scene.vars.get("PATH") {
                    self.needs.insert(Need::Program(name.clone(), path.clone()));
                }
            }
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        self.reads(family(base), args, simple);
    }

    fn change(&mut self, args: &[Option<String>]) {
        let to = args
            .iter()
            .find(|word| word.as_deref().is_none_or(|word| !word.starts_with('-')));
        self.scene.cwd = match to {
            Some(Some(to)) => self.path(to),
            _ => None,
        };
    }
}

/// Builtins that give variables their values.
const DECLARING: [&str; 5] = ["export", "readonly", "local", "declare", "typeset"];

/// The name of a program without its version.
fn family(name: &str) -> &str {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let versioned = [
        "python", "pypy", "ruby", "perl", "lua", "php", "node", "bash",
    ];
    if versioned.contains(&plain) {
        plain
    } else {
        name
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// A path without `.` and `..`, by its words alone.
pub(in crate::exec) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(tidy.pop()),
            other => tidy.push(other),
        }
    }
    tidy
}

#[cfg(test)]
mod tests;
