//! Keys and approvals of whoever runs plans, through the real program, and what others make of them.

use std::{
    fs,
    fs::Permissions,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use crate::{
    approvals::{approved, office},
    support::{Did, Office, Sandbox},
};

const PLAN: &str = "---\nkind: plan\nid: release\nparams: {version: {type: string, default: '1'}}\n\
                    steps:\n  - {id: build, run: sh build.sh \"$WF_PARAM_VERSION\"}\n---\n";

#[test]
fn whoever_runs_a_plan_on_a_fresh_machine_approves_it() {
    let place = Sandbox::new();
    place.file("plan.md", PLAN).file("build.sh", "echo built\n");
    place.wf(&["run", "plan.md"]).exits(0);
    assert!(place.at(".config/wf/keys/robin.pem").exists());
    place.wf(&["run", "plan.md", "--require-approval"]).exits(4).says("approval.json not found");
    place.wf(&["approve", "plan.md", "--yes"]).exits(0);
    place.wf(&["run", "plan.md", "--require-approval"]).exits(0);
    // Where no key can be kept, one is for the run alone.
    let mut nowhere = place.command(&["run", "plan.md", "-v"]);
    let told = Did::of(nowhere.env_remove("HOME")).exits(0);
    assert!(told.err.contains("signing with a temporary key for this run"), "{}", told.err);
}

#[test]
fn no_sandbox_shows_a_key() {
    let place = Sandbox::new();
    place.wf(&["key", "init"]).exits(0);
    place.file(".config/near", "shown");
    let look = "[ -e .config/near ] && if cat .config/wf/keys/* ~/.config/wf/keys/*; then exit 1; fi";
    place.file(
        "plan.md",
        format!(
            "---\nkind: plan\nid: look\nsteps:\n  - id: look\n    allow: {{read: [.config, ~/.config]}}\n    \
             run: \"{look}\"\n    verify: [{{name: it, run: \"{look}\", allow: {{read: [.config, ~/.config]}}}}]\n---\n"
        ),
    );
    place.wf(&["run", "plan.md"]).exits(0).says("1 verified");
}

#[test]
fn public_vectors_are_judged_as_others_do() {
    let text = std::fs::read_to_string("tests/vectors/speccheck.json").unwrap();
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let place = Sandbox::new();
    for (at, case) in cases.iter().enumerate() {
        let text = |key: &str| case[key].as_str().unwrap();
        let (key, message) = (text("pub_key"), text("message"));
        let args = ["key", "check-signature", "--public-key", key, "--message", message];
        let args = [&args[..], &["--signature", text("signature")]].concat();
        place.wf(&args).exits(if at == 6 { 0 } else { 4 });
    }
}

/// What the script for those without wf says of an approval.
fn checked_by_openssl(office: &Office, who: &str, token: &str) -> Did {
    let script = Path::new("docs/verify-approval.sh").canonicalize().unwrap();
    let public = office.people.path().join(format!("{who}/{who}.pub"));
    let mut sh = office.place.program("sh");
    Did::of(sh.arg(script).arg(token).arg(public))
}

#[test]
fn openssl_checks_files_of_any_name() {
    let office = office(1);
    for name in [
        "a \"quoted\" one.md",
        "back\\slash.md",
        "braces {\"digest\":\"00\",\"path\":\"plan.md\"} .md",
        "tab\tand bell\u{7}.md",
        "ünïcode ☃.md",
        "line\nend.md",
        "-n.md",
    ] {
        let plan = office.place.read("plan.md");
        office.place.file(name, plan.replace("id: plan", "id: odd"));
        office.by("ada", &["approve", "--yes", "--", name]).exits(0);
        let token = format!("{}.approval.json", name.strip_suffix(".md").unwrap());
        checked_by_openssl(&office, "ada", &token).exits(0);
        office.place.file(name, plan + "\nAnother text.\n");
        checked_by_openssl(&office, "ada", &token).exits(4).says("a file is not the one that was approved");
    }
}

#[test]
fn openssl_checks_links() {
    for name in ["link", "-n", "a b\\n.md", "line\nend "] {
        let office = office(1);
        let path = office.place.at(name);
        symlink("no such file\n", &path).unwrap();
        office.by("ada", &["approve", "--yes", "plan.md"]).exits(0);
        let check = || checked_by_openssl(&office, "ada", "plan.approval.json");
        check().exits(0);
        fs::remove_file(&path).unwrap();
        // A file with that text is no link.
        fs::write(&path, "no such file\n").unwrap();
        check().exits(4).says("a link is not the one that was approved");
        office.by("bob", &["run", "plan.md"]).exits(4).says("changed");
        fs::remove_file(&path).unwrap();
        symlink("another", &path).unwrap();
        check().exits(4).says("a link is not the one that was approved");
    }
}

#[test]
fn an_executable_bit_is_what_was_approved() {
    let (plain, executable) = ([0o644, 0o600], [0o755, 0o700, 0o645]);
    let attack = "test -x asset && echo evil > out || echo good > out";
    let plan =
        format!("---\nkind: plan\nid: p\nsteps:\n  - {{id: s, writes: [out], run: \"{attack}\"}}\n---\n");
    for name in ["asset", "plan.md", "-n", "a b\\n.sh", "line\nend "] {
        for (before, same, other) in [(0o644, &plain[..], &executable[..]), (0o755, &executable, &plain)] {
            let office = office(1);
            office.place.file("asset", "text\n").file(name, "text\n").file("plan.md", &plan);
            let chmod =
                |mode| fs::set_permissions(office.place.at(name), Permissions::from_mode(mode)).unwrap();
            chmod(before);
            office.by("ada", &["approve", "--yes", "--executions", "9", "plan.md"]).exits(0);
            let check = || checked_by_openssl(&office, "ada", "plan.approval.json");
            let run = || office.by("bob", &["run", "plan.md"]);
            for mode in same {
                chmod(*mode);
                check().exits(0);
                run().exits(0);
            }
            for mode in other {
                chmod(*mode);
                check().exits(4).says("its executable bit is not the one that was approved");
                run().exits(4).says("changed: its mode");
            }
        }
    }
    // Without an approval in advance the same change decides what the step does.
    let place = Sandbox::new();
    place.file("plan.md", &plan).file("asset", "text\n");
    for (mode, said) in [(0o644, "good\n"), (0o755, "evil\n")] {
        fs::set_permissions(place.at("asset"), Permissions::from_mode(mode)).unwrap();
        place.wf(&["run", "plan.md"]).exits(0);
        assert_eq!(place.read("out"), said);
    }
}

#[test]
fn an_executable_text_that_git_does_not_track_is_approved_with_its_mode() {
    let office = office(1);
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"];
        Did::of(office.place.program("git").args(who).args(args)).exits(0);
    };
    git(&["init", "--quiet", "."]);
    git(&["add", "plan.md", "build.sh"]);
    git(&["commit", "--quiet", "-m", "a plan"]);
    office.place.file("wf.yaml", "# no settings\n");
    let chmod = |mode| fs::set_permissions(office.place.at("wf.yaml"), Permissions::from_mode(mode)).unwrap();
    chmod(0o755);
    office.by("ada", &["approve", "--yes", "--executions", "9", "plan.md"]).exits(0);
    let check = || checked_by_openssl(&office, "ada", "plan.approval.json");
    check().exits(0);
    office.by("bob", &["run", "plan.md"]).exits(0);
    chmod(0o644);
    check().exits(4).says("its executable bit is not the one that was approved: wf.yaml");
    office.by("bob", &["run", "plan.md"]).exits(4).says("wf.yaml changed: its mode");
}

