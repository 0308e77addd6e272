//! What steps print: whatever it is, however much, and whoever dies.

use std::{
    fs,
    process::{Child, Stdio},
};

use crate::{
    crash::{keeper_of, kill_both},
    support::{Sandbox, until},
};

/// A plan of one step, `talk`, that a script is given to, and what else it says.
fn plan(more: &str, script: &str) -> String {
    let script = script.replace('\n', "\n      ");
    format!(
        "---\nkind: plan\nid: plan\nsecrets: {{KEY: {{from: env, name: HOME}}}}\nsteps:\n  - id: talk\n    \
         env: {{KEY: \"{{{{ secrets.KEY }}}}\"}}\n{more}    run: |\n      {script}\n---\n"
    )
}

fn talk(limit: u64, more: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("wf.yaml", format!("logs: {{max_bytes: {limit}}}\n"));
    sandbox.file("plan.md", plan(more, script));
    sandbox
}

/// The most memory that a process has used so far, in KiB.
fn most_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    number.unwrap_or(0)
}

/// The most memory that the engine and its keeper used while a plan ran, in KiB.
fn memory_of_run(sandbox: &Sandbox) -> u64 {
    let mut child = sandbox.command(&["run", "-q", "plan.md"]).spawn().unwrap();
    let (mut most, mut keeper) = (0, None);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        keeper = keeper.or_else(|| keeper_of(child.id()));
        let pids = [Some(child.id()), keeper.and_then(|pid| u32::try_from(pid).ok())];
        most = pids.into_iter().flatten().map(most_memory).fold(most, u64::max);
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    assert!(status.success());
    most
}

/// `WF_LOG_MB` tries more.
#[test]
fn memory_does_not_depend_on_how_much_is_printed() {
    let megabytes = std::env::var_os("WF_LOG_MB").map_or("64".into(), |asked| asked);
    let megabytes: u64 = megabytes.to_str().unwrap().parse().unwrap();
    let print = |bytes: u64| format!("head -c {bytes} /dev/zero | tr '\\0' x; echo the end; sleep 0.2");
    let little = memory_of_run(&talk(1_000_000, "", &print(1000)));
    let sandbox = talk(1_000_000, "", &print(megabytes * 1024 * 1024));
    let much = memory_of_run(&sandbox);
    assert!(much < little + 16 * 1024, "{much} KiB, with little output {little} KiB");
    let shown = sandbox.wf(&["logs", "--last", "talk", "--raw"]).exits(0).out;
    assert!(shown.ends_with("xxxthe end\n") && shown.len() < 1_000_100, "{}", shown.len());
    let note = shown.lines().find(|line| line.ends_with(" bytes omitted …"));
    let note = note.expect("what is cut is said to be cut");
    let left_out: u64 = note.split(' ').nth(1).unwrap().parse().unwrap();
    let kept = (shown.len() - note.len() - 2) as u64;
    assert_eq!(kept + left_out, megabytes * 1024 * 1024 + 8);
    assert!(kept > 700_000, "{kept}");
}

#[test]
fn anything_can_be_printed() {
    let sandbox = talk(
        5_000_000,
        "",
        "yes 50% | head -n 1000000 | tr '\\n' '\\r'; echo done\nprintf 'a\\377b\\0c \\033[31mred\\033[0m \\033]0;title\\007\\n'\nprintf '\\342\\200\\256gpj.exe \\033[' >&2\nexit 1",
    );
    let did = sandbox.wf(&["run", "-v", "plan.md"]).exits(1).says("done\n").says("red");
    assert!(!did.all().contains(['\u{1b}', '\u{7}', '\u{202e}', '\0']), "{}", did.all());
    assert!(did.all().len() < 100_000, "{}", did.all().len());
    let logs = sandbox.command(&["logs", "--last", "talk", "--raw"]).output().unwrap();
    // What is kept is what was printed.
    assert!(logs.stdout.starts_with(b"50%\r50%\r") && logs.stdout.len() > 4_000_000);
    let all = logs.stdout.windows(10).any(|bytes| bytes == b"a\xffb\0c \x1b[31");
    assert!(all, "bytes pass as they are");
}

#[test]
fn streams_are_in_order_with_their_times() {
    let sandbox =
        talk(1000, "", "for n in 1 2 3; do echo out $n; sleep 0.1; echo err $n >&2; sleep 0.1; done");
    sandbox.wf(&["run", "-q", "plan.md"]).exits(0);
    let shown = sandbox.wf(&["logs", "--last", "talk", "--timestamps"]).exits(0).out;
    let lines: Vec<(&str, &str)> = shown.lines().map(|line| line.split_once(' ').unwrap()).collect();
    let texts: Vec<&str> = lines.iter().map(|(_, text)| *text).collect();
    assert_eq!(texts, ["out 1", "err 1", "out 2", "err 2", "out 3", "err 3"]);
    assert!(lines.is_sorted_by(|a, b| a.0 < b.0), "{shown}");
    let errors = sandbox.wf(&["logs", "--last", "talk", "--stderr"]).exits(0).out;
    assert_eq!(errors, "err 1\nerr 2\nerr 3\n");
}

