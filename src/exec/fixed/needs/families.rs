//! What programs read, family by family.

use std::path::{Path, PathBuf};

use super::{Need, Walker, family, is_assignment, tidy};
use crate::exec::fixed::table::{
    INTERPRETERS, Interpreter, MODULES, RUNNERS, Runner, WRAPPERS, Wrapper,
};
use crate::exec::fixed::words::Simple;

/// Where the value of an option stands.
enum Given<'a> {
    /// In the next word.
    Apart,
    /// In the same word.
    Here(&'a str),
}

impl Given<'_> {
    /// How many words the value takes.
    fn words(&self) -> usize {
        usize::from(matches!(self, Self::Apart))
    }

    /// The value; the word that follows is given.
    fn value(&self, next: Option<&Option<String>>) -> Option<String> {
        match self {
            Self::Apart => next.cloned().flatten(),
            Self::Here(value) => Some((*value).to_owned()),
        }
    }
}

/// One of some options, and where its value stands.
fn option<'a>(word: &'a str, names: &[&str]) -> Option<Given<'a>> {
    names
        .iter()
        .find_map(|name| match word.strip_prefix(name)? {
            "" => Some(Given::Apart),
            rest if name.starts_with("--") => rest.strip_prefix('=').map(Given::Here),
            rest if name.len() == 2 => Some(Given::Here(rest)),
            _ => None,
        })
}

