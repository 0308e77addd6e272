use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Fixed, Site};
use crate::exec::Host;
use crate::expr::Template;
use crate::model::{Check, Parts, Plan, Policy, Probe, Script, Step, Work};
use crate::name::{Name, PlanId};

/// A workspace, and one check of one step in it.
struct House {
    dir: tempfile::TempDir,
    host: Host,
    check: Check,
    plan: Arc<Plan>,
}

impl House {
    fn new(script: &str, artifacts: &[&str], fixed: &[&str]) -> Self {
        let mut check = Check::new(Name::parse("c").unwrap());
        check.probe = Some(Probe::Run(Script {
            shell: ["sh", "-eu", "-c"].map(String::from).into(),
            text: script.into(),
        }));
        check.fixed = fixed.iter().map(|glob| (*glob).to_owned()).collect();
        let mut step = Step::new(Name::parse("s").unwrap(), Work::Exec(Vec::new()));
        step.verify = vec![check.clone()];
        step.artifacts = artifacts
            .iter()
            .map(|glob| Template::literal(glob))
            .collect();
        let policy = Policy {
            max_parallel: 1,
            on_failure: crate::model::OnFailure::Stop,
            grace: std::time::Duration::ZERO,
        };
        let parts = Parts::new(PlanId::parse("p").unwrap(), vec![step], 1, policy);
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin").display().to_string();
        Self {
            dir,
            host: BTreeMap::from([("PATH".into(), format!("{bin}:/usr/bin:/bin"))]),
            check,
            plan: Plan::new(parts).unwrap(),
        }
    }

    fn put(&self, path: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let file = self.dir.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    fn site(&self) -> Site<'_> {
        Site {
            root: self.dir.path(),
            host: &self.host,
            params: None,
        }
    }

    fn fixed(&self) -> Fixed {
        Fixed::take(&self.plan, self.site())
    }

    fn altered(&self, fixed: &Fixed) -> Option<String> {
        let glimpse = fixed.glimpse(&self.check, self.site()).unwrap();
        fixed.altered(&self.check, &glimpse)
    }
}

#[test]
fn a_script_that_changes_is_noticed() {
    let house = House::new("sh tests/check.sh", &[], &[]);
    house.put("tests/check.sh", "exit 1");
    let fixed = house.fixed();
    assert_eq!(house.altered(&fixed), None);
    let recorded = Fixed::recorded(&house.plan, &fixed.files());
    house.put("tests/check.sh", "exit 0");
    assert_eq!(house.altered(&fixed).as_deref(), Some("tests/check.sh"));
    assert_eq!(house.altered(&recorded).as_deref(), Some("tests/check.sh"));
    fs::remove_file(house.dir.path().join("tests/check.sh")).unwrap();
    assert_eq!(house.altered(&fixed).as_deref(), Some("tests/check.sh"));
}

#[test]
fn what_was_not_there_and_what_steps_make() {
    let house = House::new("./made.sh", &[], &[]);
    let fixed = house.fixed();
    let noted = fixed.files();
    assert!(
        noted
            .iter()
            .any(|file| file.path == "made.sh" && file.digest.is_none())
    );
    assert_eq!(house.altered(&fixed), None);
    house.put("made.sh", "exit 0");
    assert_eq!(house.altered(&fixed).as_deref(), Some("made.sh"));
    // A binary is what a step builds.
    house.put("made.sh", "\u{7f}ELF\0");
    assert_eq!(house.altered(&fixed), None);

    let house = House::new("./made.sh", &["made.*"], &[]);
    let fixed = house.fixed();
    house.put("made.sh", "exit 0");
    assert_eq!(house.altered(&fixed), None);
}

#[test]
fn a_planted_program_is_noticed() {
    let house = House::new("cat out.txt | grep done", &[], &[]);
    let fixed = house.fixed();
    assert!(
        fixed
            .files()
            .iter()
            .any(|file| file.path.ends_with("bin/grep"))
    );
    house.put("bin/grep", "#!/bin/sh\nexit 0\n");
    assert_eq!(house.altered(&fixed).as_deref(), Some("bin/grep"));
}

