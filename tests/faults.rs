//! What goes wrong below the state: full disks, folders that cannot be written, damage, a
//! database that is held.

use std::{fs, io::Write as _};

use crate::support::{Did, Sandbox, until};

/// A plan whose steps run again when they were interrupted, and fill the state.
const MANY: &str = "---\nkind: plan\nid: many\nsteps:\n  - id: many\n    for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n\
    \x20   max_parallel: 1\n    idempotent: true\n    outputs: {text: {type: string}}\n\
    \x20   run: |\n      printf 'text=%060000d' 0 >> \"$WF_OUTPUT\"; echo \"$WF_ITEM_INDEX\" >> ran\n---\n";

const SMALL: &str = "---\nkind: plan\nid: small\nsteps:\n  - {id: a, run: \"echo hello\"}\n---\n";

/// Runs a script among mounts of its own, where it may make some. `None`, said loudly, where the
/// system does not let it.
pub fn among_own_mounts(sandbox: &Sandbox, script: &str) -> Option<Did> {
    let script = format!("wf={}\n{script}", env!("CARGO_BIN_EXE_wf"));
    for flags in [&["--mount"][..], &["--mount", "--user", "--map-root-user"]] {
        let run = |script: &str| {
            let mut command = sandbox.program("unshare");
            command.args(flags).args(["sh", "-c", script]).output()
        };
        let allowed = run("mount -t tmpfs none /mnt");
        if allowed.is_ok_and(|output| output.status.success()) {
            let output = run(&format!("exec 2>&1\n{script}")).unwrap();
            let out = String::from_utf8_lossy(&output.stdout).into_owned();
            let (code, err) = (output.status.code(), String::new());
            return Some(Did { code, out, err });
        }
    }
    // Not by `eprintln`, which tests swallow.
    let loudly = "NOT TESTED: this system lets nobody mount, so disks cannot be made full here\n";
    let _ = std::io::stderr().write_all(loudly.as_bytes());
    None
}

/// What a script said between two of its lines that begin with `==`.
pub fn part<'a>(did: &'a Did, name: &str) -> &'a str {
    let (_, after) = did.out.split_once(&format!("== {name}\n")).expect(name);
    after.split_once("\n==").map_or(after, |(part, _)| part)
}

#[track_caller]
fn says(text: &str, all: &[&str]) {
    for wanted in all {
        assert!(text.contains(wanted), "does not say {wanted:?}:\n{text}");
    }
}

#[test]
fn a_full_disk_stops_a_run_that_goes_on_when_there_is_room() {
    let sandbox = Sandbox::new();
    sandbox.file("many.md", MANY).file("small.md", SMALL);
    sandbox.file("wf.yaml", "retention: {max_runs: 1}\n");
    let script = "mkdir .wf; mount -t tmpfs -o size=1200k none .wf
        echo '== midway'; $wf run many.md; echo \"code $?\"
        echo '== doctor'; $wf doctor; echo \"code $?\"
        echo '== show'; $wf show --last; echo \"code $?\"
        mount -o remount,size=9m .wf
        echo '== resume'; $wf resume --last; echo \"code $?\"
        echo '== ran'; sort -n ran | uniq -c | awk '{ print $1 }' | sort | uniq -c
        while pgrep -f \"$PWD/.wf/keepers\" > /dev/null; do sleep 0.02; done
        for n in 1 2 3; do dd if=/dev/zero of=.wf/ballast$n bs=1k 2> /dev/null; sleep 0.05; done
        echo '== open'; $wf run small.md; echo \"code $?\"
        rm .wf/ballast*
        echo '== again'; $wf run small.md -q; echo \"code $?\"; $wf doctor; $wf runs
        umount .wf; mount -t tmpfs -o size=8k none .wf
        echo '== first'; $wf run small.md; echo \"code $?\"
        umount .wf; mount -t tmpfs -o size=1m none .wf
        $wf run small.md -q; $wf run many.md > /dev/null 2>&1
        echo '== done'";
    let Some(did) = among_own_mounts(&sandbox, script) else {
        return;
    };
    let full = ["no space left to write", "hint: free some space", "code 6"];
    says(part(&did, "midway"), &full);
    let doctor = ["hash chain OK", "disk ", "free on the disk of the state", "wf resume"];
    says(part(&did, "doctor"), &doctor);
    says(part(&did, "show"), &["interrupted", "next: wf resume", "code 0"]);
    says(part(&did, "resume"), &["succeeded", "code 0"]);
    let counts: Vec<&str> = part(&did, "ran").split_whitespace().collect();
    assert!(matches!(counts.as_slice(), ["10", "1"] | ["9", "1", "1", "2"]), "{counts:?}");
    says(part(&did, "open"), &full);
    says(part(&did, "again"), &["succeeded", "code 0", "hash chain OK"]);
    assert!(!part(&did, "again").contains("many"), "one run is kept");
    says(part(&did, "first"), &full);
}

