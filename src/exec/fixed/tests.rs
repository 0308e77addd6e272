use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::needs::{Need, Scene, of_argv};
use super::{Fixed, Site};
use crate::exec::Host;
use crate::model::{Check, Parts, Plan, Policy, Probe, Script, Step, Work};
use crate::name::{Name, PlanId};

/// As a script for the shell, but for the shell itself.
fn of_script(text: &str, scene: Scene) -> BTreeSet<Need> {
    let argv = ["/bin/sh", "-c", text].map(|word| Some(word.to_owned()));
    let mut needs = of_argv(&argv, scene);
    needs.remove(&Need::Script("/bin/sh".into()));
    needs
}

fn scene() -> Scene {
    let vars = [
        ("PATH", "/bin"),
        ("HOME", "/home/u"),
        ("WF_WORKSPACE", "/ws"),
    ];
    Scene {
        vars: vars
            .map(|(name, value)| (name.into(), Some(value.into())))
            .into(),
        cwd: Some("/ws".into()),
        root: "/ws".into(),
    }
}

/// What of a script is a script, a file, a program (by `$`), or a repository (by `git:`).
fn told(needs: impl IntoIterator<Item = Need>) -> Vec<String> {
    let modules = super::table::MODULES;
    let shadow = |file: &Path| {
        let is_python = file.extension().is_some_and(|end| end == "py");
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
        is_python && (modules.contains(&stem) || modules.contains(&folder.to_str().unwrap()))
    };
    let show = |need: Need| match need {
        Need::Script(path) => Some(path.display().to_string()),
        Need::File(path) if shadow(&path) => None,
        Need::File(path) => Some(format!("read {}", path.display())),
        Need::Program(name, path) if path == "/bin" => Some(format!("${name}")),
        Need::Program(name, path) => Some(format!("${name} in {path}")),
        Need::Git(path) => Some(format!("git:{}", path.display())),
    };
    needs.into_iter().filter_map(show).collect()
}

fn check(script: &str, expected: &[&str]) {
    assert_eq!(told(of_script(script, scene())), expected, "{script}");
}

#[test]
fn the_first_word_of_each_command_counts() {
    check("./check.sh out.txt", &["/ws/check.sh"]);
    check(
        "test -s a && tests/a.sh || ./b",
        &["/ws/b", "/ws/tests/a.sh"],
    );
    check("a | b; c & d\ne", &["$a", "$b", "$c", "$d", "$e"]);
    check(
        "if ./a; then ! ./b; else { ./c; }; fi",
        &["/ws/a", "/ws/b", "/ws/c"],
    );
    check("for f in x.sh y.sh; do ./t \"$f\"; done", &["/ws/t"]);
    check(
        "case $1 in a|b) ./a;; *) ./b;; esac; ./c",
        &["/ws/a", "/ws/b", "/ws/c"],
    );
    check("f() { ./in; }; f", &["/ws/in", "$f"]);
    check("# ./no\n'./a b' # ./no\n./c#d", &["/ws/a b", "/ws/c#d"]);
}

#[test]
fn commands_inside_of_words_count() {
    check("echo \"$(./a | wc -l)\" `./b`", &["/ws/a", "/ws/b", "$wc"]);
    check("x=$(case y in y) ./a;; esac); ./b", &["/ws/a", "/ws/b"]);
    check("diff <(./a) <(./b) > ./c", &["/ws/a", "/ws/b", "$diff"]);
    check("echo $((1 + 2)) ${x:-./no} './no' \\./no", &[]);
    check("sh -c './a \"$1\"' x", &["/ws/a", "$sh"]);
    check(
        "bash -euo pipefail -c 'eval ./a; trap ./b EXIT'",
        &["/ws/a", "/ws/b", "$bash"],
    );
}

#[test]
fn folders_and_variables_are_followed() {
    check(
        "cd tests && ./a; (cd ../x; ./b); ./c",
        &["/ws/tests/a", "/ws/tests/c", "/ws/x/b"],
    );
    check("cd \"$UNKNOWN\" && ./a; /abs", &["/abs"]);
    check("D=tests; sh $D/a.sh \"${D}\"/b", &["/ws/tests/a.sh", "$sh"]);
    check(
        "sh \"$WF_WORKSPACE/a.sh\"; ~/b",
        &["/home/u/b", "/ws/a.sh", "$sh"],
    );
    check("PATH=/ws/bin:$PATH grep x", &["$grep in /ws/bin:/bin"]);
    check(
        "export PATH=/opt; grep x; PATH=$Y grep x",
        &["$grep in /opt"],
    );
}

