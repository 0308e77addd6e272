use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Pins, files};
use crate::exec::fixed::Site;
use crate::exec::process::Command;
use crate::exec::{Host, Unable};
use crate::expr::Template;
use crate::model::{Check, OnFailure, Parts, Plan, Policy, Probe, Script, Step, Uses, Work};
use crate::name::{Name, PlanId};

/// A workspace and a plan in it.
struct House {
    dir: tempfile::TempDir,
    host: Host,
    plan: Arc<Plan>,
}

fn script(text: &str) -> Script {
    Script {
        shell: ["sh", "-eu", "-c"].map(String::from).into(),
        text: text.into(),
    }
}

fn step(id: &str, work: Work) -> Step {
    Step::new(Name::parse(id).unwrap(), work)
}

fn plan(steps: Vec<Step>) -> Arc<Plan> {
    let policy = Policy {
        max_parallel: 1,
        on_failure: OnFailure::Stop,
        grace: Duration::ZERO,
    };
    let main = steps.len();
    let parts = Parts::new(PlanId::parse("p").unwrap(), steps, main, policy);
    Plan::new(parts).unwrap()
}

impl House {
    fn new(steps: Vec<Step>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin").display().to_string();
        Self {
            dir,
            host: Host::from([("PATH".into(), format!("{bin}:/usr/bin:/bin"))]),
            plan: plan(steps),
        }
    }