/// A plan whose steps run beside each other, never twice, and fill the state.
const ONCE: &str = "---\nkind: plan\nid: once\npolicy: {max_parallel: 4}\nsteps:\n  - id: many\n\
    \x20   for_each: ITEMS\n    outputs: {text: {type: string}}\n\
    \x20   run: |\n      printf 'text=%030000d' 0 >> \"$WF_OUTPUT\"; sleep 0.3; echo \"$WF_ITEM_INDEX\" >> ran\n---\n";

#[test]
fn what_runs_when_the_disk_gets_full_ends_and_nothing_runs_twice() {
    let sandbox = Sandbox::new();
    let items: Vec<u32> = (1..=40).collect();
    sandbox.file("once.md", ONCE.replace("ITEMS", &format!("{items:?}")));
    let script = "mkdir .wf; mount -t tmpfs -o size=4m none .wf
        echo '== midway'; $wf run once.md; echo \"code $?\"
        echo '== low'; wc -l < ran; dd if=/dev/zero of=.wf/ballast bs=1k 2> /dev/null; $wf resume --last; echo \"code $?\"
        rm .wf/ballast; mount -o remount,size=20m .wf
        echo '== resume'; $wf resume --last; echo \"code $?\"
        echo '== ran'; sort -n ran | uniq -c | awk '{ print $1 }' | sort | uniq -c
        echo '== done'";
    let Some(did) = among_own_mounts(&sandbox, script) else {
        return;
    };
    let full = ["no space left to write", "hint: free some space", "code 6"];
    says(part(&did, "midway"), &full);
    assert!(!part(&did, "midway").contains("failed"), "{}", did.out);
    says(part(&did, "low"), &full);
    says(part(&did, "resume"), &["succeeded", "code 0"]);
    let counts: Vec<&str> = part(&did, "ran").split_whitespace().collect();
    assert_eq!(counts, ["40", "1"], "{}", did.out);
}

#[test]
fn a_full_disk_while_an_exchange_is_recorded_stops_a_run_that_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.file("wf.yaml", "models: {m: {api: scripted, model: replies.yaml}}\nroles: {executor: m}\n");
    sandbox.file("replies.yaml", "- text: It is done.\n");
    let plan = "---\nkind: plan\nid: note\nsteps: [{id: write, agent: {role: executor, tools: []}}]\n---\n## write\n\n";
    sandbox.file("plan.md", format!("{plan}{}\n", "Say that it is done. ".repeat(400)));
    let script = "mkdir tape; mount -t tmpfs -o size=4k none tape
        echo '== full'; $wf run plan.md --record tape; echo \"code $?\"
        echo '== resume'; $wf resume --last; echo \"code $?\"
        echo '== done'";
    let Some(did) = among_own_mounts(&sandbox, script) else {
        return;
    };
    says(part(&did, "full"), &["no space left to write", "hint: free some space", "code 6"]);
    says(part(&did, "resume"), &["succeeded", "code 0"]);
}

#[test]
fn a_state_that_cannot_be_written_can_be_read() {
    let sandbox = Sandbox::new();
    sandbox.file("small.md", SMALL);
    let script = "$wf run small.md -q; mount --bind .wf .wf; mount -o remount,bind,ro .wf
        echo '== run'; $wf run small.md; echo \"code $?\"
        echo '== read'; $wf runs && $wf show --last && $wf logs --last a; echo \"code $?\"
        echo '== doctor'; $wf doctor; echo \"code $?\"
        echo '== backup'; $wf backup out.tar; echo \"code $?\"
        umount .wf; rm .wf/state.db-shm; mount --bind .wf .wf; mount -o remount,bind,ro .wf
        echo '== bare'; $wf runs; echo \"code $?\"
        umount .wf; rm -r .wf; mkdir .wf; mount --bind .wf .wf; mount -o remount,bind,ro .wf
        echo '== empty'; $wf run small.md; echo \"code $?\"";
    let Some(did) = among_own_mounts(&sandbox, script) else {
        return;
    };
    let refused = ["is not writable", "hint: make it writable", "code 6"];
    says(part(&did, "run"), &refused);
    says(part(&did, "read"), &["small  succeeded", "hello", "code 0"]);
    says(part(&did, "doctor"), &["not writable", "use --state", "code 6"]);
    says(part(&did, "backup"), &["to out.tar", "code 0"]);
    says(part(&did, "bare"), &refused);
    says(part(&did, "empty"), &refused);
}

