//! Connections by the real program: skills that do what they should, and skills that do not.

mod misbehaving;
mod terminal;

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use crate::support::{Did, Office, Sandbox};

/// A secret that nobody may see.
pub const KEY: &str = "kb-9f2c7a41d6e8b035";

const NOW: &str = "2026-11-21T10:00:00Z";

/// A workspace with the skills of these tests, and a file with the key.
pub fn place() -> Sandbox {
    let place = Sandbox::new();
    copy(Path::new("tests/connections/skills"), &place.at("skills"));
    place.file("key", format!("{KEY}\n"));
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(place.at("key"), private).unwrap();
    place
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// What the program does at an instant.
pub fn at(place: &Sandbox, now: &str, args: &[&str]) -> Did {
    Did::of(place.command(args).env("WF_NOW", now))
}

/// Locks the skills as they are, as somebody does who has read them.
#[track_caller]
pub fn lock(place: &Sandbox) {
    at(place, NOW, &["skill", "lock", "--yes"]).exits(0);
}

/// Sets up `box` with the key.
#[track_caller]
pub fn add(place: &Sandbox) -> Did {
    lock(place);
    let mut args = vec!["connection", "add", "box", "--skill", "keybox", "--yes"];
    args.extend(["--secret-file", "token=key", "--timeout", "10s"]);
    at(place, NOW, &args)
}

/// Asserts that no file has any form of the key, except where secrets are kept.
#[track_caller]
pub fn nothing_leaked(place: &Sandbox) {
    let mut pending = vec![place.path().to_path_buf()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let is_kept = path == place.at("key") || path == place.at(".wf/secrets/box");
            if is_kept {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                pending.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                let text = String::from_utf8_lossy(&bytes);
                let shown = path.display();
                assert!(!text.contains(KEY), "the key is in {shown}");
            }
        }
    }
    let work = place.at(".wf/secrets/.work/box");
    assert!(!work.exists(), "what was lent is left");
}

