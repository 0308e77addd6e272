//! A place in which scripts of skills are started by hand.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Did, Sandbox};

/// An empty folder, with another around it that nobody may touch.
pub struct Bench {
    pub place: Sandbox,
}

impl Bench {
    pub fn new() -> Self {
        let place = Sandbox::new();
        std::fs::create_dir(place.at("work")).unwrap();
        Self { place }
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.place.at("work").join(path)
    }

    pub fn file(&self, path: &str, text: &str) -> &Self {
        self.place.file(&format!("work/{path}"), text);
        self
    }

    pub fn read(&self, path: &str) -> String {
        self.place.read(&format!("work/{path}"))
    }

    /// Runs a script in the folder `work`, with the program that is built as `$WF`.
    pub fn run(&self, script: &str, args: &[&str]) -> Did {
        self.run_with(script, args, env!("CARGO_BIN_EXE_wf"))
    }

    /// The same with another `$WF`.
    pub fn run_with(&self, script: &str, args: &[&str], wf: &str) -> Did {
        let script = std::path::absolute(Path::new("skills").join(script)).unwrap();
        let is_python = script.extension().is_some_and(|it| it == "py");
        let mut command = self.place.program(if is_python { "python3" } else { "sh" });
        if is_python {
            command.args(["-B", "-s"]);
        }
        command.arg(script).args(args).env("WF", wf);
        let _ = std::fs::remove_file(self.place.at("outputs"));
        command.env("WF_OUTPUT", self.place.at("outputs"));
        Did::of(command.current_dir(self.place.at("work")))
    }

    /// What the last script has given.
    pub fn outputs(&self) -> Value {
        let mut all = serde_json::Map::new();
        for line in self.place.read("outputs").lines() {
            if let Ok(Value::Object(more)) = serde_json::from_str(line) {
                all.extend(more);
            } else {
                let (name, value) = line.split_once('=').expect("an output has a value");
                let value = serde_json::from_str(value).unwrap_or(Value::String(value.into()));
                all.insert(name.into(), value);
            }
        }
        Value::Object(all)
    }

    /// The names of what lies in the folder around the work.
    pub fn around(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.place.path()).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().display().to_string());
        let mut names: Vec<String> = names.filter(|name| name != "outputs").collect();
        names.sort();
        names
    }
}

impl Did {
    /// Asserts that it was refused with a remedy.
    #[track_caller]
    pub fn refuses(self, code: i32, text: &str) -> Self {
        self.exits(code).says(text).says("remedy: ")
    }
}