/// A state with some runs, its database all in one file if told.
fn filled(whole: bool) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("small.md", SMALL);
    for _ in 0..3 {
        sandbox.wf(&["run", "small.md", "-q"]).exits(0);
    }
    if whole {
        let connection = sandbox.database();
        let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
        connection.query_row(truncate, [], |_| Ok(())).unwrap();
    }
    sandbox
}

fn flip(sandbox: &Sandbox, file: &str, at: usize, count: usize) {
    let path = sandbox.at(file);
    let mut bytes = fs::read(&path).unwrap();
    bytes.iter_mut().skip(at).take(count).for_each(|byte| *byte ^= 0x5a);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_log_of_the_database_is_not_taken_for_a_short_one() {
    // SQLite takes its log to end before the damage: all of it is lost, some, or the last commit.
    for third in 0..3 {
        let sandbox = filled(false);
        let size = fs::metadata(sandbox.at(".wf/state.db-wal")).unwrap().len();
        let at = usize::try_from(size).unwrap() * third / 3 + 200;
        flip(&sandbox, ".wf/state.db-wal", at, 1);
        for args in [&["run", "small.md"][..], &["doctor"]] {
            let did = sandbox.wf(args).exits(6).says("lost events: ");
            did.says("of 21 recorded events are present").says("`wf restore`");
        }
        fs::remove_file(sandbox.at(".wf/state.mark")).unwrap();
        sandbox.wf(&["run", "small.md"]).exits(0);
        sandbox.wf(&["doctor"]).exits(0).says("hash chain OK");
    }
}

#[test]
fn a_state_that_is_gone_is_not_begun_anew() {
    let sandbox = filled(true);
    fs::remove_file(sandbox.at(".wf/state.db")).unwrap();
    for args in [&["run", "small.md"][..], &["runs"], &["doctor"]] {
        let did = sandbox.wf(args).exits(6);
        did.says("lost events: 0 of 21 recorded events are present");
    }
}

#[test]
fn a_truncated_database_is_refused() {
    let size = fs::metadata(filled(true).at(".wf/state.db")).unwrap().len();
    for length in [50, 100, 4096, 4097, size / 2, size - 4096] {
        let sandbox = filled(true);
        let file = fs::OpenOptions::new().write(true).open(sandbox.at(".wf/state.db"));
        file.unwrap().set_len(length).unwrap();
        for args in [&["run", "small.md"][..], &["runs"], &["doctor"]] {
            sandbox.wf(args).exits(6).says("is damaged").says("`wf restore`");
        }
    }
}

#[test]
fn a_damaged_page_is_found() {
    let size = fs::metadata(filled(true).at(".wf/state.db")).unwrap().len();
    for page in (1..usize::try_from(size / 4096).unwrap()).step_by(3) {
        let sandbox = filled(true);
        flip(&sandbox, ".wf/state.db", page * 4096, 4096);
        sandbox.wf(&["doctor"]).exits(6).says("is damaged");
        // Whatever the others meet, they end, and as they should.
        for args in [&["run", "small.md"][..], &["runs"], &["show", "--last"]] {
            let did = sandbox.wf(args);
            assert!(matches!(did.code, Some(0 | 2 | 6)), "{}", did.all());
        }
        let did = sandbox.wf(&["backup", "out.tar"]).exits(6);
        assert!(!sandbox.at("out.tar").exists(), "{}", did.all());
    }
}

#[test]
fn a_log_that_was_cut_is_found_even_if_its_run_has_not_ended() {
    let sandbox = filled(true);
    let connection = sandbox.database();
    let cut = "DELETE FROM events WHERE run = (SELECT max(key) FROM runs) AND run_seq > 1;
        UPDATE runs SET outcome = NULL WHERE key = (SELECT max(key) FROM runs)";
    connection.execute_batch(cut).unwrap();
    drop(connection);
    sandbox.wf(&["doctor"]).exits(6).says("16 of 21 recorded events");
    sandbox.wf(&["resume", "--last"]).exits(6).says("lost events");
}

#[test]
fn a_database_that_somebody_holds_is_waited_for_and_then_told_of() {
    let sandbox = filled(true);
    let holder = sandbox.database();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut command = sandbox.command(&["run", "small.md"]);
    let refused = command.env("WF_LEASE", "300").output().unwrap();
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(6), "{told}");
    says(&told, &["is busy", "hint: wait for the other process"]);
    sandbox.wf(&["runs"]).exits(0).says("succeeded");

    let mut waiting = sandbox.start(&["run", "small.md"]);
    until("it waits", || sandbox.at(".wf/state.db-wal").exists() && waiting.try_wait().unwrap().is_none());
    holder.execute_batch("ROLLBACK").unwrap();
    assert!(waiting.wait().unwrap().success());
}
#[test]
fn a_state_that_is_removed_or_replaced_ends_the_run_and_nothing_is_said_to_be_done() {
    for meddle in [
        "rm -rf .wf",
        "mv .wf away",
        "rm .wf/state.db",
        "cp .wf/state.db old; rm .wf/state.db; mv old .wf/state.db",
        "mv .wf away; cp -r away .wf",
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("plan.md", "---\nkind: plan\nid: first\nsteps:\n  - {id: a, run: \"true\"}\n---\n");
        sandbox.wf(&["run", "plan.md"]).exits(0);
        assert!(sandbox.at(".wf/state.db").exists());
        let plan = format!("---\nkind: plan\nid: meddles\nsteps:\n  - {{id: a, run: \"{meddle}\"}}\n---\n");
        sandbox.file("plan.md", plan);
        let did = sandbox.wf(&["run", "plan.md"]).exits(6);
        assert!(!did.all().contains("succeeded"), "{meddle}: {}", did.all());
        did.says("was removed or replaced").says("nothing of this was recorded");
    }
}

