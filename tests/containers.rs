//! Steps in containers: the command line that a container engine is given, and, where one works, real ones.
//!
//! The first tests put a `podman` of their own in front of `PATH`: it notes its arguments and
//! executes the command beside `wf`. The last needs a podman that can start containers here. Where
//! none can, it says so and passes; with `WF_TEST_CONTAINERS=1` it fails.

use std::{path::Path, process::Command};

use crate::{
    crash::kill_both,
    support::{Did, Sandbox, until},
};

/// An image that only the engine of the tests knows.
const IMAGE: &str =
    "registry.example/tool@sha256:00000000000000000000000000000000000000000000000000000000000000aa";

/// Notes its arguments, and executes what follows the image, as the client of an engine does: with
/// the variables that are named, and those of the file on its standard input.
const ENGINE: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/log"
test "$1" = run || exit 0
pass=""
while test "$1" != --entrypoint; do
    case "$1" in
        --env) pass="$pass $2" ;;
        --env-file) sed 's/^/file: /' >> "$here/log" ;;
    esac
    shift
done
program=$2 image=$3
shift 3
for name in $pass; do echo "$name" >> "$here/names"; done
exec "$program" "$@"
"#;

/// A workspace with a plan, and an engine that only the tests know.
fn with_engine(plan: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("engine/podman", ENGINE).file("plan.md", plan);
    let done = Did::of(sandbox.program("chmod").args(["+x", "engine/podman"]));
    done.exits(0);
    sandbox
}

/// The program, with that engine before all others.
fn wf(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(args);
    let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value);
    let path = format!("{}:{}", sandbox.at("engine").display(), path.unwrap().to_string_lossy());
    command.env("PATH", path);
    command
}

/// The calls of the engine that begin with a word.
fn calls(sandbox: &Sandbox, word: &str) -> Vec<String> {
    let log = sandbox.read("engine/log");
    log.lines().filter(|line| line.starts_with(word)).map(str::to_owned).collect()
}

fn plan(steps: &str) -> String {
    format!("---\nkind: plan\nid: plan\nsteps:\n{steps}---\n")
}

#[test]
fn the_engine_gets_the_command_and_no_value() {
    let text = format!(
        "---\nkind: plan\nid: plan\nparams: {{day: {{type: string, default: monday}}}}\n\
         secrets: {{TOKEN: {{from: env, name: API_TOKEN}}}}\nsteps:\n  \
         - id: build\n    container: {IMAGE}\n    cwd: engine\n    \
         env: {{TOKEN: \"{{{{ secrets.TOKEN }}}}\", HOME: /inner}}\n    \
         run: test \"${{#TOKEN}}\" = 12 && echo rows=3 >> \"$WF_OUTPUT\" && echo \"$WF_PARAM_DAY $PWD\"\n    \
         outputs: {{rows: {{type: integer}}}}\n  \
         - {{id: words, container: \"{IMAGE}\", depends_on: [build], exec: [echo, \"{{{{ steps.build.outputs.rows }}}}\"]}}\n---\n"
    );
    let sandbox = with_engine(&text);
    Did::of(wf(&sandbox, &["run", "plan.md"]).env("API_TOKEN", "s3cret-token")).exits(0);
    let cwd = sandbox.at("engine").canonicalize().unwrap();
    sandbox.wf(&["logs", "--last", "build"]).exits(0).says(&format!("monday {}", cwd.display()));
    let runs = calls(&sandbox, "run ");
    let [build, words] = runs.as_slice() else { panic!("{runs:?}") };
    let root = sandbox.path().canonicalize().unwrap();
    for part in [
        "run --rm --init ".to_owned(),
        format!(" --mount type=bind,\"source={0}\",\"target={0}\" ", root.display()),
        format!(" --workdir {} ", cwd.display()),
        format!(" --entrypoint sh {IMAGE} -eu -c test "),
    ] {
        assert!(build.contains(&part), "{part}\n{build}");
    }
    assert!(words.ends_with(&format!(" --entrypoint echo {IMAGE} 3")), "{words}");
    let log = sandbox.read("engine/log");
    assert!(!log.contains("s3cret") && !log.contains("monday"), "{log}");
    assert!(log.contains("\nfile: HOME=/inner\n"), "{log}");
    let names = sandbox.read("engine/names");
    let all = names.lines().filter(|name| !name.starts_with("WF_"));
    assert_eq!(all.collect::<Vec<_>>(), ["TOKEN"], "nothing of the caller's environment");
    // Each is removed by the name that it was given.
    let named = runs.iter().map(|run| run.split(" --name ").nth(1).unwrap().split(' ').next().unwrap());
    let removed: Vec<String> = named.map(|name| format!("rm --force {name}")).collect();
    assert_eq!(calls(&sandbox, "rm "), removed);
}

