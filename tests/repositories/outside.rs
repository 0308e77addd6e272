//! Git whose folder is outside of the workspace: a check is told what git said when the run began, whoever commits meanwhile.

use std::{thread, time::Duration};

use super::sh;
use crate::support::{Did, Sandbox};

/// Makes the workspace in the folder `ws`, and the words by which its runs are started.
const LAYOUTS: [(&str, &str, &[&str]); 7] = [
    ("linked worktree", "git -C main worktree add -q ../ws", &["run"]),
    (
        "worktree in the folder of a bare repository",
        "git clone -q --bare main bare.git; git -C bare.git worktree add -q ws; ln -s bare.git/ws ws",
        &["run"],
    ),
    (
        "submodule",
        "git init -q super; cd super; git -c protocol.file.allow=always submodule --quiet add ../main mod; cd ..; \
         ln -s super/mod ws",
        &["run"],
    ),
    ("folder of its own", "git clone -q --separate-git-dir=apart.git main ws", &["run"]),
    ("below the top", "git clone -q main around; ln -s around/below ws", &["run"]),
    ("worktree of the run", "git clone -q main ws", &["run", "--worktree"]),
    // The branches are in tables, where git can do so.
    (
        "tables",
        "git clone -q --ref-format=reftable main t 2> /dev/null || git clone -q main t; git -C t worktree add -q ../ws",
        &["run"],
    ),
];

/// A commit of a changed file, and what else moves git.
const COMMIT: &str = "for file in te?t; do echo two >> $file; done; \
                      git -c user.name=a -c user.email=a@localhost commit -qam two; git tag v1; git branch aside; git bisect start";

/// Says if git is as it was when the run began: its branches, the commit, the index and the files.
const LOOK: &str = "test \"$(git log --all --format=%s)\" = one && test \"$(git log --format=%s)\" = one && \
                    git diff --exit-code HEAD -- . && test -z \"$(git status --short .)\" && test \"$(cat text)\" = one && \
                    ! git for-each-ref | grep -e v1 -e aside -e bisect";

/// Waits until the file `go` is there.
const WAIT: &str = "for i in $(seq 600); do test ! -e HOUSE/go || break; sleep 0.05; done";

/// A plan whose step does something, and says by a file when it works.
fn plan(work: &str, check: &str) -> String {
    format!(
        "---\nkind: plan\nid: look\nsteps:\n  - id: make\n    run: |\n      touch HOUSE/begun\n      {work}\n      \
         mkdir -p out; echo done > out/a\n    writes: [out/a]\n    verify:\n      - name: look\n        run: '{check}'\n---\n"
    )
}

/// The workspace of a layout, with a plan.
fn layout(script: &str, plan: &str) -> Sandbox {
    let house = Sandbox::new();
    let plan = plan.replace("HOUSE", &house.at("").display().to_string());
    for folder in ["main", "main/below"] {
        house.file(&format!("{folder}/wf.yaml"), "").file(&format!("{folder}/text"), "one\n");
        house.file(&format!("{folder}/.gitignore"), "out\n.wf\n");
        house.file(&format!("{folder}/plan.md"), &*plan);
    }
    sh(&house, "main", "git init -q -b main .; git add .; git commit -qm one").exits(0);
    sh(&house, "", script).exits(0);
    house
}

fn wf(house: &Sandbox, args: &[&str]) -> Did {
    Did::of(house.unaccepted(args).current_dir(house.at("ws")))
}

/// Commits in the workspace once the step works, and then lets it go on.
fn commit_beside(house: &Sandbox) {
    for _ in 0..3_000 {
        if house.at("begun").exists() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    sh(house, "ws", COMMIT).exits(0);
    house.file("go", "");
}

#[test]
fn a_check_sees_no_commit_that_a_person_makes_beside_the_run() {
    for (name, script, words) in LAYOUTS {
        let house = layout(script, &plan(WAIT, LOOK));
        thread::scope(|scope| {
            scope.spawn(|| commit_beside(&house));
            let did = wf(&house, &[words, &["plan.md"]].concat());
            assert_eq!(did.code, Some(0), "{name}: {}{}", did.out, did.err);
            assert!(did.out.contains("1 verified"), "{name}: {}", did.out);
        });
        assert_eq!(sh(&house, "ws", "git log --format=%s").out, "two\none\n", "{name}");
    }
}

#[test]
fn a_check_sees_no_commit_that_a_step_makes_undeclared() {
    for (name, script, words) in LAYOUTS {
        let house = layout(script, &plan(COMMIT, LOOK));
        let did = wf(&house, &[words, &["plan.md"]].concat());
        assert_eq!(did.code, Some(0), "{name}: {}{}", did.out, did.err);
        assert!(did.out.contains("1 verified"), "{name}: {}", did.out);
    }
}

#[test]
fn a_check_sees_the_commit_of_a_step_that_declares_it_and_a_verdict_says_how() {
    let has_two = "git log -1 --format=%s | grep two";
    let (_, script, _) = LAYOUTS[0];
    let house = layout(script, &plan(COMMIT, has_two));
    wf(&house, &["run", "plan.md"]).exits(1).says("what a step commits, a check sees if the step has");
    for (_, script, words) in LAYOUTS {
        let declared = plan(COMMIT, has_two).replace("[out/a]", "[out/a, text, \".git/**\"]");
        let house = layout(script, &declared);
        wf(&house, &[words, &["plan.md"]].concat()).exits(0).says("1 verified");
    }
}

#[test]
fn a_run_that_waits_for_a_person_is_told_what_git_said_when_it_began() {
    let (_, script, _) = LAYOUTS[0];
    let ask = "steps:\n  - {id: ask, approve: {message: Go on?}}\n  - id: make\n    depends_on: [ask]\n";
    let house = layout(script, &plan("true", LOOK).replace("steps:\n  - id: make\n", ask));
    // Git trusts no entry of an index that is as old as the file.
    sh(&house, "ws", "sleep 0.1; git status").exits(0);
    wf(&house, &["key", "init", "me"]).exits(0);
    wf(&house, &["run", "plan.md"]).exits(5);
    sh(&house, "ws", COMMIT).exits(0);
    sh(&house, "ws", "git gc -q; git pack-refs --all").exits(0);
    wf(&house, &["approve", "--last", "--yes"]).exits(0);
    wf(&house, &["resume", "--last"]).exits(0).says("verified");
}