#[test]
fn a_workspace_that_is_moved_away_gets_no_new_state_and_its_run_ends_with_an_error() {
    let sandbox = Sandbox::new();
    sandbox.file("lab/wf.yaml", "");
    sandbox.file(
        "lab/plan.md",
        "---\nkind: plan\nid: moved\nsteps:\n  - id: one\n    run: \"touch begun; until test -e go; do sleep 0.05; done; echo x > kept\"\n    \
         artifacts: [kept]\n  - {id: two, run: echo two, depends_on: [one]}\n---\n",
    );
    let mut command = sandbox.command(&["run", "plan.md"]);
    let engine = command.current_dir(sandbox.at("lab")).stderr(std::process::Stdio::piped()).spawn().unwrap();
    until("the step runs", || sandbox.at("lab/begun").exists());
    fs::rename(sandbox.at("lab"), sandbox.at("moved")).unwrap();
    sandbox.file("moved/go", "");
    let output = engine.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
    assert!(said.contains("removed or replaced while in use"), "{said}");
    assert!(!sandbox.at("lab").exists(), "{said}");
}

#[test]
fn a_run_whose_workspace_was_replaced_writes_nothing_into_the_other_one() {
    let sandbox = Sandbox::new();
    let steps = "steps:\n  - {id: one, run: 'touch begun; until test -e go; do sleep 0.05; done'}\n  - {id: two, run: 'true'}\n---\n";
    for lab in ["lab", "other"] {
        sandbox.file(&format!("{lab}/wf.yaml"), "");
        sandbox.file(&format!("{lab}/plan.md"), format!("---\nkind: plan\nid: moved\n{steps}"));
        sandbox.file(
            &format!("{lab}/short.md"),
            "---\nkind: plan\nid: short\nsteps: [{id: a, run: 'true'}]\n---\n",
        );
    }
    let mut command = sandbox.command(&["run", "plan.md"]);
    let engine = command.current_dir(sandbox.at("lab")).stderr(std::process::Stdio::piped()).spawn().unwrap();
    until("the step runs", || sandbox.at("lab/begun").exists());
    fs::rename(sandbox.at("lab"), sandbox.at("moved")).unwrap();
    fs::rename(sandbox.at("other"), sandbox.at("lab")).unwrap();
    let in_lab = |args: &[&str]| Did::of(sandbox.command(args).current_dir(sandbox.at("lab")));
    in_lab(&["run", "short.md"]).exits(0);
    let log = sandbox.read("lab/.wf/audit/log.jsonl");
    assert!(!log.is_empty());
    sandbox.file("moved/go", "");
    let output = engine.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sandbox.read("lab/.wf/audit/log.jsonl"), log, "the log is that of the other workspace alone");
    in_lab(&["audit", "verify", "--full"]).exits(0);
}