fn secrets(place: &Sandbox) -> Vec<String> {
    let entries = std::fs::read_dir(place.at(".wf/secrets/box"));
    let entries = entries.into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_key_is_taken_kept_used_and_forgotten() {
    let place = place();
    let did = add(&place).exits(0);
    assert_eq!(did.out, "connected: box · ada · keys 3\n");
    assert!(!did.all().contains(KEY), "{}", did.all());
    assert!(did.err.contains("permissions  read"), "{}", did.err);
    assert!(did.err.contains("Keybox > Settings > Keys"), "{}", did.err);
    nothing_leaked(&place);
    let did = at(&place, NOW, &["connection", "check", "box"]).exits(0);
    assert!(did.out.contains("active box · 7 ms"), "{}", did.out);
    // It ends in an hour: nothing is refreshed. Ten minutes before, it is.
    assert!(!secrets(&place).contains(&"renewed".to_owned()));
    let later = "2026-11-21T10:51:00Z";
    let did = at(&place, later, &["connection", "check", "--all", "--json"]).exits(0);
    assert!(did.out.contains("\"token_expires_at\":\"2026-11-21T13:00:00.000Z\""), "{}", did.out);
    assert!(did.out.contains("\"refresh_at\":\"2026-11-21T12:50:00.000Z\""), "{}", did.out);
    assert_eq!(secrets(&place), ["renewed", "session", "token"]);
    nothing_leaked(&place);
    let did = at(&place, later, &["connection", "list"]).exits(0);
    assert!(did.out.contains("box") && did.out.contains("active"), "{}", did.out);
    at(&place, later, &["connection", "remove", "box", "--yes"]).exits(0);
    assert!(!place.at(".wf/secrets/box").exists());
    let did = at(&place, later, &["connection", "list", "--json"]).exits(0);
    assert_eq!(did.out, "[]\n");
    let audit = place.read(".wf/audit.jsonl") + &at(&place, later, &["audit", "tail"]).all();
    for act in ["connection_added", "connection_refreshed", "connection_removed"] {
        assert!(audit.contains(act), "{act} is not in {audit}");
    }
}

#[test]
fn a_code_is_shown() {
    let place = place();
    lock(&place);
    let args = ["connection", "add", "box", "--skill", "codes", "--yes"];
    let did = at(&place, NOW, &args).exits(0);
    assert!(did.err.contains("WDJB-MJHT") && did.err.contains("15 min"), "{}", did.err);
    assert_eq!(did.out, "connected: box · grace\n");
    assert_eq!(secrets(&place), ["access"]);
    assert!(!did.all().contains("a7f3c9e1b5d2"));
}

#[test]
fn what_is_revoked_is_told_with_what_to_do() {
    let place = place();
    add(&place).exits(0);
    // As if the service had taken it back.
    place.file(".wf/secrets/box/broken", "it-was-taken-back-0");
    let did = at(&place, NOW, &["connection", "check", "box", "--stamp", "stamp"]).exits(1);
    assert!(did.all().contains("wf connection add box --skill keybox"), "{}", did.all());
    let did = at(&place, NOW, &["connection", "show", "box"]).exits(0);
    // Its token says that it expired: it was refreshed first, and that did not help.
    assert!(secrets(&place).contains(&"renewed".to_owned()));
    assert!(did.out.contains("revoked") && did.out.contains("the key was taken back"), "{}", did.out);
    assert!(!place.at("stamp").exists());
    std::fs::remove_file(place.at(".wf/secrets/box/broken")).unwrap();
    at(&place, NOW, &["connection", "check", "box", "--stamp", "stamp"]).exits(0);
    assert!(place.at("stamp").exists());
    let did = at(&place, NOW, &["connection", "show", "box", "--json"]).exits(0);
    assert!(did.out.contains("\"state\":\"active\""), "{}", did.out);
}

#[test]
fn more_is_granted_only_when_somebody_says_so() {
    let place = place();
    add(&place).exits(0);
    let grant = |what: &str| {
        let mut args = vec!["connection", "grant", "box", what, "--yes"];
        args.extend(["--secret-file", "token=key"]);
        at(&place, NOW, &args)
    };
    grant("root").exits(2).says("has no permission `root`");
    grant("read").exits(2).says("already");
    assert_eq!(grant("write").exits(0).out, "box now has read, write\n");
    nothing_leaked(&place);
}

#[test]
fn another_skill_than_the_one_that_was_set_up_gets_no_secrets() {
    let place = place();
    add(&place).exits(0);
    let script = place.read("skills/keybox/scripts/health_check.sh");
    let other = format!("# It does something else.\n{script}");
    place.file("skills/keybox/scripts/health_check.sh", other);
    let did = at(&place, NOW, &["connection", "check", "box"]).exits(4);
    did.says("scripts/health_check.sh was changed");
    lock(&place);
    let did = at(&place, NOW, &["connection", "check", "box"]).exits(4);
    assert!(did.err.contains("has changed since it set up"), "{}", did.err);
}

#[test]
fn a_script_sees_neither_the_workspace_nor_the_state() {
    let place = place();
    let look = format!(
        "read -r request\nfor path in {0}/wf.yaml {0}/key {0}/.wf/state.db {0}/.wf/secrets/other {0}/.wf/secrets/.work/box.lock; do\n  test -e $path && {{ echo \"sees $path\" >&2; exit 3; }}\ndone\n",
        place.path().display()
    );
    place.file(".wf/secrets/other/token", "another-secret-of-another");
    for folder in [".wf/secrets", ".wf/secrets/other"] {
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(place.at(folder), private).unwrap();
    }
    let script = place.read("skills/keybox/scripts/probe.sh");
    place.file("skills/keybox/scripts/probe.sh", look + &script.replace("read -r request\n", ""));
    add(&place).exits(0);
}

#[test]
fn a_goal_looks_at_it_on_a_schedule() {
    let place = place();
    lock(&place);
    let mut args = vec!["connection", "add", "box", "--skill", "keybox", "--yes", "--goal"];
    args.extend(["--secret-file", "token=key"]);
    at(&place, NOW, &args).exits(0).says("goals/connection-box.md");
    place.wf(&["check"]).exits(0);
    let mut run = place.command(&["goal", "run", "connection-box"]);
    let program = Path::new(env!("CARGO_BIN_EXE_wf")).parent().unwrap();
    #[expect(clippy::disallowed_methods, reason = "programs are where they are")]
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    run.env("PATH", path);
    Did::of(&mut run).exits(0);
    assert!(place.at("connections/box.json").exists());
}

#[test]
fn a_step_reads_a_secret_of_a_connection_and_nobody_sees_it() {
    let place = place();
    let plan = |secret: &str| {
        format!(
            "---\nkind: plan\nid: p\nsecrets: {{TOKEN: {{from: connection, connection: box, secret: {secret}}}}}\n\
             steps:\n  - {{id: call, env: {{TOKEN: \"{{{{ secrets.TOKEN }}}}\"}}, run: 'test ${{#TOKEN}} = 19 && echo got $TOKEN'}}\n---\n"
        )
    };
    place.file("p.md", plan("token"));
    at(&place, NOW, &["run", "p.md"]).exits(1).says("cannot get it from connection `box`");
    add(&place).exits(0);
    at(&place, NOW, &["run", "p.md"]).exits(0);
    let said = at(&place, NOW, &["logs", "--last"]).exits(0);
    assert!(said.all().contains("got ***"), "{}", said.all());
    nothing_leaked(&place);
    let shown = at(&place, NOW, &["connection", "show", "box"]).exits(0);
    shown.says("used           2026-11-21 10:00:00");
    place.file("p.md", plan("other"));
    at(&place, NOW, &["run", "p.md"]).exits(1).says("secret `other` not found");
    place.file("p.md", plan("../key"));
    at(&place, NOW, &["check", "p.md"]).exits(3);
}

/// The workspace of an office with the skills of these tests, locked by eve and signed for by ada.
fn reviewed() -> Office {
    let office = Office::new(1, &["ada", "eve"], &["ada"]);
    copy(Path::new("tests/connections/skills"), &office.place.at("skills"));
    office.place.file("key", format!("{KEY}\n"));
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(office.place.at("key"), private).unwrap();
    office.at(NOW, "eve", &["skill", "lock", "keybox", "--yes"]).exits(0);
    office.at(NOW, "ada", &["skill", "approve", "keybox", "--yes"]).exits(0);
    office
}

/// Sets up `box`, as somebody.
fn add_by(office: &Office, who: &str) -> Did {
    let mut args = vec!["connection", "add", "box", "--skill", "keybox", "--yes"];
    args.extend(["--secret-file", "token=key", "--timeout", "10s"]);
    office.at(NOW, who, &args)
}

/// Who sets a connection up does not approve it where others must (Silas INV-01, 5.10.1).
#[test]
fn where_others_must_approve_a_connection_needs_their_signature() {
    let office = reviewed();
    let approve = ["connection", "approve", "box", "--skill", "keybox", "--yes"];
    let refused = add_by(&office, "eve");
    refused.exits(4).says("the connection `box` is not approved");
    let refused = add_by(&office, "ada");
    refused.exits(4).says("wf connection approve box --skill keybox");
    let list = office.at(NOW, "eve", &["connection", "list"]).exits(0);
    assert!(!list.all().contains("keybox"), "{}", list.all());
    // Whose key is not listed signs nothing, and who signed sets nothing up.
    office.at(NOW, "eve", &approve).exits(4).says("is not allowed to approve");
    office.at(NOW, "ada", &approve).exits(0).says("connections/box.approval.json");
    add_by(&office, "ada").exits(4);
    add_by(&office, "eve").exits(0);
    // It was for once, and for what it names.
    add_by(&office, "eve").exits(4).says("used up");
    office.at(NOW, "ada", &approve).exits(0);
    let mut more = vec!["connection", "grant", "box", "write", "--yes"];
    more.extend(["--secret-file", "token=key", "--timeout", "10s"]);
    office.at(NOW, "eve", &more).exits(4).says("`permissions`");
    let both = [&approve[..], &["--permission", "read", "--permission", "write"]].concat();
    office.at(NOW, "ada", &both).exits(0);
    office.at(NOW, "eve", &more).exits(0).says("write");
    // What is removed needs nobody's signature.
    let remove = ["connection", "remove", "box", "--yes"];
    office.at(NOW, "eve", &remove).exits(0);
}
