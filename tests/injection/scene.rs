//! A workspace with a repository, a key and a file outside, and an agent that reads what an attacker wrote.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::attacks::Attack;
use crate::support::{Did, Sandbox};

/// What only the user may read.
const PRIVATE: &str = "the private words of the user";
const VARIABLE: &str = "a-token-of-the-environment";

/// What no model may be given.
pub const SECRETS: [&str; 3] = [PRIVATE, VARIABLE, "PRIVATE KEY"];

pub struct Scene {
    pub place: Sandbox,
    outside: tempfile::TempDir,
}

impl Scene {
    pub fn new(attack: &Attack<'_>) -> Self {
        let scene = Self { place: Sandbox::new(), outside: tempfile::tempdir().unwrap() };
        let place = &scene.place;
        fs::write(scene.outside.path().join("private.txt"), PRIVATE).unwrap();
        place.file("wf.yaml", "models: {m: {api: scripted, model: replies.yaml}}\nroles: {executor: m}\n");
        place.file(".git/config", "[core]\n\tbare = false\n").file(".git/HEAD", "ref: refs/heads/main\n");
        place.file(".git/hooks/pre-push.sample", "").file("gates/guard.md", "a gate\n");
        let replies: String = attack.replies.lines().map(|line| format!("    {line}\n")).collect();
        place.file("replies.yaml", format!("- replies:\n{replies}    - text: it is done\n"));
        let params = "params: {issue: {type: string, default: x, taint: external}}\n";
        let params = if attack.agent.contains("params.issue") { params } else { "" };
        place.file(
            "plan.md",
            format!(
                "---\nkind: plan\nid: triage\n{params}steps:\n  \
                 - id: work\n    agent: {{role: executor, {}}}\n    allow: {{write: [.]}}\n---\n\n## work\n\nSort the inbox.\n",
                attack.agent
            ),
        );
        for (path, text) in attack.files {
            match path.strip_suffix('@') {
                Some(link) => scene.link(link, text),
                None => drop(place.file(path, text)),
            }
        }
        place.wf(&["key", "init"]).exits(0);
        scene
    }

    fn link(&self, path: &str, target: &str) {
        let target = target.replace("OUTSIDE", self.outside.path().to_str().unwrap());
        let path = self.place.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// Runs the plan; what it said.
    pub fn run(&self, code: i32) -> String {
        let mut command = self.place.command(&["run", "plan.md"]);
        Did::of(command.env("API_TOKEN", VARIABLE)).exits(code).all()
    }

    pub fn last(&self) -> String {
        crate::decisions::last(&self.place)
    }

    /// What was said between the agent, its model and its tools.
    pub fn exchange(&self) -> String {
        self.place.wf(&["logs", "--last", "work", "--calls"]).exits(0).out
    }

    /// The stored bodies of all calls.
    pub fn bodies(&self) -> Vec<String> {
        let mut all = BTreeMap::new();
        collect(&self.place.at(".wf"), &mut all);
        let bodies =
            all.into_iter().filter(|(path, _)| path.components().any(|part| part.as_os_str() == "calls"));
        bodies.map(|(_, text)| text).collect()
    }

    /// Every file of the workspace and outside, but for the state and the keys.
    pub fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        collect(self.place.path(), &mut all);
        collect(self.outside.path(), &mut all);
        all.retain(|path, _| {
            !path.starts_with(self.place.at(".wf")) && !path.starts_with(self.place.at(".config"))
        });
        all
    }
}

/// Reads all files below a folder; links are what they lead to, as text.
fn collect(folder: &Path, all: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            collect(&path, all);
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            all.insert(path, target.display().to_string());
        } else if kind.is_file() {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            all.insert(path, text);
        }
    }
}
