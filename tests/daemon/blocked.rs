//! Goals that are not run any more, and approvals that are about to end: who looks, and who is told, learns of it.

use super::{Daemon, EACH_SECOND, count, ended, goal, place, service::get, soon};
use crate::support::{Did, Sandbox};

/// A daemon whose health is asked, in a workspace where goals were accepted before, if at all.
fn daemon(sandbox: &Sandbox) -> (Daemon, String) {
    let mut command = sandbox.unaccepted(&["daemon", "--health", "127.0.0.1:0"]);
    let child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut daemon = Daemon { child, workspace: sandbox.path().to_owned() };
    let line = daemon.says("listening on http://");
    let address = line.rsplit("http://").next().unwrap().trim().to_owned();
    (daemon, address)
}

/// The front of a goal whose check passes, each second.
fn passing() -> String {
    format!("{EACH_SECOND}verify: [{{name: ok, run: 'true'}}]\n")
}

/// A workspace with that goal, accepted, and a daemon that has run it.
fn running() -> (Sandbox, Daemon, String) {
    let sandbox = place();
    goal(&sandbox, &passing());
    sandbox.accept();
    let (daemon, address) = daemon(&sandbox);
    soon("it runs", || ended(&sandbox, "healthy") > 0);
    (sandbox, daemon, address)
}

fn is_ready(address: &str) -> bool {
    get(address, "/readyz").starts_with("HTTP/1.1 200")
}

/// The transitions of the notifications that were sent, in order.
fn news(sandbox: &Sandbox) -> Vec<String> {
    let transition = |line: &str| {
        let notice: serde_json::Value = serde_json::from_str(line).unwrap();
        notice["transition"].as_str().unwrap().to_owned()
    };
    sandbox.read("news").lines().map(transition).collect()
}

#[test]
fn a_goal_that_is_not_run_any_more_is_no_healthy_goal() {
    let sandbox = place();
    // Nobody asked to hear of it, and everybody does.
    let front = format!(
        "{EACH_SECOND}notify: [{{on: [healthy], exec: [sh, -c, 'cat >> news']}}]\n\
         verify: [{{name: ok, run: 'true'}}]\n"
    );
    goal(&sandbox, &front);
    sandbox.accept();
    let (daemon, address) = daemon(&sandbox);
    let metric = |name: &str| {
        let page = get(&address, "/metrics");
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("{name}{{goal=\"kept\"}} ")));
        line.map(str::to_owned)
    };
    soon("it holds", || metric("wf_goal_holds").as_deref() == Some("1"));
    assert!(is_ready(&address));
    assert_eq!(metric("wf_goal_blocked").as_deref(), Some("0"));
    goal(&sandbox, &front.replace("'true'", "'true # and more'"));
    soon("it is blocked", || !is_ready(&address));
    assert!(get(&address, "/readyz").contains("goals/kept.md must be accepted with `wf goal accept kept`"));
    assert!(get(&address, "/healthz").starts_with("HTTP/1.1 200"), "the daemon is well");
    soon("the metric says so", || metric("wf_goal_blocked").as_deref() == Some("1"));
    assert_eq!(metric("wf_goal_holds"), None);
    soon("slots are refused", || count(&sandbox, "SELECT count(*) FROM slots WHERE state = 'blocked'") > 2);
    soon("it has a time", || metric("wf_goal_blocked_since_timestamp_seconds").is_some());
    soon("somebody is told", || news(&sandbox) == ["blocked"]);
    Did::of(&mut sandbox.unaccepted(&["goal", "list"])).says("blocked").says("goals/kept.md changed");
    Did::of(&mut sandbox.unaccepted(&["goal", "accept", "kept", "--yes"])).exits(0);
    soon("it is run again", || is_ready(&address));
    soon("who was told is told", || news(&sandbox) == ["blocked", "healthy"]);
    daemon.ends();
}

#[test]
fn a_goal_that_is_rarely_due_is_known_to_be_blocked_before() {
    let sandbox = place();
    goal(&sandbox, "schedule: \"0 0 1 1 *\"\nverify: [{name: ok, run: 'true'}]\n");
    let (daemon, address) = daemon(&sandbox);
    soon("it is not ready", || !is_ready(&address));
    assert!(get(&address, "/readyz").contains("must be accepted"));
    Did::of(&mut sandbox.unaccepted(&["goal", "accept", "kept", "--yes"])).exits(0);
    soon("it is ready", || is_ready(&address));
    daemon.ends();
}

