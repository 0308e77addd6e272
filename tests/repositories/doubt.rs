//! A check whose command fails where git fails, and does not look: what it finds is no answer, and it does not pass.

use super::sh;
use crate::support::{Did, Sandbox};

fn run(deed: &str, change: &str) -> Did {
    let house = Sandbox::new();
    house.file(
        "p.md",
        format!(
            "---\nkind: plan\nid: p\nsteps:\n  - id: make\n    run: |\n      {change}\n      {deed}\n    writes: [f]\n    \
             verify:\n      - {{name: clean, run: 'test -z \"$(git status --porcelain)\"'}}\n---\n"
        ),
    );
    house.file(".gitignore", ".wf\n.config\n").file("f", "a\n");
    let begin = "git init -q -b main .; git config user.name a; git config user.email a@localhost; git add .; git commit -qm one";
    sh(&house, ".", begin).exits(0);
    house.wf(&["run", "p.md"])
}

#[test]
fn nothing_is_verified_by_a_git_that_cannot_answer() {
    let prune = "git -c gc.reflogExpire=now -c gc.reflogExpireUnreachable=now gc -q --prune=now";
    for deed in [
        &format!("git commit -q --amend -m new; {prune}"),
        "rm -rf .git/objects",
        "find .git/objects -type f -delete",
        "mv .git/objects ../elsewhere-$$ && mkdir .git/objects",
        "echo /none > .git/commondir",
    ] {
        let did = run(deed, "echo dirty > f");
        assert_ne!(did.code, Some(0), "{deed}: {}", did.all());
        assert!(!did.all().contains("1 verified"), "{deed}: {}", did.all());
    }
    let did = run(&format!("git commit -q --amend -m new; {prune}"), "echo dirty > f");
    did.exits(1).says("git cannot read the commit with which the run began");
}

#[test]
fn a_partial_clone_that_lacks_files_is_no_doubt() {
    let house = Sandbox::new();
    let plan = "---\nkind: plan\nid: p\nsteps:\n  - id: make\n    run: git commit -q --allow-empty -m two; echo x > out\n    \
                writes: [out]\n    verify: [{name: there, run: test -f out}]\n---\n";
    house.file("from/p.md", plan).file("from/.gitignore", ".wf\n.config\n");
    house.file("from/wf.yaml", "").file("from/old", "old\n");
    let begin = "cd from; git init -q -b main .; git config user.name a; git config user.email a@localhost
        git config uploadpack.allowFilter true; git add .; git commit -qm one; cd ..
        git clone -q --no-checkout --filter=blob:none file://$PWD/from to; cd to
        git config user.name a; git config user.email a@localhost
        git sparse-checkout set --no-cone '/*' '!/old'; git checkout -q main
        git rev-list --objects --missing=print HEAD | grep -q '^?'";
    sh(&house, ".", begin).exits(0);
    house.wf(&["-C", "to", "run", "p.md"]).exits(0).says("1 verified");
}

#[test]
fn what_changes_no_commit_is_no_doubt() {
    for deed in [
        "true",
        "git commit -q --allow-empty -m two",
        "git gc -q",
        "git fetch -q . main:other",
        "git repack -qad",
    ] {
        run(deed, "true").exits(0).says("1 verified");
    }
}