#[test]
fn without_an_engine_nothing_starts() {
    let steps = format!(
        "  - {{id: first, run: touch started}}\n  - {{id: build, container: \"{IMAGE}\", depends_on: [first], run: make}}\n"
    );
    let sandbox = with_engine(&plan(&steps));
    sandbox.file("empty/note", "no program");
    let alone = |args: &[&str]| Did::of(sandbox.command(args).env("PATH", sandbox.at("empty")));
    let refused = "step `build` of `plan` runs in a container, and neither podman nor docker is in PATH";
    alone(&["run", "plan.md"]).exits(2).says(refused).says("install podman or docker");
    assert!(!sandbox.at("started").exists());
    sandbox.wf(&["runs"]).says("no runs");
    alone(&["doctor"]).says("neither podman nor docker is in PATH: steps with `container` cannot run");
    Did::of(&mut wf(&sandbox, &["doctor"])).says("engine/podman");
}

#[test]
fn another_image_is_another_step() {
    let other = IMAGE.replace("aa", "bb");
    let steps = format!(
        "  - {{id: build, container: \"{IMAGE}\", run: echo built, cache: {{inputs: [in]}}}}\n  \
         - {{id: test, depends_on: [build], run: test -e there}}\n"
    );
    let sandbox = with_engine(&plan(&steps));
    let run = |args: &[&str]| Did::of(&mut wf(&sandbox, args));
    let times = || calls(&sandbox, "run ").len();
    run(&["run", "plan.md"]).exits(1);
    run(&["run", "plan.md"]).exits(1);
    assert_eq!(times(), 1, "its result is in the cache");
    sandbox.file("plan.md", plan(&steps.replace(IMAGE, &other)));
    run(&["run", "plan.md"]).exits(1);
    assert_eq!(times(), 2, "the key of the cache has the image");
    sandbox.file("plan.md", plan(&steps.replace(IMAGE, &other).replace(", cache: {inputs: [in]}", "")));
    run(&["run", "plan.md"]).exits(1);
    assert_eq!(times(), 3);
    run(&["retry", "--last"]).exits(1);
    assert_eq!(times(), 3, "a retry reuses the result");
    sandbox.file("plan.md", plan(&steps.replace(", cache: {inputs: [in]}", "")));
    run(&["retry", "--last"]).exits(1);
    assert_eq!(times(), 4, "a retry compares the image");
}

#[test]
fn an_approval_shows_and_binds_the_image() {
    let steps = format!("  - {{id: build, container: \"{IMAGE}\", run: echo built}}\n");
    let sandbox = with_engine(&plan(&steps));
    let run = |args: &[&str]| Did::of(&mut wf(&sandbox, args));
    run(&["key", "init"]).exits(0);
    run(&["approve", "plan.md", "--yes", "--out", "approval.json"])
        .says("  container            registry.example/tool@sha256:0000")
        .says("a container: it sees only");
    run(&["run", "plan.md", "--approval", "approval.json"]).exits(0);
    sandbox.file("plan.md", plan(&steps.replace("aa", "bb")));
    run(&["run", "plan.md", "--approval", "approval.json"]).exits(4);
    assert_eq!(calls(&sandbox, "run ").len(), 1);
}

#[test]
fn an_engine_that_fails_is_no_fault_of_the_command() {
    let retry = "retry: {max: 1, backoff: 1ms, on: [environmental]}";
    let steps = format!("  - {{id: build, container: \"{IMAGE}\", {retry}, run: exit 125}}\n");
    let sandbox = with_engine(&plan(&steps));
    let run = |args: &[&str]| Did::of(&mut wf(&sandbox, args));
    run(&["run", "plan.md"]).exits(1);
    assert_eq!(calls(&sandbox, "run ").len(), 2);
    sandbox.file("plan.md", plan(&steps.replace("exit 125", "exit 3")));
    run(&["run", "plan.md"]).exits(1);
    assert_eq!(calls(&sandbox, "run ").len(), 3);
}

#[test]
fn a_container_is_removed_however_its_attempt_ends() {
    let step = format!("  - {{id: build, container: \"{IMAGE}\", timeout: 300ms, run: sleep 1000}}\n");
    let sandbox = with_engine(&plan(&step));
    Did::of(&mut wf(&sandbox, &["run", "plan.md"])).exits(1).says("timed out");
    assert_eq!(calls(&sandbox, "rm --force wf-").len(), 1);
    // Engine and supervisor are killed: whoever goes on removes it.
    sandbox.file("plan.md", plan(&step.replace("timeout: 300ms, ", "")));
    let mut engine = wf(&sandbox, &["run", "plan.md"]).spawn().unwrap();
    until("it runs", || calls(&sandbox, "run ").len() == 2);
    kill_both(&mut engine);
    Did::of(&mut wf(&sandbox, &["resume", "--last"])).exits(1).says("interrupted");
    let removed = calls(&sandbox, "rm --force wf-");
    let started = calls(&sandbox, "run ");
    let name = removed[1].trim_start_matches("rm --force ");
    assert!(started[1].contains(&format!(" --name {name} ")), "{started:?}\n{removed:?}");
}

/// A real podman and the image that it has, for a test of its own.
struct RealEngine {
    sandbox: Sandbox,
    image: String,
}