#[test]
fn a_plan_that_is_a_link_is_approved_with_the_link() {
    let office = office(1);
    fs::rename(office.place.at("plan.md"), office.place.at("real.md")).unwrap();
    symlink("real.md", office.place.at("plan.md")).unwrap();
    office.by("ada", &["approve", "--yes", "plan.md"]).exits(0);
    checked_by_openssl(&office, "ada", "plan.approval.json").exits(0);
    let other = office.place.read("real.md") + "\nAnother text.\n";
    office.place.file("other.md", other);
    fs::remove_file(office.place.at("plan.md")).unwrap();
    symlink("other.md", office.place.at("plan.md")).unwrap();
    office.by("bob", &["run", "plan.md"]).exits(4).says("plan.md changed");
}

#[test]
fn openssl_checks_an_approval_without_wf() {
    let office = approved(office(2));
    office.by("bob", &["approve", "plan.md", "--yes"]).exits(0);
    let check = |who: &str| checked_by_openssl(&office, who, "plan.approval.json");
    for who in ["ada", "bob"] {
        check(who).exits(0).says("\"scope\":\"full_plan\"");
    }
    check("carl").exits(4).says("it has no signature by the key");
    let token = office.place.read("plan.approval.json");
    office.place.file("plan.approval.json", token.replace("\"sig\":\"", "\"sig\":\"AAAA"));
    check("ada").exits(4).says("the signature is not by the key");
    office.place.file("plan.approval.json", &token).file("build.sh", "echo evil\n");
    check("ada").exits(4).says("a file is not the one that was approved");
}
