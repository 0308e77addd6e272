//! Skills get in whole or not at all, and by the word of others where others must approve.

use crate::support::{Did, Office, Sandbox};

const SKILL: &str = "---\nname: it\ndescription: Does one thing. Use when the thing must be done.\n---\n";

#[test]
fn an_install_that_is_killed_leaves_the_old_or_what_no_plan_uses() {
    for point in 1..=4 {
        let sandbox = Sandbox::new();
        sandbox.file("wf.yaml", "# none\n").file("src/SKILL.md", SKILL);
        let install = ["skill", "install", "src", "--yes"];
        let mut command = sandbox.command(&install);
        let did = Did::of(command.env("WF_CRASH", format!("engine:{point}")));
        assert!(did.code.is_none(), "point {point}: {}", did.all());
        let check = sandbox.wf(&["skill", "lock", "--check"]);
        match point {
            // Nothing is there, or it lies there and is not locked.
            1 | 4 => drop(check.exits(0)),
            _ => drop(check.exits(4).says("it is not locked")),
        }
        if point < 4 {
            sandbox.wf(&install).exits(0);
        }
        sandbox.wf(&["skill", "lock", "--check"]).exits(0).says("valid: it");
    }
}

#[test]
fn where_others_must_approve_who_installs_does_not_count() {
    let office = Office::new(1, &["ada", "bob"], &["ada", "bob"]);
    office.place.file("src/SKILL.md", SKILL);
    office.by("ada", &["skill", "install", "src", "--yes"]).exits(0).says("not approved yet");
    office.by("ada", &["skill", "lock", "--check"]).exits(4).says("0 of 1");
    office.by("ada", &["skill", "approve", "it", "--yes"]).exits(4).says("another approver must sign");
    office.by("bob", &["skill", "approve", "it", "--yes"]).exits(0).says("approved it");
    office.by("ada", &["skill", "lock", "--check"]).exits(0).says("approved by bob");
}
