use std::{os::unix::fs::symlink, path::Path};

use super::lived;
use crate::{
    faults::{among_own_mounts, part},
    support::{Did, Sandbox},
};

/// What stands in the place of a file: its name, and how it is made.
type Kind = (&'static str, fn(&Path));

/// What may stand in the place of a file, and what it is called.
const KINDS: [Kind; 3] = [
    ("a pipe", |path| {
        let made = rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU);
        made.unwrap();
    }),
    ("a link", |path| {
        let other = path.with_extension("other");
        std::fs::write(&other, "").unwrap();
        symlink(other, path).unwrap();
    }),
    ("a folder", |path| std::fs::create_dir(path).unwrap()),
];

/// Runs a command that is to end soon.
#[track_caller]
fn soon(sandbox: &Sandbox, args: &[&str]) -> Did {
    let program = env!("CARGO_BIN_EXE_wf");
    let mut command = sandbox.program("timeout");
    let did = Did::of(command.args(["20", program]).args(args));
    assert_ne!(did.code, Some(124), "wf {} waits for ever", args.join(" "));
    did
}

#[test]
fn a_log_that_is_no_file_is_refused_at_once() {
    let sandbox = lived();
    for file in ["audit/log.jsonl", "audit/log.mark", "state.db", "state.mark"] {
        let path = sandbox.at(".wf").join(file);
        for (kind, make) in KINDS {
            let kept = path.with_extension("kept");
            std::fs::rename(&path, &kept).unwrap();
            make(&path);
            for args in [vec!["run", "plan.md", "-q"], vec!["audit", "verify"]] {
                let did = soon(&sandbox, &args);
                assert_eq!(did.code, Some(6), "wf {} with {file} as {kind}: {}", args.join(" "), did.all());
                did.says(file.rsplit('/').next().unwrap()).says(&format!("is {kind}")).says("hint: ");
            }
            if path.is_dir() {
                std::fs::remove_dir(&path).unwrap();
            } else {
                std::fs::remove_file(&path).unwrap();
            }
            std::fs::rename(&kept, &path).unwrap();
            sandbox.wf(&["audit", "verify"]).exits(0);
        }
    }
}

/// A plan that fills the disk of the audit log while it is watched, and makes room again or not.
fn filling(makes_room: bool) -> String {
    let then = if makes_room { "rm -f" } else { "test -f" };
    format!(
        "---\nkind: plan\nid: filling\npolicy: {{max_parallel: 1}}\nsteps:\n\
         \x20 - {{id: fill, run: 'dd if=/dev/zero of=.wf/audit/ballast bs=64 2> /dev/null || true'}}\n\
         \x20 - {{id: pause, depends_on: [fill], run: sleep 0.3}}\n\
         \x20 - {{id: room, depends_on: [pause], run: {then} .wf/audit/ballast}}\n\
         \x20 - {{id: last, depends_on: [room], run: sleep 0.3}}\n---\n"
    )
}

#[test]
fn an_audit_log_that_could_not_be_written_is_no_tampering() {
    for (makes_room, kills) in [(true, false), (false, false), (true, true), (false, true)] {
        let sandbox = lived();
        sandbox.file("filling.md", filling(makes_room));
        let run = if kills {
            "$wf run filling.md -q & sleep 0.4; kill -9 $!; wait; rm -f .wf/audit/ballast; $wf resume --last -q"
        } else {
            "$wf run filling.md -q"
        };
        let script = format!(
            "cp -r .wf/audit kept; mount -t tmpfs -o size=64k none .wf/audit; cp kept/* .wf/audit
             echo '== run'; {run}
             rm -f .wf/audit/ballast; $wf run inner.md -q
             echo '== verify'; $wf audit verify; echo \"code $?\"
             echo '== end'"
        );
        let Some(did) = among_own_mounts(&sandbox, &script) else {
            return;
        };
        let told = part(&did, "verify");
        assert!(told.contains("code 0"), "{makes_room} {kills}: {}", did.out);
    }
}
