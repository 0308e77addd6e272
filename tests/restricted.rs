//! Machines that cannot have sandboxes: where nobody may make namespaces, as in many containers.

use std::io::Write as _;

use crate::support::{Did, Sandbox};

const PLAN: &str = "---\nkind: plan\nid: proof\nsteps:\n  - id: build\n    run: echo right > out.txt\n\
    \x20   verify:\n      - {name: right, run: grep -q right out.txt}\n\
    \x20     - {name: there, expect: {file_exists: out.txt}}\n---\n";

/// Runs a script where no namespace can be made and no right is left to do without. `None`, said
/// loudly, where such a place cannot be made.
fn without_namespaces(sandbox: &Sandbox, script: &str) -> Option<Did> {
    let place = "echo 0 > /proc/sys/user/max_user_namespaces &&
        exec setpriv --bounding-set=-all --inh-caps=-all sh -c \"$1\"";
    let run = |script: &str| {
        let mut command = sandbox.program("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", place, "sh", script]);
        command.output().ok()
    };
    let allowed = run("! unshare --user true").is_some_and(|output| output.status.success());
    if !allowed {
        let loudly = "NOT TESTED: machines without namespaces: none can be made here\n";
        let _ = std::io::stderr().write_all(loudly.as_bytes());
        assert!(std::env::var_os("CI").is_none(), "{loudly}");
        return None;
    }
    let output = run(&format!("exec 2>&1; wf={}\n{script}", env!("CARGO_BIN_EXE_wf")))?;
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let (code, err) = (output.status.code(), String::new());
    Some(Did { code, out, err })
}

#[test]
fn without_namespaces_checks_fail_closed_and_say_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", PLAN);
    let script = "$wf doctor; echo \"doctor $?\"; $wf run plan.md; echo \"run $?\"";
    let Some(did) = without_namespaces(&sandbox, script) else {
        return;
    };
    did.says(" bad sandbox       sandbox not available: user namespaces are disabled")
        .says("or set `sandbox: off` in wf.yaml")
        .says("doctor 6")
        .says("check right failed")
        .says("found    sandbox not available")
        .says("failed · 1 failed")
        .says("run 1");
}

#[test]
fn a_sandbox_that_is_off_is_recorded_with_every_verdict() {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", PLAN).file("wf.yaml", "sandbox: off\n");
    let script = "$wf doctor | grep sandbox; $wf run plan.md; echo \"run $?\"; $wf why --last build";
    let Some(did) = without_namespaces(&sandbox, script) else {
        return;
    };
    did.says("note sandbox       disabled in wf.yaml")
        .says("it is not available on this system")
        .says("succeeded · 1 verified")
        .says("run 0")
        .says("its checks ran without a sandbox");
}
