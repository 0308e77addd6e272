//! Ways in which secrets were shown by others, tried on the real program.
//!
//! Each file of `tests/leaks` tells one of them, with its source. A fenced block `secret NAME` is
//! the value of a variable that `wf` is started with; `file=PATH` is a file of the workspace, of
//! which `plan.md` is run; each line of `never` is a text that must not be found anywhere
//! afterwards, beside every form of every secret; each line of `shown` must be found in what was
//! printed, and the exit code is the number in `exits`.
//!
//! Looked through are: everything that the program prints, then and later, in every form; every
//! file of its state; its reports; and the arguments of every process while it runs.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use crate::{
    bad_input::files,
    docs::fence::{Fence, all},
    support::Sandbox,
};

/// What may come after, each with all that it shows.
const LATER: &[&[&str]] = &[
    &["show", "--last"],
    &["show", "--last", "--json"],
    &["logs", "--last"],
    &["logs", "--last", "--timestamps"],
    &["logs", "--last", "leak"],
    &["logs", "--last", "--tail", "3"],
    &["why", "--last"],
    &["why", "--last", "leak"],
    &["graph", "plan.md"],
    &["graph", "plan.md", "--format", "svg"],
    &["runs", "--json"],
    &["check", "plan.md"],
    &["check", "plan.md", "--format", "json"],
    &["doctor"],
];

#[test]
fn nothing_leaks() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir("tests/leaks").unwrap().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap();
        assert!(text.contains("\nSource: https://"), "{entry:?} has no source");
        count += 1;
        let found = Case::of(&all(&text)).try_it();
        wrong.extend(found.into_iter().map(|what| format!("{}: {what}", entry.path().display())));
    }
    assert!(count >= 10, "there are the cases");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[derive(Default)]
struct Case {
    secrets: Vec<(String, String)>,
    files: Vec<(String, String)>,
    never: BTreeSet<String>,
    shown: Vec<String>,
    exits: Option<i32>,
}

impl Case {
    fn of(fences: &[Fence]) -> Self {
        let mut case = Self::default();
        for fence in fences {
            let lines = || fence.text.lines().map(str::to_owned);
            let file = fence.info.iter().find_map(|word| word.strip_prefix("file="));
            match (fence.language(), file) {
                (_, Some(path)) => case.files.push((path.to_owned(), fence.text.clone())),
                ("secret", _) => {
                    let value = fence.text.strip_suffix('\n').unwrap_or_default();
                    case.secrets.push((fence.info[1].clone(), value.to_owned()));
                }
                ("never", _) => case.never.extend(lines()),
                ("shown", _) => case.shown.extend(lines()),
                ("exits", _) => case.exits = fence.text.trim().parse().ok(),
                (other, _) => panic!("a block `{other}`"),
            }
        }
        let values = case.secrets.iter().map(|(_, value)| value.as_str());
        case.never.extend(wf_base::redact::forms(values));
        case
    }

    /// What is wrong.
    fn try_it(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for args in [
            &["run", "-v", "plan.md", "--report", "out/r.json", "--junit", "out/j.xml"][..],
            &["run", "--json", "plan.md"],
            &["run", "-q", "plan.md"],
        ] {
            let sandbox = Sandbox::new();
            for (path, text) in &self.files {
                sandbox.file(path, text);
            }
            let mut seen = self.run(&sandbox, args);
            if let Some(what) = self.unlike(&seen) {
                wrong.push(what);
            }
            for args in LATER {
                seen.push((format!("wf {}", args.join(" ")), sandbox.wf(args).all().into_bytes()));
            }
            for folder in [".wf", "out"] {
                for (path, _) in files(&sandbox.at(folder)) {
                    let bytes = fs::read(&path).unwrap_or_default();
                    seen.push((path.display().to_string(), bytes));
                }
            }
            wrong.extend(seen.iter().flat_map(|(place, bytes)| self.leaks(place, bytes)));
        }
        wrong
    }

    /// Runs the plan; gives what it wrote, its exit code and the arguments of all processes.
    fn run(&self, sandbox: &Sandbox, args: &[&str]) -> Vec<(String, Vec<u8>)> {
        let mut command: Command = sandbox.command(args);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", sandbox.at("out/summary.md"));
        for (name, value) in &self.secrets {
            command.env(name, value);
        }
        fs::create_dir_all(sandbox.at("out")).unwrap();
        let written = fs::File::create(sandbox.at("written")).unwrap();
        command.stdout(written.try_clone().unwrap()).stderr(written);
        let mut child = command.spawn().unwrap();
        let mut arguments = Vec::new();
        let code = loop {
            arguments.extend(all_arguments());
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        let written = fs::read(sandbox.at("written")).unwrap();
        vec![
            (format!("wf {}", args.join(" ")), written),
            (String::from("exit code"), format!("{code:?}").into_bytes()),
            (String::from("arguments"), arguments),
        ]
    }

    /// How a run differs from what the case says, if it does.
    fn unlike(&self, seen: &[(String, Vec<u8>)]) -> Option<String> {
        let code = format!("{:?}", Some(self.exits.unwrap_or(0)));
        let text = String::from_utf8_lossy(&seen[0].1);
        if seen[1].1 != code.as_bytes() {
            return Some(format!(
                "{} ended with {}:\n{text}",
                seen[0].0,
                String::from_utf8_lossy(&seen[1].1)
            ));
        }
        let verbose = seen[0].0.contains("-v");
        let missing = self.shown.iter().find(|line| verbose && !text.contains(line.as_str()))?;
        Some(format!("{} does not show {missing:?}:\n{text}", seen[0].0))
    }

    fn leaks(&self, place: &str, bytes: &[u8]) -> Vec<String> {
        let mut leaks = Vec::new();
        for form in self.never.iter().filter(|form| !form.is_empty()) {
            if let Some(at) = memchr::memmem::find(bytes, form.as_bytes()) {
                let around = &bytes[at.saturating_sub(20)..(at + form.len() + 20).min(bytes.len())];
                leaks.push(format!("{place} shows {form:?}: …{:?}…", String::from_utf8_lossy(around)));
            }
        }
        leaks
    }
}

/// The arguments of all processes that there are.
fn all_arguments() -> Vec<u8> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let arguments = entries.filter_map(|entry| fs::read(Path::new(&entry.path()).join("cmdline")).ok());
    arguments.flatten().collect()
}
