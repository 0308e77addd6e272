//! A run in a worktree of its own: it runs what is committed, and brings its products to the workspace.

use super::sh;
use crate::support::{Did, Sandbox, until};

/// A plan that changes, makes and removes a file, and asks git and a person.
fn plan(id: &str, asks: bool) -> String {
    let ask = if asks { "  - {id: ask, approve: {message: Go on?}, depends_on: [make]}\n" } else { "" };
    format!(
        "---\nkind: plan\nid: {id}\nsteps:\n  - id: make\n    run: mkdir -p out; echo new > out/a; echo new > made; rm old\n    \
         writes: [out/a, made, old]\n    verify: [{{name: look, run: test -f out/a && git log -1 --format=%s}}]\n{ask}---\n"
    )
}

/// A repository with the workspace at its top, or below it.
fn house(workspace: &str) -> Sandbox {
    let house = Sandbox::new();
    for (file, text) in
        [("wf.yaml", ""), ("plan.md", &*plan("plain", false)), ("ask.md", &*plan("ask", true))]
    {
        house.file(&format!("{workspace}/{file}"), text);
    }
    house.file("repo/.gitignore", "out\n.wf\n");
    house.file(&format!("{workspace}/made"), "base\n").file(&format!("{workspace}/old"), "base\n");
    sh(&house, "repo", "git init -q -b main .; git add .; git commit -qm one").exits(0);
    house
}

fn wf(house: &Sandbox, folder: &str, args: &[&str]) -> Did {
    Did::of(house.unaccepted(args).current_dir(house.at(folder)))
}

/// The folders beside the repository, and the worktrees that git knows.
fn worktrees(house: &Sandbox) -> [usize; 2] {
    let count = |script: &str| sh(house, "repo", script).out.lines().count();
    [count("ls -d ../repo.wf-* 2> /dev/null || true"), count("git worktree list") - 1]
}

#[test]
fn what_is_committed_runs_and_the_products_come_back() {
    for workspace in ["repo", "repo/below"] {
        let house = house(workspace);
        // What lies on the desk takes no part, and stays.
        sh(&house, workspace, "echo mess > plan.md; echo mess > other").exits(0);
        let did = wf(&house, workspace, &["run", "--worktree", "plan.md", "--junit", "report.xml"]);
        did.exits(0).says("brought   made").says("removed   old").says("brought   out/a");
        let found =
            sh(&house, workspace, "cat made out/a plan.md; ls old report.xml 2> /dev/null || true").out;
        assert_eq!(found, "new\nnew\nmess\nreport.xml\n");
        assert_eq!(worktrees(&house), [0, 0]);
        wf(&house, workspace, &["show", "--last"]).exits(0).says("1 verified");
        wf(&house, workspace, &["verify", "--last"]).exits(0);
    }
}

#[test]
fn what_was_changed_meanwhile_stays_as_it_is() {
    let house = house("repo");
    sh(&house, "repo", "echo mine > made").exits(0);
    let did = wf(&house, "repo", &["run", "--worktree", "plan.md"]);
    did.exits(0)
        .says("`made` was changed here since that commit: that of the run is in ../repo.wf-")
        .says("removed   old");
    assert_eq!(sh(&house, "repo", "cat made ../repo.wf-*/made").out, "mine\nnew\n");
    assert_eq!(worktrees(&house), [1, 1]);
}

#[test]
fn a_run_that_waits_is_answered_and_resumed_in_its_worktree() {
    let house = house("repo");
    wf(&house, "repo", &["key", "init", "me"]).exits(0);
    wf(&house, "repo", &["run", "--worktree", "ask.md"]).exits(5);
    assert_eq!(worktrees(&house), [1, 1]);
    let folder = sh(&house, "repo", "cd ..; echo $PWD/repo.wf-*").out.trim_end().to_owned();
    wf(&house, "repo", &["show", "--last"]).exits(0).says(&format!("worktree   {folder}"));
    wf(&house, "repo", &["show", "--last", "--json"]).exits(0).says(&format!("\"worktree\": \"{folder}\""));
    sh(&house, "repo", "echo more > more; git add more; git commit -qm two").exits(0);
    assert_eq!(sh(&house, "repo", "cat made").out, "base\n");
    wf(&house, "repo", &["approve", "--last", "--yes"]).exits(0);
    wf(&house, "repo", &["resume", "--last"]).exits(0).says("brought   made");
    assert_eq!(worktrees(&house), [0, 0]);
    assert!(!wf(&house, "repo", &["show", "--last"]).out.contains("repo.wf-"));
    // A worktree that somebody removed is no place to go on.
    wf(&house, "repo", &["run", "--worktree", "ask.md"]).exits(5);
    sh(&house, "repo", "git worktree remove --force ../repo.wf-*").exits(0);
    wf(&house, "repo", &["resume", "--last"]).exits(6).says("is gone").says("wf cancel");
}