#[test]
fn an_approval_is_warned_of_before_it_is_used_up() {
    let sandbox = place();
    goal(
        &sandbox,
        &format!(
            "{EACH_SECOND}on_failure: spawn_plan\nnotify: [{{on: [repaired], exec: [sh, -c, 'cat >> news']}}]\n\
             verify: [{{name: shut, run: test -f shut}}]\n\
             repair: {{steps: [{{id: shut, run: touch shut, writes: [shut]}}]}}\n"
        ),
    );
    sandbox.wf(&["key", "init"]).exits(0);
    sandbox.wf(&["approve", "goals/kept.md", "--executions", "2", "--yes"]).exits(0);
    let (daemon, address) = daemon(&sandbox);
    soon("it is repaired", || ended(&sandbox, "repaired") == 1);
    soon("its end is told", || news(&sandbox) == ["repaired", "expiring"]);
    let left = r#"wf_goal_approval_repairs{goal="kept"} 1"#;
    soon("one is left", || get(&address, "/metrics").contains(left));
    sandbox.wf(&["doctor"]).says("its standing approval permits 1 repair more");
    let before = ended(&sandbox, "healthy");
    soon("it goes on", || ended(&sandbox, "healthy") > before + 1);
    assert_eq!(news(&sandbox), ["repaired", "expiring"], "once");
    daemon.ends();
}

#[test]
fn a_goal_whose_reconciliations_cannot_start_is_no_healthy_goal() {
    let (sandbox, daemon, address) = running();
    let config = sandbox.read("wf.yaml");
    sandbox.file("wf.yaml", format!("{config}foo: bar\n"));
    soon("it is not ready", || !is_ready(&address));
    assert!(get(&address, "/readyz").contains("wf goal run kept"));
    sandbox.wf(&["goal", "list"]).says("blocked").says("wf check wf.yaml");
    sandbox.file("wf.yaml", config);
    soon("it is ready again", || is_ready(&address));
    daemon.ends();
}

#[test]
fn a_goal_that_is_paused_is_not_blocked_and_a_pipe_is_no_approval() {
    let (sandbox, daemon, address) = running();
    let pipe = sandbox.at("goals/kept.approval.json");
    let (mode, pipe_type) = (rustix::fs::Mode::RUSR, rustix::fs::FileType::Fifo);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, pipe_type, mode, 0).unwrap();
    let before = ended(&sandbox, "healthy");
    soon("it goes on", || ended(&sandbox, "healthy") > before + 1);
    sandbox.wf(&["goal", "pause", "kept"]).exits(0);
    goal(&sandbox, &passing().replace("'true'", "'true # and more'"));
    soon("the change is read", || get(&address, "/readyz").contains("\"ok\":true"));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(is_ready(&address), "a pause is meant");
    daemon.ends();
}

#[test]
fn a_goal_file_that_cannot_be_read_is_broken_and_not_removed() {
    let (sandbox, daemon, address) = running();
    let (path, text) = (sandbox.at("goals/kept.md"), sandbox.read("goals/kept.md"));
    for (damage, bytes) in [
        ("a conflict above", format!("<<<<<<< HEAD\n{text}").into_bytes()),
        ("a conflict within", text.replace("id: kept", "<<<<<<< HEAD\nid: kept\n=======").into_bytes()),
        ("no text", [text.as_bytes(), b"\xff\xfe"].concat()),
        ("half of it", text.as_bytes()[..text.len() / 3].to_vec()),
        ("nothing", Vec::new()),
    ] {
        std::fs::write(&path, bytes).unwrap();
        soon(damage, || !is_ready(&address));
        assert!(get(&address, "/readyz").contains("goals/kept.md"), "{damage}");
        let listed = sandbox.wf(&["goal", "list"]).exits(0).out;
        assert!(listed.contains("broken") && listed.contains("kept "), "{damage}: {listed}");
        std::fs::write(&path, &text).unwrap();
        soon("it is ready again", || is_ready(&address));
        let before = ended(&sandbox, "healthy");
        soon("it runs again", || ended(&sandbox, "healthy") > before);
    }
    // Another kind of file in its place is meant, and so is none.
    sandbox.file("goals/kept.md", "---\nkind: plan\nid: kept\nsteps: [{id: a, run: 'true'}]\n---\n");
    soon("it is gone", || get(&address, "/readyz").contains("\"goals\":0"));
    assert!(is_ready(&address));
    std::fs::remove_file(path).unwrap();
    let listed = sandbox.wf(&["goal", "list"]).out;
    assert!(!listed.contains("broken"), "{listed}");
    daemon.ends();
}