impl Walker {
    /// What a program reads as code, by its name.
    pub(super) fn reads(&mut self, name: &str, args: &[Option<String>], simple: &Simple) {
        match name {
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => self.shell(name, args, simple),
            "python" | "pypy" => self.python(args, simple),
            "git" => self.git(args),
            "find" => self.find(args, simple),
            "chmod" => {
                let files = args.iter().flatten().filter_map(|word| self.path(word));
                let files: Vec<PathBuf> = files.collect();
                self.touched.extend(files);
            }
            "cp" | "mv" | "install" => {
                let last = args.last().cloned().flatten();
                self.makes(last.as_deref().into_iter());
            }
            "tee" if !args.iter().flatten().any(|word| word == "-a") => {
                self.makes(args.iter().flatten().map(String::as_str));
            }
            "cc" | "gcc" | "clang" | "g++" | "c++" | "clang++" | "rustc" | "go" | "curl" => {
                let named = args.iter().position(|word| word.as_deref() == Some("-o"));
                let file = named.and_then(|at| args.get(at + 1)).cloned().flatten();
                self.makes(file.as_deref().into_iter());
            }
            _ => {}
        }
        if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            self.wrapped(wrapper, args, simple);
        }
        if let Some(rules) = INTERPRETERS
            .iter()
            .find(|rules| rules.names.contains(&name))
        {
            self.interpreter(rules, args, simple);
        }
        for runner in RUNNERS.iter().filter(|runner| runner.names.contains(&name)) {
            self.runner(runner, args);
        }
        if matches!(name, "pytest" | "py.test") {
            self.modules();
            self.collected(args);
        }
    }

    fn wrapped(&mut self, wrapper: &Wrapper, args: &[Option<String>], simple: &Simple) {
        let mut at = 0;
        let mut words = wrapper.words;
        let vars = self.scene.vars.clone();
        while let Some(word) = args.get(at) {
            let Some(word) = word else { break };
            if wrapper.valued.contains(&word.as_str()) {
                at += 1;
            } else if wrapper.name == "env" && is_assignment(word) {
                let (name, value) = word.split_once('=').unwrap_or_default();
                self.scene.vars.insert(name.into(), Some(value.into()));
            } else if !word.starts_with('-') {
                if words == 0 {
                    break;
                }
                words -= 1;
            }
            at += 1;
        }
        // What a wrapper executes is never built into the shell.
        let inside = ["command", "builtin", "exec", "time"].contains(&wrapper.name);
        let bare = self.bare;
        self.bare |= !inside;
        self.command(args.get(at..).unwrap_or_default(), simple);
        self.bare = bare;
        self.scene.vars = vars;
    }

    fn find(&mut self, args: &[Option<String>], simple: &Simple) {
        let runs = ["-exec", "-execdir", "-ok", "-okdir"];
        for (at, word) in args.iter().enumerate() {
            if word.as_deref().is_some_and(|word| runs.contains(&word)) {
                self.command(args.get(at + 1..).unwrap_or_default(), simple);
            }
        }
    }

    fn shell(&mut self, name: &str, args: &[Option<String>], simple: &Simple) {
        let (mut code, mut at) = (false, 0);
        while let Some(Some(word)) = args.get(at) {
            if let Some(value) = option(word, &["--rcfile", "--init-file"]) {
                at += value.words();
            } else if word.starts_with("--") || word.len() < 2 {
                if !word.starts_with("--") {
                    break;
                }
            } else if word.starts_with('-') || word.starts_with('+') {
                code |= word.starts_with('-') && word.contains('c');
                at += usize::from(word.ends_with('o') || word.ends_with('O'));
            } else {
                break;
            }
            at += 1;
        }
        if name == "zsh" {
            self.home_file(".zshenv");
        }
        match args.get(at) {
            Some(Some(text)) if code => self.script(text),
            Some(Some(file)) if file != "-" => self.need_script(file),
            Some(None) => {}
            _ => match &simple.here {
                Some(text) => self.script(text),
                None => self.stdin(simple),
            },
        }
    }

    fn stdin(&mut self, simple: &Simple) {
        let file = simple.stdin.as_ref().and_then(|word| self.value(word));
        if let Some(file) = file {
            self.need_script(&file);
        }
    }

    fn home_file(&mut self, name: &str) {
        if let Some(Some(home)) = self.scene.vars.get("HOME") {
            self.needs.insert(Need::File(Path::new(home).join(name)));
        }
    }

    fn python(&mut self, args: &[Option<String>], simple: &Simple) {
        let mut at = 0;
        while let Some(Some(word)) = args.get(at) {
            match word.as_str() {
                "-c" => return self.modules(),
                "-m" => {
                    self.modules();
                    if let Some(Some(module)) = args.get(at + 1) {
                        self.module(module, args.get(at + 2..).unwrap_or_default(), simple);
                    }
                    return;
                }
                "-W" | "-X" | "--check-hash-based-pycs" => at += 1,
                "-" => break,
                word if word.starts_with('-') => {}
                file => {
                    self.need_script(file);
                    let beside = self
                        .path(file)
                        .and_then(|file| Some(file.parent()?.to_path_buf()));
                    return self.shadows(beside);
                }
            }
            at += 1;
        }
        self.stdin(simple);
        self.modules();
    }

    /// What would take the place of a module of Python if it stood in the working directory.
    fn modules(&mut self) {
        self.shadows(self.scene.cwd.clone());
    }

    fn shadows(&mut self, folder: Option<PathBuf>) {
        let Some(folder) = folder else { return };
        for module in MODULES {
            self.needs
                .insert(Need::File(folder.join(format!("{module}.py"))));
            self.needs
                .insert(Need::File(folder.join(module).join("__init__.py")));
        }
    }

    fn module(&mut self, module: &str, args: &[Option<String>], simple: &Simple) {
        let path = module.replace('.', "/");
        for (at, _) in path.match_indices('/').chain([(path.len(), "")]) {
            let part = path.get(..at).unwrap_or_default();
            self.need_file(&format!("{part}.py"));
            self.need_file(&format!("{part}/__init__.py"));
        }
        self.need_file(&format!("{path}/__main__.py"));
        if module == "unittest" {
            self.collected(args);
        }
        self.reads(family(module), args, simple);
    }

    /// The tests that are named, and what is read beside them and above.
    fn collected(&mut self, args: &[Option<String>]) {
        let words = args.iter().flatten().filter(|word| !word.starts_with('-'));
        for word in words {
            let word = word.split("::").next().unwrap_or(word);
            let is_file = Path::new(word).extension().is_some_and(|end| end == "py");
            if !is_file && word.contains(['=', ' ', '.']) {
                continue;
            }
            let Some(path) = self.path(word) else {
                continue;
            };
            if is_file {
                self.needs.insert(Need::Script(path.clone()));
            } else {
                let configs = [
                    "pytest.ini",
                    ".pytest.ini",
                    "pyproject.toml",
                    "setup.cfg",
                    "tox.ini",
                ];
                let configs = configs.map(|name| Need::File(path.join(name)));
                self.needs.extend(configs);
            }
            let above = path.ancestors().skip(usize::from(is_file));
            let above = above.take_while(|folder| folder.starts_with(&self.scene.root));
            let beside = above.map(|folder| Need::File(folder.join("conftest.py")));
            self.needs.extend(beside);
        }
    }

    fn interpreter(&mut self, rules: &Interpreter, args: &[Option<String>], simple: &Simple) {
        let mut at = 0;
        let mut by_option = false;
        while let Some(Some(word)) = args.get(at) {
            if let Some(value) = option(word, rules.files) {
                by_option = true;
                if let Some(file) = value.value(args.get(at + 1)) {
                    self.need_script(&file);
                }
                at += value.words();
            } else if rules.code.contains(&word.as_str()) {
                return;
            } else if rules.valued.contains(&word.as_str()) {
                at += 1;
            } else if !word.starts_with('-') && !rules.subs.contains(&word.as_str()) {
                if !rules.by_option {
                    self.need_script(word);
                }
                return;
            }
            at += 1;
        }
        if !by_option && !rules.by_option && at >= args.len() {
            self.stdin(simple);
        }
    }

    fn runner(&mut self, runner: &Runner, args: &[Option<String>]) {
        let cwd = self.scene.cwd.clone();
        let mut files = Vec::new();
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let word = word.as_deref().unwrap_or_default();
            for (names, folder) in [(runner.folder, true), (runner.file, false)] {
                let Some(value) = option(word, names) else {
                    continue;
                };
                match value.value(args.get(at + 1)) {
                    Some(value) if folder => self.scene.cwd = self.path(&value),
                    Some(value) => files.push(value),
                    None => {}
                }
                at += value.words();
                break;
            }
            at += 1;
        }
        files.extend(runner.reads.iter().map(|name| (*name).to_owned()));
        for file in files {
            self.need_file(&file);
        }
        self.scene.cwd = cwd;
    }

    fn git(&mut self, args: &[Option<String>]) {
        let mut folder = self.scene.cwd.clone();
        let mut words = args.iter();
        while let Some(Some(word)) = words.next() {
            match word.as_str() {
                "-C" => {
                    let to = words.next().cloned().flatten();
                    folder = folder.zip(to).map(|(folder, to)| tidy(&folder.join(to)));
                }
                "-c" => drop(words.next()),
                word if word.starts_with('-') => {}
                _ => break,
            }
        }
        self.needs.extend(folder.map(Need::Git));
        for file in [".gitconfig", ".config/git/config", ".config/git/attributes"] {
            self.home_file(file);
        }
    }
}
