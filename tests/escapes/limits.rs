//! Programs that take more than they may: they end, and the machine stays well.

use serde_json::Value;

use super::{
    missing,
    scene::{Scene, Who},
};

/// One program, what it may take, and whether it says that it got more.
struct Greed {
    name: &'static str,
    tries: &'static str,
    limits: &'static str,
    /// Who is limited.
    counts: Counts,
    timeout: &'static str,
    python: &'static str,
}

/// What a limit counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    All,
    /// All, where a control group can be made; elsewhere each process alone.
    Group,
    /// Each process alone.
    Each,
}

const GREEDS: &[Greed] = &[
    Greed {
        name: "memory",
        tries: "take more memory than it may",
        limits: "memory: 64MiB",
        counts: Counts::All,
        timeout: "10s",
        python: "room = bytearray(256 << 20)\nthrough()",
    },
    Greed {
        name: "memory_together",
        tries: "take it with many processes, each a little",
        limits: "memory: 96MiB",
        counts: Counts::Group,
        timeout: "10s",
        python: "
ready, room = os.pipe()
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(40 << 20)
        os.write(room, b'.')
        time.sleep(1)
        os._exit(0)
os.close(room)
time.sleep(0.5)
if len(os.read(ready, 100)) == 8:
    through()
",
    },
    Greed {
        name: "memory_in_files",
        tries: "take it as files in memory",
        limits: "memory: 64MiB",
        counts: Counts::Group,
        timeout: "10s",
        python: "
with open('/dev/shm/room', 'wb') as room:
    for _ in range(256):
        room.write(bytes(1 << 20))
through()
",
    },
    Greed {
        name: "scratch",
        tries: "write more than it may where nothing is kept",
        limits: "scratch: 8MiB",
        counts: Counts::All,
        timeout: "10s",
        python: "
total = 0
for folder in ('/tmp', '/var/tmp', '/dev/shm', os.environ['HOME'], '.'):
    try:
        with open(folder + '/room', 'wb') as room:
            for _ in range(6):
                room.write(bytes(1 << 20))
                room.flush()
                total += 1
    except OSError as error:
        print(folder, error)
if total > 8:
    through(total)
",
    },
    Greed {
        name: "processes",
        tries: "start more processes than it may",
        limits: "processes: 20",
        counts: Counts::All,
        timeout: "10s",
        python: "
for count in range(100):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
    if count > 20:
        through(count)
",
    },
    Greed {
        name: "fork_bomb",
        tries: "fork without end",
        limits: "processes: 64",
        counts: Counts::All,
        timeout: "2s",
        python: "
while True:
    try:
        os.fork()
    except OSError:
        pass
",
    },
    Greed {
        name: "cpu",
        tries: "calculate longer than it may",
        limits: "cpu: 1s",
        counts: Counts::All,
        timeout: "10s",
        python: "
while time.process_time() < 2.5:
    pass
through()
",
    },
    Greed {
        name: "cpu_together",
        tries: "calculate longer, with one process after the other",
        limits: "cpu: 1s",
        counts: Counts::Each,
        timeout: "10s",
        python: "
for _ in range(4):
    if os.fork() == 0:
        while time.process_time() < 0.6:
            pass
        os._exit(0)
    os.wait()
through()
",
    },
    Greed {
        name: "output",
        tries: "print without end",
        limits: "output: 1MiB",
        counts: Counts::All,
        timeout: "10s",
        python: "
while True:
    os.write(1, b'y\\n' * 30000)
",
    },
];

/// All of them, as steps or as checks.
fn plan(as_checks: bool) -> String {
    let mut plan = String::from("---\nkind: plan\nid: greed\npolicy: {max_parallel: 2, grace: 1s}\nsteps:\n");
    let indent = if as_checks { "        " } else { "    " };
    if as_checks {
        plan += "  - id: nothing\n    run: \"true\"\n    verify:\n";
    }
    let through = "import os, time\ndef through(why=''):\n    print('got-through', why, flush=True)\n";
    for greed in GREEDS {
        let Greed { name, limits, timeout, python, .. } = greed;
        plan += &if as_checks {
            format!("      - name: {name}\n{indent}expect: {{contains: got-through}}\n")
        } else {
            format!("  - id: {name}\n    on_error: continue\n    allow: {{}}\n")
        };
        plan += &format!(
            "{indent}timeout: {timeout}\n{indent}limits: {{{limits}}}\n{indent}shell: python\n{indent}run: |\n"
        );
        for line in format!("{through}{python}").lines() {
            plan += &format!("{indent}  {line}\n");
        }
    }
    plan + "---\n"
}

/// Whether a program got more than it may, and how it ended.
fn told(scene: &Scene, greed: &Greed, as_checks: bool, shown: &Value) -> (bool, String) {
    if as_checks {
        let all = shown["checks"].as_array().expect("there are checks");
        let mut verdicts = all.iter().map(|check| &check["verdict"]);
        let verdict = verdicts.find(|verdict| verdict["name"] == greed.name);
        let verdict = verdict.expect("a verdict");
        return (verdict["ruling"] == "pass", verdict["found"].to_string());
    }
    let all = shown["attempts"].as_array().expect("there are attempts");
    let end = all.iter().find(|end| end["step"] == greed.name);
    let logs = scene.wf(&["logs", "--last", greed.name, "--stdout"]).out;
    let exit = &end.expect("an attempt")["exit"];
    (logs.contains("got-through"), exit.to_string())
}

/// Runs them all; gives those that got more than they may.
fn greedy(who: Who, as_checks: bool) -> Vec<String> {
    let scene = Scene::new(who);
    std::fs::write(scene.at("ws/greed.md"), plan(as_checks)).unwrap();
    let did = scene.wf(&["run", "greed.md"]);
    assert!(matches!(did.code, Some(0 | 1)), "{}", did.all());
    let shown = scene.wf(&["show", "--last", "--json"]).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).expect("a run is shown as JSON");
    let kind = if as_checks { "check" } else { "step" };
    let mut through = Vec::new();
    for greed in GREEDS {
        let (more, ended) = told(&scene, greed, as_checks, &shown);
        let granted = greed.counts == Counts::Each || greed.counts == Counts::Group && who == Who::Nobody;
        let verdict = match (more, granted) {
            (false, _) => "stopped",
            (true, false) => "GOT THROUGH",
            (true, true) => "granted",
        };
        println!("{:<18} {:<52} {kind:<6} {who:?} {verdict}: {ended}", greed.name, greed.tries);
        if more && !granted {
            through.push(format!("{}, as a {kind} by {who:?}", greed.name));
        }
    }
    through.extend(scene.left_running());
    let state = walkdir::WalkDir::new(scene.at("ws/.wf")).into_iter().flatten();
    let size: u64 = state.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
    if size > 32 << 20 {
        through.push(format!("the state has {size} bytes"));
    }
    through
}

#[test]
fn nobody_takes_more_than_he_may() {
    if missing("python3", "whether limits hold") {
        return;
    }
    let mut through = greedy(Who::Own, false);
    through.extend(greedy(Who::Own, true));
    if super::may_be_nobody() {
        through.extend(greedy(Who::Nobody, false));
    }
    assert!(through.is_empty(), "these got more:\n{}", through.join("\n"));
}
