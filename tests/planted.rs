//! Repositories that agents plant, where they work in a copy and where they work in the workspace itself.

use crate::{
    support::{Did, Sandbox},
    worktrees::{place, place_of_programs, run},
};

/// An agent that leaves a repository in either form.
const PLANT: &str = "git init -q src/sub; git init -q --bare src/bare; echo 'one was here' > src/b.txt";

/// Returns the folders of a workspace in which git finds a repository of its own.
fn repositories(place: &Sandbox) -> Vec<String> {
    let find = "for f in src src/sub src/sub/.git.refused src/bare; do test ! -d $f || (cd $f && git rev-parse --git-dir); done";
    let said = Did::of(place.program("sh").args(["-c", find])).out;
    said.lines()
        .filter(|line| !line.ends_with(&format!("{}/.git", place.at("").display()).replace("//", "/")))
        .map(str::to_owned)
        .collect()
}

fn in_workspace(place: Sandbox) -> Sandbox {
    let plan = place.read("plan.md").replace("workspace: worktree", "workspace: shared");
    place.file("plan.md", plan);
    place
}

#[test]
fn a_call_that_plants_a_repository_fails_and_leaves_none() {
    for place in [place(&[("one", run(PLANT))], ""), in_workspace(place(&[("one", run(PLANT))], ""))] {
        let said = place.wf(&["run", "plan.md"]).exits(0);
        let log = place.wf(&["logs", "--last", "one", "--calls"]).all();
        assert!(log.contains("was created") && log.contains(".refused"), "{}{log}", said.all());
        assert_eq!(repositories(&place), Vec::<String>::new(), "{log}");
    }
}

#[test]
fn an_attempt_of_a_program_that_plants_a_repository_fails() {
    for place in
        [place_of_programs(&[("one", run(PLANT))]), in_workspace(place_of_programs(&[("one", run(PLANT))]))]
    {
        place.wf(&["run", "plan.md"]).exits(1).says("was created").says("list `src/");
        assert_eq!(repositories(&place), Vec::<String>::new());
    }
}