    fn running(text: &str) -> Self {
        Self::new(vec![step("s", Work::Run(script(text)))])
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn put(&self, path: &str, text: &str) -> &Self {
        let file = self.at(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn site(&self) -> Site<'_> {
        Site {
            root: self.dir.path(),
            host: &self.host,
            params: None,
        }
    }

    fn paths(&self) -> Vec<String> {
        let files = files(&self.plan, self.site()).unwrap();
        files.into_iter().map(|(path, _)| path).collect()
    }

    fn pins(&self) -> Pins {
        let files = files(&self.plan, self.site()).unwrap();
        Pins::new(&self.plan, self.dir.path(), files)
    }

    fn command(&self) -> Command {
        let argv = match &self.plan.steps()[0].work {
            Work::Run(script) => {
                let words = script.shell.iter().chain(Some(&script.text));
                words.cloned().collect()
            }
            Work::Exec(words) => {
                let known = crate::exec::environment::ParamsAlone(None);
                words
                    .iter()
                    .map(|word| word.render(&known).unwrap())
                    .collect()
            }
            _ => Vec::new(),
        };
        Command {
            argv,
            env: self.host.clone().into_iter().collect(),
            cwd: self.dir.path().to_path_buf(),
            sandbox: None,
            pins: None,
            input: None,
        }
    }

    /// What is said of the first step when it starts.
    fn refusal(&self, pins: &Pins) -> Option<String> {
        let held = pins.hold(&self.command());
        let said = held.err().map(|unable: Unable| unable.why);
        said.map(|why| why.split(';').next().unwrap_or_default().to_owned())
    }
}

fn words(words: &[&str]) -> Work {
    let words = words
        .iter()
        .map(|word| Template::parse(word, crate::source::Span::default()).unwrap());
    Work::Exec(words.collect())
}

#[test]
fn all_that_is_executed_is_found() {
    let inner = plan(vec![step("in", Work::Run(script("sh inner.sh")))]);
    let uses = Uses {
        plan: inner,
        path: "inner.md".into(),
        with: Vec::new(),
    };
    let mut first = step(
        "a",
        Work::Run(script("./one.sh && sh lib/two.sh; tool; make")),
    );
    let mut check = Check::new(Name::parse("c").unwrap());
    check.probe = Some(Probe::Run(script("sh tests/check.sh")));
    first.verify = vec![check];
    let house = House::new(vec![
        first,
        step("b", words(&["./three.py", "arg"])),
        step("c", Work::Uses(Box::new(uses))),
    ]);
    for path in [
        "one.sh",
        "lib/two.sh",
        "bin/tool",
        "inner.sh",
        "tests/check.sh",
        "other.sh",
        "Makefile",
    ] {
        house.put(path, "true");
    }
    house
        .put("three.py", "#!interpret/it\n")
        .put("interpret/it", "#!/bin/sh\n");
    assert_eq!(
        house.paths(),
        [
            "Makefile",
            "bin/tool",
            "inner.sh",
            "interpret/it",
            "lib/two.sh",
            "one.sh",
            "tests/check.sh",
            "three.py"
        ]
    );
    assert_eq!(house.refusal(&house.pins()), None);
}

#[test]
fn every_difference_has_its_own_message() {
    let house = House::running("sh tools/run.sh");
    house.put("tools/run.sh", "true").put("evil.sh", "false");
    let pins = house.pins();
    assert_eq!(house.refusal(&pins), None);
    house.put("tools/run.sh", "false");
    let changed = "approved file was changed: tools/run.sh";
    assert_eq!(house.refusal(&pins).as_deref(), Some(changed));
    // The same content once more is what was approved.
    house.put("tools/run.sh", "true");
    assert_eq!(house.refusal(&pins), None);
    fs::remove_file(house.at("tools/run.sh")).unwrap();
    let gone = "approved file is gone: tools/run.sh";
    assert_eq!(house.refusal(&pins).as_deref(), Some(gone));
    symlink("../evil.sh", house.at("tools/run.sh")).unwrap();
    let link = "approved file is a link now: tools/run.sh";
    assert_eq!(house.refusal(&pins).as_deref(), Some(link));
    // Even to the same content, and so for the folders above.
    fs::remove_file(house.at("tools/run.sh")).unwrap();
    house.put("elsewhere/run.sh", "true");
    fs::remove_dir(house.at("tools")).unwrap();
    symlink("elsewhere", house.at("tools")).unwrap();
    assert_eq!(house.refusal(&pins).as_deref(), Some(link));
}

#[test]
fn what_was_not_there_was_not_approved() {
    let house = House::running("./new.sh; cat x");
    let pins = house.pins();
    assert_eq!(house.refusal(&pins), None);
    house.put("new.sh", "true");
    let new = "file was not approved: new.sh";
    assert_eq!(house.refusal(&pins).as_deref(), Some(new));
    fs::remove_file(house.at("new.sh")).unwrap();
    house.put("bin/cat", "#!/bin/sh\n");
    let planted = "file was not approved: bin/cat";
    assert_eq!(house.refusal(&pins).as_deref(), Some(planted));
}

#[test]
fn what_an_approved_text_makes_is_its_own() {
    for text in [
        "cat > made.sh <<'X'\ntrue\nX\nsh made.sh",
        "cp one.sh made.sh && ./made.sh",
        "echo true >| made.sh; . ./made.sh",
    ] {
        let house = House::running(text);
        house.put("one.sh", "true");
        let pins = house.pins();
        house.put("made.sh", "anything");
        assert_eq!(house.refusal(&pins), None, "{text}");
    }
    // What it executes before it makes it is not.
    let house = House::running("./made.sh; echo true > made.sh");
    let pins = house.pins();
    house.put("made.sh", "anything");
    assert!(house.refusal(&pins).is_some());
    let house = House::running("echo true >> made.sh; ./made.sh");
    let pins = house.pins();
    house.put("made.sh", "anything");
    assert!(house.refusal(&pins).is_some());
}

#[test]
fn products_of_steps_are_approved_with_them() {
    let mut maker = step("m", Work::Run(script("true")));
    maker.artifacts = vec![Template::literal("build")];
    let house = House::new(vec![step("s", words(&["build/tool"])), maker]);
    let pins = house.pins();
    house.put("build/tool", "#!/bin/sh\n");
    assert_eq!(house.refusal(&pins), None);
    assert!(house.paths().is_empty());
}

#[test]
fn a_link_that_was_approved_must_lead_where_it_did() {
    let house = House::new(vec![step("s", words(&["./link.sh"]))]);
    house
        .put("a.sh", "#!/bin/sh\n")
        .put("b.sh", "#!/bin/sh\nfalse\n");
    symlink("a.sh", house.at("link.sh")).unwrap();
    assert_eq!(house.paths(), ["a.sh", "link.sh"]);
    let pins = house.pins();
    assert_eq!(house.refusal(&pins), None);
    fs::remove_file(house.at("link.sh")).unwrap();
    symlink("b.sh", house.at("link.sh")).unwrap();
    let link = "approved file is a link now: link.sh";
    assert_eq!(house.refusal(&pins).as_deref(), Some(link));
    // One that leads out is held by where it leads, not by what is there.
    fs::remove_file(house.at("link.sh")).unwrap();
    symlink("/bin/true", house.at("link.sh")).unwrap();
    assert_eq!(house.paths(), ["link.sh"]);
    assert_eq!(house.refusal(&house.pins()), None);
}

#[test]
fn what_is_touched_meanwhile_is_told_even_if_it_is_back() {
    let house = House::running("sh run.sh; chmod +x other.sh; ./other.sh");
    house.put("run.sh", "true").put("other.sh", "true");
    let pins = house.pins();
    let held = pins.hold(&house.command()).unwrap();
    assert_eq!(held.disturbed(), None);
    fs::set_permissions(house.at("other.sh"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(held.disturbed(), None);
    fs::rename(house.at("run.sh"), house.at("kept")).unwrap();
    house.put("run.sh", "false");
    fs::rename(house.at("kept"), house.at("run.sh")).unwrap();
    let why = held.disturbed().map(|unable| unable.why);
    let expected = "approved file was changed while it ran: run.sh";
    assert_eq!(why.as_deref(), Some(expected));
}

#[test]
fn a_compiled_program_needs_no_name_once_it_is_held() {
    let house = House::new(vec![step("s", words(&["./program"]))]);
    fs::copy("/bin/true", house.at("program")).unwrap();
    assert_eq!(house.paths(), ["program"]);
    let pins = house.pins();
    let held = pins.hold(&house.command()).unwrap();
    let opened = held.program().unwrap();
    let before = fs::read(&opened).unwrap();
    fs::remove_file(house.at("program")).unwrap();
    house.put("program", "#!/bin/sh\nfalse\n");
    assert_eq!(fs::read(&opened).unwrap(), before);
    assert_eq!(held.disturbed(), None);
    let changed = "approved file was changed: program";
    assert_eq!(house.refusal(&pins).as_deref(), Some(changed));
    // Written in place it is another program, whatever its name.
    fs::remove_file(house.at("program")).unwrap();
    fs::copy("/bin/true", house.at("program")).unwrap();
    let held = house.pins().hold(&house.command()).unwrap();
    fs::write(house.at("program"), "other").unwrap();
    let why = held.disturbed().map(|unable| unable.why);
    let expected = "approved file was changed while it ran: program";
    assert_eq!(why.as_deref(), Some(expected));
    // A script that names one relies on what work makes.
    assert!(House::running("./program").paths().is_empty());
}
