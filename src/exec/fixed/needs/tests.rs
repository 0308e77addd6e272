use std::collections::BTreeSet;
use std::path::Path;

use super::{Need, Scene, said_by};
use crate::exec::fixed::table::MODULES;

/// As a script for the shell, but for the shell itself.
fn of_script(text: &str, scene: Scene) -> BTreeSet<Need> {
    let argv = ["/bin/sh", "-c", text].map(|word| Some(word.to_owned()));
    let mut needs = said_by(&argv, scene).needs;
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
    let shadow = |file: &Path| {
        let is_python = file.extension().is_some_and(|end| end == "py");
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
        is_python && (MODULES.contains(&stem) || MODULES.contains(&folder.to_str().unwrap()))
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
    assert_eq!(told(said_by(&argv, scene()).needs), ["$test"]);
    let argv = [Some("sh".to_owned()), None];
    assert_eq!(told(said_by(&argv, scene()).needs), ["$sh"]);
    assert_eq!(
        told(said_by(&[None, Some("./a".into())], scene()).needs),
        [""; 0]
    );
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
