//! Where goals come from, who is told, and how it ends.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::MetadataExt as _,
    process::Stdio,
    sync::{Arc, Mutex},
};

use super::{Daemon, EACH_SECOND, count, cycles_of, ended, goal, place, soon, words};
use crate::support::Sandbox;

pub(super) fn git(sandbox: &Sandbox, args: &[&str]) {
    let mut git = sandbox.program("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
    let status = git.args(args).stdout(Stdio::null()).status();
    assert!(status.expect("there is git").success());
}

#[test]
fn with_a_branch_an_edit_does_nothing_until_it_is_committed() {
    let sandbox = place();
    let touch = |name: &str| format!("{EACH_SECOND}verify: [{{name: ok, run: touch {name}}}]\n");
    sandbox.file(".gitignore", ".wf/\n");
    git(&sandbox, &["init", "-q", "-b", "main"]);
    goal(&sandbox, &touch("first"));
    git(&sandbox, &["add", "-A"]);
    git(&sandbox, &["commit", "-q", "-m", "first"]);
    let daemon = Daemon::start(&sandbox, &["-q", "--branch", "main"]);
    soon("cycles end", || ended(&sandbox, "healthy") > 0);
    goal(&sandbox, &touch("second"));
    let before = ended(&sandbox, "healthy");
    soon("more cycles end", || ended(&sandbox, "healthy") > before + 2);
    assert!(!sandbox.at("second").exists(), "nobody has committed that");
    git(&sandbox, &["commit", "-q", "-a", "-m", "second"]);
    soon("the commit counts", || sandbox.at("second").exists());
    daemon.ends();
    assert_eq!(ended(&sandbox, "healthy"), count(&sandbox, "SELECT count(*) FROM reconciliations"));
}

/// What a daemon that checks once at an instant prints, with what it starts, into one file.
fn log_of(sandbox: &Sandbox, now: &str, is_journal: bool) -> String {
    let log = std::fs::File::create(sandbox.at("daemon.log")).unwrap();
    let mut command = sandbox.command(&["daemon", "--once"]);
    command.env("WF_NOW", now).stdout(log.try_clone().unwrap());
    if is_journal {
        let found = log.metadata().unwrap();
        command.env("JOURNAL_STREAM", format!("{}:{}", found.dev(), found.ino()));
    }
    command.stderr(log).status().unwrap();
    sandbox.read("daemon.log")
}

#[test]
fn each_line_has_the_time_and_the_goal_that_it_is_about() {
    let sandbox = place();
    goal(&sandbox, "schedule: \"* * * * *\"\nverify: [{name: ok, run: \"false\"}]\n");
    sandbox.file("goals/torn.md", "---\nkind: goal\nid: torn\nschedul: x\n---\n");
    log_of(&sandbox, "2026-11-21T09:30:05Z", false);
    let log = log_of(&sandbox, "2026-11-21T09:31:05Z", false);
    let stamp = "2026-11-21T09:31:05Z ";
    assert!(log.lines().all(|line| line.starts_with(stamp)), "{log}");
    for told in
        ["goal kept · goals/kept.md", "goal kept · kept is failed", "goal torn · broken: goals/torn.md"]
    {
        assert!(log.contains(&format!("{stamp}{told}")), "{told}: {log}");
    }
    let journal = log_of(&sandbox, "2026-11-21T09:32:05Z", true);
    assert!(!journal.contains("T09:32:05Z goal"), "the journal has the time: {journal}");
    assert!(journal.contains("\ngoal kept · kept is failed"), "{journal}");
}

pub(super) fn get(address: &str, path: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(address) else {
        return String::new();
    };
    let ask = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    let _ = stream.write_all(ask.as_bytes());
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn one_process_runs_goals_and_serves_pages() {
    let sandbox = place();
    goal(&sandbox, &format!("{EACH_SECOND}verify: [{{name: ok, run: \"true\"}}]\n"));
    let mut daemon = Daemon::start(&sandbox, &["--serve", "--listen", "127.0.0.1:0"]);
    let line = daemon.says("the pages are at http://");
    assert!(!line.contains("key="), "a log lets nobody in: {line}");
    let rest = line.split_once("http://").unwrap().1;
    let address = rest.split(';').next().unwrap().to_owned();
    assert!(get(&address, "/").starts_with("HTTP/1.1 401 "), "a stranger sees nothing");
    let link = sandbox.wf(&["serve", "link"]).exits(0).out;
    let path = link.trim().split_once(&address).expect("it leads to that server").1;
    assert!(get(&address, path).starts_with("HTTP/1.1 200 "));
    soon("cycles end", || ended(&sandbox, "healthy") > 0);
    daemon.ends();
    assert_eq!(get(&address, "/"), "", "nobody listens any more");
}

#[test]
fn pages_are_served_only_where_that_is_said() {
    let sandbox = place();
    let options = ["daemon", "--listen", "localhost:0"];
    sandbox
        .wf(&options)
        .exits(2)
        .says("--listen is about pages, and none are served")
        .says("wf daemon --serve");
    let unit =
        sandbox.wf(&["daemon", "--unit", "user", "--serve", "--listen", "localhost:8421"]).exits(0).out;
    assert!(unit.contains(r#" "daemon" "--serve" "--listen" "localhost:8421""#), "{unit}");
}

#[test]
fn the_health_endpoint_tells_of_goals_and_of_broken_files() {
    let sandbox = place();
    goal(&sandbox, &format!("{EACH_SECOND}verify: [{{name: ok, run: \"true\"}}]\n"));
    let mut daemon = Daemon::start(&sandbox, &["--health", "127.0.0.1:0"]);
    let line = daemon.says("listening on http://");
    let address = line.rsplit("http://").next().unwrap().trim().to_owned();
    soon("it is well", || get(&address, "/healthz").starts_with("HTTP/1.1 200"));
    assert!(get(&address, "/readyz").starts_with("HTTP/1.1 200"));
    let holds = r#"wf_goal_holds{goal="kept"} 1"#;
    soon("the goal holds", || get(&address, "/metrics").contains(holds));
    let whole = sandbox.read("goals/kept.md");
    sandbox.file("goals/kept.md", whole.replace("name: ok", "nome: ok"));
    soon("a broken file is told", || {
        let answer = get(&address, "/readyz");
        answer.starts_with("HTTP/1.1 503") && answer.contains("broken: goals/kept.md")
    });
    assert!(get(&address, "/healthz").starts_with("HTTP/1.1 200"), "the daemon is well");
    let metrics = get(&address, "/metrics");
    assert!(
        metrics.contains(r#"wf_goal_blocked{goal="kept"} 1"#) && !metrics.contains("wf_goal_holds{"),
        "{metrics}"
    );
    sandbox.file("goals/kept.md", whole);
    soon("it is ready again", || get(&address, "/readyz").starts_with("HTTP/1.1 200"));
    daemon.ends();
}

/// Takes what is posted.
fn listener() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let got = Arc::new(Mutex::new(Vec::new()));
    let takes = Arc::clone(&got);
    #[expect(clippy::disallowed_methods, reason = "somebody has to listen")]
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut text, mut part) = (String::new(), [0; 4096]);
            while !text.trim_end().ends_with('}') {
                match stream.read(&mut part) {
                    Ok(0) | Err(_) => break,
                    Ok(size) => text += &String::from_utf8_lossy(&part[..size]),
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
            takes.lock().unwrap().push(text);
        }
    });
    (port, got)
}

const KEY: &str = "whsec_c2VjcmV0LWtleS1vZi1hLWhvb2stMDEyMzQ1Njc4OQ==";

#[test]
fn people_are_told_once_of_each_change_and_no_secret_is_left_anywhere() {
    let sandbox = place();
    let (port, got) = listener();
    let front = "verify: [{name: shut, run: test -f shut}]\nsecrets:\n  HOOK: {from: env, name: HOOK}\n  AT: {from: env, name: AT}\n\
        notify:\n  - {on: [failed, healthy], exec: [sh, -c, 'cat >> news']}\n\
        \x20 - {on: [failed, healthy], webhook: {url_secret: AT, secret: HOOK}}\n";
    goal(&sandbox, &format!("{EACH_SECOND}{front}"));
    let mut command = sandbox.command(&["daemon", "-q"]);
    let at = format!("http://127.0.0.1:{port}/of/hidden-in-the-address");
    command.env("HOOK", KEY).env("AT", &at);
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let workspace = sandbox.path().to_owned();
    let daemon = Daemon { child, workspace };
    let told = || got.lock().unwrap().len();
    soon("it fails for a while", || ended(&sandbox, "failed") > 3);
    soon("somebody is told", || told() == 1);
    sandbox.file("shut", "");
    soon("it holds for a while", || ended(&sandbox, "healthy") > 3);
    soon("somebody is told again", || told() == 2);
    daemon.ends();
    let posted = got.lock().unwrap().clone();
    for (post, news) in posted.iter().zip(["failed", "healthy"]) {
        assert!(post.contains("webhook-signature: v1,"), "{post}");
        assert!(post.contains(&format!(r#""transition":"{news}""#)), "{post}");
    }
    assert_eq!(posted.len(), 2);
    assert_eq!(sandbox.read("news").lines().count(), 2);
    for name in ["state.db", "state.db-wal"] {
        let bytes = std::fs::read(sandbox.at(".wf").join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hidden-in-the-address") && !text.contains(KEY), "{name}");
    }
}

/// Returns the fields of the address of a request, as a server reads them.
fn fields_of(target: &str) -> Vec<(String, String)> {
    let query = target.split_once('?').unwrap().1.replace("%7B", "{").replace("%7D", "}");
    let field = |field: &str| field.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    query.split('&').filter_map(field).collect()
}

#[test]
fn the_webhook_of_the_documents_is_what_ntfy_takes() {
    let document = include_str!("../../docs/web.md");
    let recipe = document.split("`https://ntfy.sh/").nth(1).unwrap().split('`').next().unwrap();
    let (sandbox, (port, got)) = (place(), listener());
    let front = "title: The door\nverify: [{name: shut, run: test -f shut}]\nsecrets:\n  AT: {from: env, name: AT}\n\
                 notify: [{on: [failed], webhook: {url_secret: AT}}]\n";
    goal(&sandbox, &format!("{EACH_SECOND}{front}"));
    let mut command = sandbox.command(&["daemon", "-q"]);
    let child = command.env("AT", format!("http://127.0.0.1:{port}/{recipe}")).stdout(Stdio::null()).spawn();
    let daemon = Daemon { child: child.unwrap(), workspace: sandbox.path().to_owned() };
    soon("it is told", || !got.lock().unwrap().is_empty());
    daemon.ends();
    let posted = got.lock().unwrap().remove(0);
    // A topic is published by POST or PUT; with `tpl`, title and message are templates for the values of a JSON body of at most
    // 32 KiB (docs.ntfy.sh/publish, "Message templating").
    let (head, body) = posted.split_once("\r\n\r\n").unwrap();
    let mut words = head.lines().next().unwrap().split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    assert_eq!((method, target.split('?').next()), ("POST", Some("/TOPIC")), "{head}");
    let notice: serde_json::Value = serde_json::from_str(body).unwrap();
    assert!(body.len() <= 32 * 1024, "{body}");
    let shown = |field: &str| {
        let fields = fields_of(target);
        let template = &fields.iter().find(|(name, _)| name == field).expect(target).1;
        let key = template.strip_prefix("{{.").and_then(|rest| rest.strip_suffix("}}")).expect(template);
        notice[key].as_str().expect(body).to_owned()
    };
    assert!(fields_of(target).contains(&("tpl".to_owned(), "yes".to_owned())), "{target}");
    assert_eq!(shown("title"), "kept");
    assert!(shown("message").starts_with("The door · failed"), "{body}");
}

#[test]
fn no_goal_waits_for_a_recipient_that_hangs() {
    let sandbox = place();
    let front = "verify: [{name: shut, run: test -f shut}]\nnotify: [{on: [failed], exec: [sleep, '20']}]\n";
    goal(&sandbox, &format!("{EACH_SECOND}{front}"));
    let daemon = Daemon::start(&sandbox, &["-q", "-j", "1"]);
    soon("it is looked at on and on", || ended(&sandbox, "failed") > 4);
    assert_eq!(count(&sandbox, "SELECT count(*) FROM notifications WHERE sent IS NOT NULL"), 0);
    daemon.ends();
}

#[test]
fn a_backup_is_restored_under_no_daemon_and_what_was_accepted_stays_so() {
    let sandbox = place();
    goal(&sandbox, &format!("{EACH_SECOND}verify: [{{name: ok, run: 'true'}}]\n"));
    let daemon = Daemon::start(&sandbox, &["-q"]);
    soon("it is healthy", || ended(&sandbox, "healthy") > 0);
    sandbox.wf(&["backup", "one.tar"]).exits(0);
    let refused = sandbox.wf(&["restore", "one.tar", "--force"]).exits(6);
    refused.says("another daemon is active in this workspace: process").says("stop it");
    daemon.ends();
    sandbox.wf(&["restore", "one.tar", "--force"]).exits(0);
    let is_accepted = || {
        let listed = crate::support::Did::of(&mut sandbox.unaccepted(&["goal", "list"])).exits(0);
        assert!(!listed.all().contains("blocked"), "{}", listed.all());
    };
    is_accepted();
    // On another machine, or after the state was lost.
    std::fs::remove_dir_all(sandbox.at(".wf")).unwrap();
    sandbox.wf(&["restore", "one.tar"]).exits(0);
    is_accepted();
}

#[test]
fn a_later_slot_replaces_a_cycle_that_goes_on() {
    let sandbox = place();
    let front = "schedule: \"*/3 * * * * *\"\noverlap: replace\n\
                 verify: [{name: ok, run: 'test -f quick || sleep 50'}]\n";
    goal(&sandbox, front);
    let daemon = Daemon::start(&sandbox, &["-q"]);
    soon("cycles are replaced", || ended(&sandbox, "cancelled") > 1);
    sandbox.file("quick", "");
    soon("one comes to its end", || ended(&sandbox, "healthy") > 0);
    daemon.ends();
}

#[test]
fn a_repair_is_replaced_as_well_as_a_look() {
    let sandbox = place();
    let front = "schedule: \"*/3 * * * * *\"\noverlap: replace\non_failure: spawn_plan\napproval: none\n\
                 verify: [{name: ok, run: test -f quick}]\nrepair: {steps: [{id: slow, run: sleep 50}]}\n";
    goal(&sandbox, front);
    let daemon = Daemon::start(&sandbox, &["-q"]);
    let sql = "SELECT count(*) FROM reconciliations WHERE health = 'cancelled' AND repair_run IS NOT NULL";
    soon("repairs are replaced", || count(&sandbox, sql) > 1);
    daemon.ends();
    super::one_by_one(&sandbox);
}

#[test]
fn what_goes_on_when_a_daemon_ends_is_left_to_end_and_is_there_for_the_next() {
    let sandbox = place();
    let front = "schedule: \"*/2 * * * * *\"\nverify: [{name: ok, run: 'echo look >> \"$PWD/looks\"; until test -f go; do sleep 0.05; done'}]\n";
    goal(&sandbox, front);
    let daemon = Daemon::start(&sandbox, &["-q", "--drain", "50ms"]);
    soon("a cycle goes on", || !sandbox.read("looks").is_empty());
    let mut first = daemon;
    first.signal(rustix::process::Signal::TERM);
    assert_eq!(first.child.wait().unwrap().code(), Some(0));
    assert_eq!(cycles_of(sandbox.path()).len(), 1, "it outlives the daemon");
    let second = Daemon::start(&sandbox, &["-q"]);
    soon("the next one waits for it", || cycles_of(sandbox.path()).len() == 2);
    assert_eq!(ended(&sandbox, "healthy"), 0);
    sandbox.file("go", "");
    soon("others follow", || ended(&sandbox, "healthy") > 1);
    second.ends();
    let runs = words(
        &sandbox,
        "SELECT slot FROM reconciliations WHERE slot IN
        (SELECT slot FROM reconciliations GROUP BY slot HAVING count(*) > 1)",
    );
    assert_eq!(runs, Vec::<String>::new(), "no slot has two cycles");
    let looks = i64::try_from(sandbox.read("looks").lines().count()).unwrap();
    assert_eq!(looks, count(&sandbox, "SELECT count(*) FROM reconciliations"));
}

#[test]
fn one_look_says_when_a_slot_could_not_begin() {
    let sandbox = place();
    let front = "schedule: \"0 9 * * *\"\nverify: [{name: ok, run: \"true\"}]\n";
    goal(&sandbox, front);
    let at = |now: &str| {
        let mut command = sandbox.command(&["daemon", "--once"]);
        crate::support::Did::of(command.env("WF_NOW", now))
    };
    at("2026-03-02T08:59:00Z").exits(0);
    // Who may approve cannot be read, so nothing may begin.
    sandbox.file("approvers.yaml", "policy: [\n");
    at("2026-03-02T09:00:01Z").exits(1).says("goal kept · not started: slot");
    std::fs::remove_file(sandbox.at("approvers.yaml")).unwrap();
    at("2026-03-02T09:00:02Z").exits(0);
    assert_eq!(ended(&sandbox, "healthy"), 1);
}
