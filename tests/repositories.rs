//! Repositories whose settings name programs: what wf asks git has none of them do anything.
//!
//! Each setting is shown to work: some git command that heeds it starts the program, outside of wf.

mod annotated;
mod beside;
mod callers;
mod confined;
mod desk;
mod doubt;
mod outside;
mod own_worktree;
mod sandboxed;
mod settings;
mod tracked;

use crate::support::{Did, Sandbox};

/// A plan that starts a helper.
const PLAN: &str = "---\nkind: plan\nid: p\nsteps:\n  - {id: a, run: sh helper.sh}\n---\n";

/// Runs a script in a folder of the workspace.
fn sh(house: &Sandbox, folder: &str, script: &str) -> Did {
    let mut shell = house.program("sh");
    shell.current_dir(house.at(folder)).args(["-ec", script]);
    shell.env("GIT_AUTHOR_NAME", "a").env("GIT_AUTHOR_EMAIL", "a@localhost");
    shell.env("GIT_COMMITTER_NAME", "a").env("GIT_COMMITTER_EMAIL", "a@localhost");
    Did::of(&mut shell)
}

/// A workspace that is a repository with a plan, its helper, a goal and a skill; the plan is approved.
fn workspace() -> Sandbox {
    let house = Sandbox::new();
    house.file("ws/wf.yaml", "").file("ws/plan.md", PLAN).file("ws/helper.sh", "echo one\n");
    house.file(
        "ws/goals/nightly.md",
        "---\nkind: goal\nid: nightly\nschedule: {every: 1d}\ncriteria:\n  - {name: it, run: 'true'}\n---\n",
    );
    house.file("ws/tables/SKILL.md", "---\nname: tables\ndescription: Sums up tables.\n---\nSum them up.\n");
    sh(&house, "ws", "git init -q -b main .; git add .; git commit -qm one").exits(0);
    wf(&house, &["key", "init", "me"]).exits(0);
    wf(&house, &["approve", "plan.md", "--yes"]).exits(0);
    house
}

/// Runs wf in that workspace.
fn wf(house: &Sandbox, args: &[&str]) -> Did {
    let mut command = house.unaccepted(args);
    command.current_dir(house.at("ws")).env("WF_KEYS", house.at("keys")).env("HOME", house.at("home"));
    Did::of(&mut command)
}