#[test]
fn what_cannot_run_in_a_worktree_is_refused_and_leaves_none() {
    let house = house("repo");
    house
        .file("repo/new.md", plan("new", false))
        .file("alone/plan.md", plan("alone", false))
        .file("alone/wf.yaml", "");
    wf(&house, "repo", &["run", "--worktree", "new.md"]).exits(2).says("new.md is not committed");
    wf(&house, "repo", &["run", "--worktree", "new"]).exits(2).says("new is not committed");
    wf(&house, "alone", &["run", "--worktree", "plan.md"]).exits(2).says("needs a git repository");
    sh(&house, "alone", "git init -q .").exits(0);
    wf(&house, "alone", &["run", "--worktree", "plan.md"]).exits(6).says("checks out the last commit");
    assert_eq!(worktrees(&house), [0, 0]);
    assert_eq!(sh(&house, "", "ls").out, "alone\nrepo\nwf.yaml\n");
}

#[test]
fn nothing_is_lost_when_products_are_brought() {
    let brings = |script: &str, meanwhile: &str| {
        let house = house("repo");
        let plan = format!(
            "---\nkind: plan\nid: plain\nsteps:\n  - {{id: make, run: '{script}', writes: [\"out/**\", made, old]}}\n---\n"
        );
        house.file("repo/plan.md", plan);
        sh(&house, "repo", "git add .; git commit -qm two").exits(0);
        sh(&house, "repo", meanwhile).exits(0);
        let did = wf(&house, "repo", &["run", "--worktree", "plan.md"]).exits(0);
        (house, did)
    };
    // A folder that leads elsewhere.
    let (house, did) = brings("mkdir out; echo new > out/a", "mkdir ../elsewhere; ln -s ../elsewhere out");
    did.says("`out/a` was changed here");
    assert_eq!(sh(&house, "", "ls elsewhere").out, "");
    // A mode, and a link.
    let (house, _) = brings("chmod +x made; mkdir out; ln -s ../made out/link", "true");
    assert_eq!(sh(&house, "repo", "test -x made && readlink out/link").out, "../made\n");
    assert_eq!(worktrees(&house), [0, 0]);
    // A file whose lines git ends otherwise than the commit.
    let (house, _) = brings("echo more >> made", "git config core.autocrlf true; rm made; git checkout made");
    assert_eq!(sh(&house, "repo", "cat made").out.replace('\r', ""), "base\nmore\n");
    // A commit that no branch has.
    let commit = "echo new > made; git -c user.name=a -c user.email=a commit -qam three";
    let (house, did) = brings(commit, "true");
    did.says("no branch has the commit").says("brought   made");
    assert_eq!(worktrees(&house), [1, 1]);
}

#[test]
fn a_retry_and_a_verification_do_not_compare_the_workspace_with_a_worktree() {
    let house = house("repo");
    let plan = "---\nkind: plan\nid: plain\nsteps:\n  - id: make\n    run: echo new > made; test -f ok\n    writes: [made]\n    \
                verify: [{name: look, run: 'cat made plan.md'}]\n---\n";
    house.file("repo/plan.md", plan);
    sh(&house, "repo", "git add .; git commit -qm two").exits(0);
    wf(&house, "repo", &["run", "--worktree", "plan.md"]).exits(1).says("its worktree stays for a look");
    sh(&house, "repo", "touch ok; git add ok; git commit -qm three").exits(0);
    wf(&house, "repo", &["retry", "--last"]).exits(0);
    wf(&house, "repo", &["verify", "--last"]).exits(0);
}

#[test]
fn what_a_killed_start_left_is_named_and_removed_where_it_is_empty() {
    let house = house("repo");
    sh(&house, "", "mkdir repo.wf-00000001 repo.wf-00000002 repo.wf-old; touch repo.wf-00000002/mine")
        .exits(0);
    let named = wf(&house, "repo", &["doctor"]).out;
    assert_eq!(named.matches("no run of this workspace works there").count(), 2, "{named}");
    assert!(named.contains("../repo.wf-00000001") && named.contains("../repo.wf-00000002"), "{named}");
    // One that a process is just making is left alone.
    let mut holder = house.program("sh");
    holder.args(["-ec", "mkdir repo.wf-00000003; exec flock -F repo.wf-00000003 sleep 60"]);
    let mut holder = holder.spawn().unwrap();
    until("the folder is held", || {
        sh(&house, "", "test -d repo.wf-00000003 && ! flock -n repo.wf-00000003 true && echo held")
            .out
            .contains("held")
    });
    wf(&house, "repo", &["key", "init", "me"]).exits(0);
    wf(&house, "repo", &["run", "--worktree", "ask.md"]).exits(5);
    let left = sh(&house, "", "ls -d repo.wf-0* repo.wf-old").out;
    assert_eq!(left, "repo.wf-00000002\nrepo.wf-00000003\nrepo.wf-old\n");
    // Nor is that of a run named that waits.
    let named = wf(&house, "repo", &["doctor"]).out;
    assert_eq!(named.matches("no run of this workspace works there").count(), 1, "{named}");
    holder.kill().unwrap();
    holder.wait().unwrap();
}
