//! What CI systems read names files from the top of the repository, wherever the workspace is in it.

use super::sh;
use crate::support::{Did, Sandbox};

#[test]
fn annotations_and_sarif_name_files_from_the_top_of_the_repository() {
    let house = Sandbox::new();
    let plan = |run: &str| format!("---\nkind: plan\nid: p\nsteps:\n  - {{id: a, {run}: exit 1}}\n---\n");
    house.file("repo/svc/wf.yaml", "").file("repo/svc/plans/fails.md", plan("run"));
    house.file("repo/svc/plans/wrong.md", plan("runn"));
    sh(&house, "repo", "git init -q .").exits(0);
    let wf = |folder: &str, args: &[&str]| {
        let mut wf = house.unaccepted(args);
        wf.env("GITHUB_ACTIONS", "true").current_dir(house.at(folder));
        Did::of(&mut wf).all()
    };
    for (folder, path) in [("repo/svc", "plans/"), ("repo/svc/plans", ""), ("repo", "svc/plans/")] {
        let said = wf(folder, &["run", &format!("{path}fails.md")]);
        assert!(said.contains("::error file=svc/plans/fails.md,line=5,"), "{folder}: {said}");
        let said = wf(folder, &["check", &format!("{path}wrong.md")]);
        assert!(said.contains("::error file=svc/plans/wrong.md,line=5,"), "{folder}: {said}");
        let said = wf(folder, &["check", "--sarif", &format!("{path}wrong.md")]);
        assert!(said.contains("\"uri\": \"svc/plans/wrong.md\""), "{folder}: {said}");
    }
}
