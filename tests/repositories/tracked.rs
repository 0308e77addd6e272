//! The files that a repository tracks, which an approval in advance covers.

use super::{sh, wf, workspace};
use crate::support::Sandbox;

/// Refuses to run the plan for a changed file, and only then.
fn covers(house: &Sandbox, path: &str) {
    wf(house, &["approve", "plan.md", "--yes"]).exits(0);
    let before = house.read(path);
    house.file(path, "echo other\n");
    wf(house, &["run", "plan.md", "--require-approval"]).exits(4).says(path.strip_prefix("ws/").unwrap());
    house.file(path, before);
    wf(house, &["run", "plan.md", "--require-approval"]).exits(0);
}

#[test]
fn the_files_of_submodules_are_covered_wherever_their_repositories_are() {
    let house = workspace();
    let script = "git -c protocol.file.allow=always submodule --quiet add \"$PWD\" usual
        git clone -q . embedded; git clone -q --separate-git-dir=../apart . elsewhere
        git add embedded elsewhere; git commit -qm modules
        git config submodule.usual.active false";
    sh(&house, "ws", script).exits(0);
    for module in ["usual", "embedded", "elsewhere"] {
        covers(&house, &format!("ws/{module}/helper.sh"));
    }
}

#[test]
fn a_linked_work_tree_a_subfolder_and_borrowed_objects_are_read() {
    let house = workspace();
    let script = "mkdir sub; cp plan.md helper.sh sub; echo > sub/wf.yaml; git add .; git commit -qm sub
        git worktree add -q ../linked; git clone -q --shared . ../borrows; mv ../ws ../main
        git -C ../main worktree repair -q ../linked 2>&1 || git -C ../main worktree repair ../linked
        sed -i 's|/ws/|/main/|' ../borrows/.git/objects/info/alternates";
    sh(&house, "ws", script).exits(0);
    for place in ["linked", "borrows", "borrows/sub", "main/sub"] {
        let link = house.at("ws");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(house.at(place), link).unwrap();
        covers(&house, "ws/helper.sh");
        // No file that git does not track.
        house.file("ws/other.sh", "").file("ws/plan.md", super::PLAN.replace("helper", "other"));
        wf(&house, &["diff", "plan.md"]).exits(1).says("- sh helper.sh");
        house.file("ws/plan.md", super::PLAN);
        wf(&house, &["approve", "plan.md", "--yes"]).exits(0);
    }
}

#[test]
fn what_git_cannot_say_is_an_error_where_an_approval_depends_on_it() {
    let house = workspace();
    house.file("ws/.git/index", "no index");
    for args in [&["approve", "plan.md", "--yes"][..], &["run", "plan.md", "--require-approval"]] {
        wf(&house, args).exits(6).says("git ls-files failed").says("hint: ");
    }
    let mut command = house.unaccepted(&["approve", "plan.md", "--yes"]);
    command.current_dir(house.at("ws")).env("WF_KEYS", house.at("keys")).env("PATH", "/nowhere");
    let did = crate::support::Did::of(&mut command).exits(6);
    did.says("cannot run git: program `git` is not in PATH").says("`wf doctor` says what is missing");
}