impl RealEngine {
    /// Settings for machines on which the usual ones need more rights than the tests have.
    const MODEST: &str = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n\
                          netns = \"host\"\n[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\n";

    /// Makes an image of a busybox, without a registry; the reason if no container can be started.
    fn prepare() -> Result<Self, String> {
        let sandbox = Sandbox::new();
        sandbox.file("modest.conf", Self::MODEST).file("usual.conf", "[containers]\n");
        let mut engine = Self { sandbox, image: String::new() };
        let image = "localhost/wf-test:latest";
        let script = format!(
            "mkdir -p root/bin root/tmp && cp \"$(command -v busybox)\" root/bin/ && \
             for name in sh sleep id true touch; do ln -sf busybox root/bin/$name; done && \
             tar -C root -cf root.tar . && rm -r root && podman import -q root.tar {image} && rm root.tar && \
             podman image inspect --format '{{{{index .RepoDigests 0}}}}' {image}"
        );
        let made = engine.shell("usual", &script);
        if made.code != Some(0) {
            return Err(made.all());
        }
        made.out.lines().last().unwrap_or_default().clone_into(&mut engine.image);
        let mut reasons = String::new();
        for settings in ["usual", "modest"] {
            let tried = engine.shell(settings, &format!("podman run --rm --init {} true", engine.image));
            if tried.code == Some(0) {
                std::fs::copy(engine.sandbox.at(&format!("{settings}.conf")), engine.sandbox.at("used.conf"))
                    .unwrap();
                return Ok(engine);
            }
            reasons.push_str(&tried.all());
        }
        Err(reasons)
    }

    fn shell(&self, settings: &str, script: &str) -> Did {
        let mut command = self.sandbox.program("sh");
        command.env("CONTAINERS_CONF", self.sandbox.at(&format!("{settings}.conf")));
        Did::of(command.args(["-c", script]))
    }

    fn wf(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(args);
        command.env("CONTAINERS_CONF", self.sandbox.at("used.conf"));
        command
    }

    /// Writes a plan of one step in the container.
    fn plan(&self, step: &str) {
        self.sandbox.file("plan.md", plan(&format!("  - id: build\n    container: {}\n{step}", self.image)));
    }

    /// Asserts that no container is left, and that none of its processes is.
    fn assert_nothing_left(&self) {
        let left = self.shell("used", "podman ps -a --format '{{.Names}}' | grep '^wf-'");
        assert_eq!(left.out, "");
        assert_eq!(self.shell("used", "pgrep -f 'sleep 10[0]7'").out, "", "a process is left");
    }
}

impl Drop for RealEngine {
    fn drop(&mut self) {
        self.shell("used", &format!("podman rmi --force {}", self.image));
    }
}

#[test]
fn a_real_engine_runs_steps_and_ends_them() {
    let engine = match RealEngine::prepare() {
        Ok(engine) => engine,
        Err(reason) => {
            let required = std::env::var_os("WF_TEST_CONTAINERS").is_some();
            assert!(!required, "podman cannot start a container here:\n{reason}");
            eprintln!("NOT RUN: podman cannot start a container here:\n{reason}");
            return;
        }
    };
    engine.plan(
        "    env: {HOME: /tmp, WORD: \"two words\"}\n    run: |\n      test ! -e /etc/passwd.host\n      \
         test \"$HOME $WORD\" = '/tmp two words'\n      test ! -e /usr/bin/env\n      id -u > made\n      \
         echo \"where=$PWD\" >> \"$WF_OUTPUT\"\n    outputs: {where: {type: string}}\n    \
         artifacts: [made]\n",
    );
    let done = Did::of(&mut engine.wf(&["run", "plan.md"]));
    Did::of(&mut engine.wf(&["logs", "--last", "build"]));
    done.exits(0);
    let of = |path: &Path| std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(path).unwrap());
    assert_eq!(of(&engine.sandbox.at("made")), of(engine.sandbox.path()));
    engine.assert_nothing_left();
    engine.plan("    run: exit 7\n");
    Did::of(&mut engine.wf(&["run", "plan.md"])).exits(1).says("exit code 7");
    engine.plan("    timeout: 2s\n    run: touch began; sleep 1007\n");
    Did::of(&mut engine.wf(&["run", "plan.md"])).exits(1).says("timed out");
    assert!(engine.sandbox.at("began").exists());
    engine.assert_nothing_left();
    // Cancelled, and killed with its supervisor.
    for is_killed in [false, true] {
        std::fs::remove_file(engine.sandbox.at("began")).unwrap();
        engine.plan("    run: touch began; sleep 1007\n");
        let mut run = engine.wf(&["run", "plan.md"]).spawn().unwrap();
        until("it runs", || engine.sandbox.at("began").exists());
        if is_killed {
            kill_both(&mut run);
            Did::of(&mut engine.wf(&["resume", "--last"])).exits(1);
        } else {
            Did::of(&mut engine.wf(&["cancel", "--last"])).exits(0);
            run.wait().unwrap();
        }
        engine.assert_nothing_left();
    }
}