#[test]
fn listed_files_and_their_names_are_fixed() {
    let house = House::new("true", &["tests/made.txt"], &["tests/**"]);
    house.put("tests/a.txt", "a");
    let fixed = house.fixed();
    assert_eq!(house.altered(&fixed), None);
    // Even one that a step says it makes.
    let made = house.put("tests/made.txt", "new");
    assert_eq!(house.altered(&fixed).as_deref(), Some("tests/made.txt"));
    fs::remove_file(made).unwrap();
    fs::remove_file(house.dir.path().join("tests/a.txt")).unwrap();
    assert_eq!(house.altered(&fixed).as_deref(), Some("tests/a.txt"));
}

#[test]
fn what_runners_python_and_git_read_is_fixed() {
    let house = House::new(
        "make check; git diff --quiet; python3 -m json.tool x",
        &[],
        &[],
    );
    house.put("Makefile", "check:");
    house.put(
        ".git/config",
        "[core]\n\tbare = false\n[user]\n\tname = a\n",
    );
    let fixed = house.fixed();
    house.put(
        ".git/config",
        "[core]\n\tbare = false\n[branch \"a\"]\n\tremote = b\n",
    );
    assert_eq!(house.altered(&fixed), None);
    for (path, text) in [
        (
            ".git/config",
            "[core]\n\tbare = false\n\thooksPath = evil\n",
        ),
        (".git/hooks/pre-commit", "true"),
        (".gitattributes", "* -diff"),
        ("GNUmakefile", "check:"),
        ("json/tool.py", ""),
        ("json.py", ""),
        ("argparse.py", ""),
    ] {
        let file = house.dir.path().join(path);
        let before = fs::read_to_string(&file);
        house.put(path, text);
        assert_eq!(house.altered(&fixed).as_deref(), Some(path));
        match before {
            Ok(text) => drop(house.put(path, &text)),
            Err(_) => fs::remove_file(file).unwrap(),
        }
    }
    assert_eq!(house.altered(&fixed), None);
}

#[test]
fn who_executes_a_script_is_fixed() {
    let house = House::new("./check", &[], &[]);
    house.put("check", "#!/usr/bin/env tool\n");
    house.put("bin/tool", "#!/bin/sh\nexit 1\n");
    let fixed = house.fixed();
    house.put("bin/tool", "#!/bin/sh\nexit 0\n");
    assert_eq!(house.altered(&fixed).as_deref(), Some("bin/tool"));
}

#[test]
fn what_was_changed_and_put_back_was_touched() {
    let house = House::new("sh check.sh", &[], &[]);
    house.put("check.sh", "exit 1");
    let fixed = house.fixed();
    let glimpse = || fixed.glimpse(&house.check, house.site()).unwrap();
    let before = glimpse();
    assert_eq!(before.touched(&glimpse()), None);
    // A new file under the name, with the same content.
    house.put("new", "exit 1");
    fs::rename(
        house.dir.path().join("new"),
        house.dir.path().join("check.sh"),
    )
    .unwrap();
    let after = glimpse();
    assert_eq!(fixed.altered(&house.check, &after), None);
    assert_eq!(before.touched(&after).as_deref(), Some("check.sh"));
}

#[test]
fn what_a_step_makes_is_not_followed() {
    let house = House::new("./made; .venv/bin/python t.py", &["made"], &[]);
    house.put("t.py", "");
    let fixed = house.fixed();
    house.put("made", "#!/usr/bin/env perl\n");
    house.put(".venv/pyvenv.cfg", "home = /usr/bin");
    house.put(".venv/lib/python3.9/site-packages/a.pth", "import x");
    fs::create_dir_all(house.dir.path().join(".venv/bin")).unwrap();
    let program = house.dir.path().join(".venv/bin/python");
    std::os::unix::fs::symlink("/bin/cat", program).unwrap();
    assert_eq!(house.altered(&fixed), None);
    // An environment that was there before is fixed.
    let fixed = house.fixed();
    assert_eq!(house.altered(&fixed), None);
    let planted = ".venv/lib/python3.9/site-packages/b.pth";
    house.put(planted, "import y");
    assert_eq!(house.altered(&fixed).as_deref(), Some(planted));
}