#[test]
fn interpreters_read_the_file_that_they_are_given() {
    check("bash -x -o pipefail a.sh b.sh", &["/ws/a.sh", "$bash"]);
    check("sh < a.sh", &["/ws/a.sh", "$sh"]);
    check("sh -s <<'X'\n./a\nX\n./b", &["/ws/a", "/ws/b", "$sh"]);
    check("cat <<X\n./no\nX\n", &["$cat"]);
    check(". lib/a.sh; source b.sh", &["/ws/b.sh", "/ws/lib/a.sh"]);
    check(
        "/usr/bin/python3.12 -u -W error t/a.py x.py",
        &["/usr/bin/python3.12", "/ws/t/a.py"],
    );
    check("python3 -c 'import x' a.py", &["$python3"]);
    check(
        "node -r ./setup.js --test a.js",
        &["/ws/a.js", "/ws/setup.js", "$node"],
    );
    check("node -e 'code' a.js", &["$node"]);
    check(
        "ruby -I lib a.rb; perl -ne print b",
        &["/ws/a.rb", "$perl", "$ruby"],
    );
    check(
        "awk -f a.awk data; sed -f b.sed data; sed s/a/b/ c",
        &["/ws/a.awk", "/ws/b.sed", "$awk", "$sed"],
    );
    check(
        "deno run a.ts; bats t/a.bats",
        &[
            "/ws/a.ts",
            "/ws/t/a.bats",
            "read /ws/deno.json",
            "read /ws/deno.jsonc",
            "$bats",
            "$deno",
        ],
    );
}

#[test]
fn python_modules_are_looked_for_in_the_workspace() {
    let needs = of_script("python3 -m a.b", scene());
    for file in [
        "a.py",
        "a/__init__.py",
        "a/b.py",
        "a/b/__main__.py",
        "json.py",
        "os.py",
    ] {
        assert!(
            needs.contains(&Need::File(Path::new("/ws").join(file))),
            "{file}"
        );
    }
}

#[test]
fn wrappers_are_looked_through() {
    check("timeout -k 1 10 ./a", &["/ws/a", "$timeout"]);
    check("env -u X A=1 nice -n 5 ./a b", &["/ws/a", "$env", "$nice"]);
    check(
        "xargs -n 1 ./a; command -v ./b",
        &["/ws/a", "/ws/b", "$xargs"],
    );
    check("find . -name x -exec ./a {} \\;", &["/ws/a", "$find"]);
    check("exec ./a; time ./b", &["/ws/a", "/ws/b"]);
    check("env PATH=/opt test x", &["$env", "$test in /opt"]);
}

#[test]
fn runners_read_their_files() {
    check(
        "make -C sub check",
        &[
            "read /ws/sub/GNUmakefile",
            "read /ws/sub/Makefile",
            "read /ws/sub/makefile",
            "$make",
        ],
    );
    check(
        "just -f x/justfile",
        &[
            "read /ws/.justfile",
            "read /ws/Justfile",
            "read /ws/justfile",
            "read /ws/x/justfile",
            "$just",
        ],
    );
    check(
        "git -C sub diff --quiet",
        &[
            "read /home/u/.config/git/attributes",
            "read /home/u/.config/git/config",
            "read /home/u/.gitconfig",
            "$git",
            "git:/ws/sub",
        ],
    );
    let needs = told(of_script(
        "python3 -m pytest -q tests/unit/test_a.py::x",
        scene(),
    ));
    for file in [
        "/ws/tests/unit/test_a.py",
        "read /ws/conftest.py",
        "read /ws/tests/conftest.py",
        "read /ws/pytest.ini",
    ] {
        assert!(needs.iter().any(|need| need == file), "{file}: {needs:?}");
    }
}

#[test]
fn without_a_shell_nothing_is_built_in() {
    let argv = ["test", "-s", "x"].map(|word| Some(word.to_owned()));
    assert_eq!(told(of_argv(&argv, scene())), ["$test"]);
    let argv = [Some("sh".to_owned()), None];
    assert_eq!(told(of_argv(&argv, scene())), ["$sh"]);
    assert_eq!(told(of_argv(&[None, Some("./a".into())], scene())), [""; 0]);
}

#[test]
fn no_text_breaks_the_reader() {
    for text in [
        "",
        "(",
        ")",
        "((",
        "$(",
        "${",
        "`",
        "\"",
        "'",
        "\\",
        "<<",
        "<<X",
        "<",
        "a=(",
        "$((",
        "case",
        "case x in a",
        ";;",
        "&>",
        "2>&1",
        "~",
        "$'",
        "<(",
        "é\u{0}",
    ] {
        drop(of_script(text, scene()));
        drop(of_script(&format!("{text} ./a {text}"), scene()));
    }
    let deep = "sh -c ".repeat(50) + &"$(".repeat(2000);
    drop(of_script(&deep, scene()));
}

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
        step.artifacts = artifacts.iter().map(|glob| (*glob).to_owned()).collect();
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
