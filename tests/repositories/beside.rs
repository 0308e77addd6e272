//! A checkout in which people work while runs check: nothing that they do to files of nobody's work fails a run, and nothing
//! that a step does undeclared is seen by a check.

use std::{thread, time::Duration};

use super::sh;
use crate::support::Sandbox;

/// A plan with a step that takes a while, and a check that takes a while and asks git.
const PLAN: &str = "\
---
kind: plan
id: build
steps:
  - id: make
    run: mkdir -p out; touch out/begun; sleep 0.3; echo done > out/a
    writes: [out/a]
    verify:
      - name: tree
        run: sleep 0.5; test -f out/a; test \"$(git log --format=%s)\" = one; cat src/*; git status --short
---
";

/// A repository with one commit, an edited file and one that is in no commit.
fn house(plan: &str) -> Sandbox {
    let house = Sandbox::new();
    house.file("plan.md", plan).file(".gitignore", ".wf\n.config\nout\n");
    house.file("src/a", "a\n").file("src/b", "b\n").file("edited", "1\n");
    sh(&house, ".", "git init -q -b main .; git config user.name a; git config user.email a@localhost; git add .; git commit -qm one; git branch side").exits(0);
    house.file("edited", "2\n").file("new", "1\n");
    house
}

/// Waits until the step works, and for some milliseconds more.
fn once_begun(house: &Sandbox, delay: u64) {
    for _ in 0..3_000 {
        if house.at("out/begun").exists() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(delay));
}

/// What people do in the meantime.
const DEEDS: [(&str, &str); 11] = [
    ("look", "touch src/a; git status"),
    ("pack", "git gc -q"),
    ("edit", "echo more >> src/a; echo more >> edited; echo more >> new"),
    ("remove", "rm src/b new"),
    ("commit", "git commit -qam two"),
    ("add", "mkdir more; echo x > more/x; git add more; git commit -qm two"),
    ("stash", "git stash -qu; git status; git stash pop -q"),
    (
        "switch",
        "git stash -q; git switch -q -c other; echo x > src/c; git add .; git commit -qm two; git switch -q side",
    ),
    ("link", "mv src src2; ln -s src2 src"),
    ("tag", "git tag v1; git branch -D side; git pack-refs --all"),
    ("rename", "git mv src/a src/z; git commit -qam two; git config branch.main.description text"),
];

#[test]
fn nothing_that_people_do_to_other_files_fails_a_run() {
    for (name, deed) in DEEDS {
        // While the step works, and while the check looks.
        for delay in [0, 500] {
            let house = house(PLAN);
            thread::scope(|scope| {
                scope.spawn(|| {
                    once_begun(&house, delay);
                    sh(&house, ".", deed).exits(0);
                });
                let did = house.wf(&["run", "plan.md"]);
                assert_eq!(did.code, Some(0), "{name} after {delay} ms: {}{}", did.out, did.err);
                assert!(did.out.contains("1 verified"), "{name}: {}", did.out);
            });
        }
    }
}

#[test]
fn a_burst_of_new_files_fails_no_check_that_sees_some_of_them() {
    let check = "sleep 0.2; test -z \"$(ls | grep made)\"";
    let plan = PLAN.split_once("run: sleep 0.5").map(|(plan, _)| format!("{plan}run: {check}\n---\n"));
    let house = house(&plan.unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            once_begun(&house, 300);
            sh(&house, ".", "for n in $(seq 40); do touch made-$n; sleep 0.05; done").exits(0);
        });
        let did = house.wf(&["run", "plan.md"]);
        assert!(did.code == Some(0) && did.out.contains("1 verified"), "{}{}", did.out, did.err);
    });
}

#[test]
fn what_a_check_saw_otherwise_than_it_lies_there_is_named() {
    let house = house(PLAN);
    thread::scope(|scope| {
        scope.spawn(|| {
            once_begun(&house, 0);
            sh(&house, ".", "echo more >> src/a").exits(0);
        });
        house.wf(&["run", "plan.md"]).exits(0);
    });
    let shown = house.wf(&["show", "--last"]).out;
    assert!(shown.contains("changed beside the run, seen as it was when the run began: src/a"), "{shown}");
}

/// A plan with one step, and a check of it.
fn plan(work: &str, check: &str) -> String {
    format!(
        "---\nkind: plan\nid: build\nsteps:\n  - id: make\n    {work}\n    verify: [{{name: look, run: '{check}'}}]\n---\n"
    )
}

/// A step that lets git say another text of a file, and touches the file.
const REPLACE: &str =
    "run: git replace -f $(git rev-parse HEAD:src/a) $(echo b | git hash-object -w --stdin); touch sr*/a";

/// A step that puts another object in place of that of a file, and touches the file.
const FORGE: &str = "run: 'p() { echo .git/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); }; \
    cp -f $(p $(echo b | git hash-object -w --stdin)) $(p $(git rev-parse HEAD:src/a)); touch sr*/a'";

#[test]
fn what_a_step_does_to_the_repository_or_undeclared_a_check_does_not_see() {
    let has_two = "git log -1 --format=%s | grep two";
    let said = "git says to it what it said when the run began";
    for (work, check, code, expected) in [
        ("run: git commit -qam two", has_two, 1, said),
        ("run: git commit -qam two\n    writes: [\".git/**\", edited]", has_two, 0, "verified"),
        // A test that the step commits away, and one that it empties by a program.
        (
            "run: rm src/*; git commit -qam two",
            "git diff --exit-code HEAD -- src && cat src/a",
            0,
            "verified",
        ),
        ("run: sh -c \"$(printf \"cp .gitignore s%s\" rc/a)\"", "grep -x a src/a", 0, "verified"),
        // One that it replaces in git, or forges, with what passes.
        (REPLACE, "grep -x a src/a", 0, "verified"),
        (FORGE, "grep -x a src/a", 1, "changed, not declared"),
        ("run: git commit -qam two", "git log -g --format=%s | grep two", 1, "failed"),
        ("run: git update-ref MY_HEAD HEAD", "git cat-file -e MY_HEAD", 1, "failed"),
        // What the text of the step names is its own doing.
        ("run: echo x > src/a", "cat src/a", 1, "changed, not declared: src/a"),
        ("run: echo x >> .git/config", "git status", 1, "changed"),
    ] {
        let house = house(&plan(work, check));
        let did = house.wf(&["run", "plan.md"]);
        assert_eq!(did.code, Some(code), "{work}: {}{}", did.out, did.err);
        assert!(did.out.contains(expected), "{work}: {}{}", did.out, did.err);
    }
}

#[test]
fn a_run_that_waits_for_a_person_sees_the_commits_of_its_beginning() {
    let wait = "---\nkind: plan\nid: build\nsteps:\n  - {id: ask, approve: {message: Go on?}}\n  - id: make\n    \
                depends_on: [ask]\n    run: mkdir -p out; echo done > out/a\n    writes: [out/a]\n    verify: \
                [{name: look, run: 'test \"$(git log --format=%s)\" = one; cat src/a'}]\n---\n";
    let house = house(wait);
    house.wf(&["key", "init", "me"]).exits(0);
    house.wf(&["run", "plan.md"]).exits(5);
    sh(&house, ".", "echo more >> src/a; git commit -qam two; git gc -q").exits(0);
    house.wf(&["approve", "--last", "--yes"]).exits(0);
    house.wf(&["resume", "--last"]).exits(0).says("verified");
}