#[test]
fn what_a_killed_attempt_printed_is_kept() {
    for (more, end) in [
        ("    timeout: 500ms\n", "sleep 60"),
        ("    timeout: 500ms\n    cwd: .\n", "trap '' TERM; sleep 60"),
        ("", "kill -9 $$"),
        ("", "(sleep 1; echo never) & kill -9 0"),
    ] {
        let sandbox = talk(1000, more, &format!("echo one; printf two >&2; {end}"));
        sandbox.file("junk", "");
        let text = sandbox.read("wf.yaml") + "policy: {grace: 100ms}\n";
        sandbox.file("wf.yaml", text);
        sandbox.wf(&["run", "-q", "plan.md", "--junit", "out.xml"]).exits(1);
        let shown = sandbox.wf(&["logs", "--last", "talk"]).exits(0).out;
        assert_eq!(shown, "one\ntwo\n", "{more}{end}");
        let junit = sandbox.read("out.xml");
        assert!(junit.contains("last output:\none\ntwo</failure>"), "{junit}");
    }
}

/// Follows the log of the latest run into a file.
fn follow(sandbox: &Sandbox) -> Child {
    let mut command = sandbox.command(&["logs", "--last", "talk", "-f"]);
    let file = fs::File::create(sandbox.at("followed")).unwrap();
    command.stdout(file).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_log_is_followed_while_it_is_written() {
    let sandbox = talk(1000, "", "echo one; until test -e go; do sleep 0.05; done; printf 'two\\nthree'");
    let mut run = sandbox.start(&["run", "-q", "plan.md"]);
    until("it talks", || sandbox.wf(&["logs", "--last", "talk"]).out == "one\n");
    let mut follower = follow(&sandbox);
    until("it is followed", || sandbox.read("followed") == "one\n");
    sandbox.file("go", "");
    until("the follower ends", || follower.try_wait().unwrap().is_some());
    assert_eq!(sandbox.read("followed"), "one\ntwo\nthree\n");
    assert!(run.wait().unwrap().success());
}

#[test]
fn a_log_whose_writer_died_is_shown_as_far_as_it_goes() {
    let sandbox =
        talk(2000, "", "n=0; while :; do n=$((n + 1)); echo line $n; test $n -lt 2000 || sleep 0.1; done");
    let mut run = sandbox.start(&["run", "-q", "plan.md"]);
    let shown = || sandbox.wf(&["logs", "--last", "talk"]).out;
    until("the middle is left out", || shown().contains("\nline 2001\n"));
    let mut follower = follow(&sandbox);
    until("it is followed", || sandbox.read("followed").starts_with("line 1\n"));
    kill_both(&mut run);
    let text = shown();
    assert!(text.starts_with("line 1\nline 2\n") && text.len() < 2200, "{text}");
    let (head, tail) = text.split_once("… the middle omitted …").expect("it says so");
    assert!(head.contains("line 50\n") && tail.contains("\nline 2000\n"), "{text}");
    until("the follower ends", || follower.try_wait().unwrap().is_some());
    sandbox.wf(&["logs", "--last", "talk", "--tail", "1"]).exits(0).says("line 2");
    sandbox.wf(&["logs", "--last", "--timestamps"]).exits(0).says("line 1\n");
}

/// Returns the names of the files in the folder of the latest run.
fn files_of_run(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.at(&format!(".wf/runs/{}", crate::web::last_run(sandbox)));
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn the_logs_of_a_run_that_has_ended_are_one_file() {
    let sandbox = Sandbox::new();
    let steps = "  - {id: many, for_each: [1, 2, 3], run: 'echo $WF_ITEM'}\n  \
                 - {id: agree, depends_on: [many], approve: {message: 'Go on?'}}\n  \
                 - {id: last, depends_on: [agree], run: 'echo end; echo bad >&2; exit 3'}\n";
    sandbox.file("plan.md", format!("---\nkind: plan\nid: plan\nsteps:\n{steps}---\n"));
    sandbox.wf(&["run", "plan.md"]).exits(5);
    assert!(!files_of_run(&sandbox).contains(&"logs.tar".to_owned()), "it is not over");
    sandbox.wf(&["approve", "--last", "--yes"]).exits(0);
    let before = sandbox.wf(&["logs", "--last"]).exits(0).out;
    sandbox.wf(&["resume", "--last", "--junit", "junit.xml"]).exits(1);
    assert_eq!(files_of_run(&sandbox), ["logs.tar"]);
    let after = sandbox.wf(&["logs", "--last"]).exits(0).out;
    assert!(after.starts_with(&before) && after.ends_with("end\nbad\n"), "{before}\n{after}");
    assert!(sandbox.read("junit.xml").contains("bad"), "a report has the output");
    sandbox.wf(&["logs", "--last", "last", "--stderr"]).exits(0).says("bad");
    let followed = sandbox.wf(&["logs", "--last", "many[2]", "--follow"]).exits(0).out;
    assert_eq!(followed, "2\n");
}

#[test]
fn a_follower_shows_all_that_came_before_the_end() {
    let sandbox = Sandbox::new();
    let much = "for n in $(seq 300); do echo out; echo err >&2; done";
    sandbox
        .file("plan.md", format!("---\nkind: plan\nid: plan\nsteps: [{{id: much, run: '{much}'}}]\n---\n"));
    sandbox.wf(&["run", "-q", "plan.md"]).exits(0);
    let shown = sandbox.wf(&["logs", "--last", "--follow"]).exits(0).out;
    assert_eq!(shown.lines().count(), 600, "one who comes late sees all of it");
}
