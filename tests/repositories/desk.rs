//! A day at a desk, from a seed: somebody edits, commits, stashes and switches branches while runs with checks go. None of them
//! fails for it, and each check sees the commit and the files with which its run began.
//!
//! `WF_DESK_DEEDS` is the number of deeds, 60 if it is not set; `WF_DESK_SEED` gives another day.

use std::{thread, time::Duration};

use super::sh;
use crate::support::Sandbox;

/// What somebody does to files that are not the run's; `N` is a number that did not occur before. Each leaves a work tree in
/// which all others work.
const DEEDS: [&str; 12] = [
    "echo N >> src/a",
    "echo N > src/b",
    "echo N > notes-N",
    "rm -f notes-*; git rm -q -f --ignore-unmatch 'notes-*'",
    "mkdir -p more/N; echo N > more/N/x; git add more",
    "git add -A; git commit -q --allow-empty -m N",
    "git commit -q --allow-empty -am N; git tag tag-N",
    "git stash -qu; git status --short; git stash pop -q || true",
    "git switch -q -c side-N; echo N > src/c; git add -A; git commit -qm N",
    "git stash -qu; git switch -q --detach main; git stash pop -q || git checkout -q -f HEAD",
    "git pack-refs --all; git gc -q --auto; git branch -f moved",
    "mv src/a src/z; git checkout -q -f HEAD -- src; touch src/b",
];

/// The deeds within one run, and those that follow each other at once.
const MOMENTS: usize = 3;
const DEEDS_AT_ONCE: usize = 2;

/// The plan with a step that is confined, or is not.
fn plan(id: &str, allow: &str) -> String {
    format!(
        "---\nkind: plan\nid: {id}\nparams:\n  head: {{type: string}}\n  sum: {{type: string}}\nsteps:\n  - id: make\n    \
         run: touch out/begun; sleep 0.2; echo done > out/a\n    writes: [out/a]\n{allow}    verify:\n      - name: look\n        \
         run: |\n          test -f out/a && test \"$(git rev-parse HEAD)\" = \"$WF_PARAM_HEAD\"\n          \
         test \"$(cat src/* | cksum)\" = \"$WF_PARAM_SUM\" && git status --short && git log -1 -p > /dev/null\n---\n"
    )
}

/// Numbers that follow from a seed (xorshift).
struct SeededNumbers(u64);

impl SeededNumbers {
    /// Returns a number below a limit.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn number(name: &str, default: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "who runs the test says how long the day is")]
    let text = std::env::var(name);
    text.ok().map_or(default, |text| text.parse().expect("a number"))
}

/// Does some deeds at some moments of a run, once its step works. Returns what was done.
fn live(house: &Sandbox, numbers: &mut SeededNumbers, first: usize) -> Vec<String> {
    let mut done = Vec::new();
    for _ in 0..3_000 {
        if house.at("out/begun").exists() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    for moment in 0..MOMENTS {
        thread::sleep(Duration::from_millis(numbers.below(300)));
        for at in 0..DEEDS_AT_ONCE {
            let chosen = DEEDS[usize::try_from(numbers.below(DEEDS.len() as u64)).unwrap()];
            let deed = chosen.replace('N', &(first + moment * DEEDS_AT_ONCE + at).to_string());
            sh(house, ".", &deed).exits(0);
            done.push(deed);
        }
    }
    done
}

#[test]
fn a_day_at_the_desk_fails_no_run() {
    let (deeds, seed) = (number("WF_DESK_DEEDS", 60), number("WF_DESK_SEED", 20_261_129));
    let house = Sandbox::new();
    house
        .file("free.md", plan("free", ""))
        .file("confined.md", plan("confined", "    allow: {write: [out]}\n"));
    house.file(".gitignore", ".wf\n.config\nout\n").file("wf.yaml", "durability: normal\n");
    house.file("src/a", "a\n").file("src/b", "b\n").file("out/.keep", "");
    let begin = "git init -q -b main .; git config user.name a; git config user.email a@localhost; git add .; git commit -qm one";
    sh(&house, ".", begin).exits(0);
    let mut numbers = SeededNumbers(seed.max(1));
    let mut count = 0_usize;
    for plan in ["free.md", "confined.md"].into_iter().cycle() {
        if count as u64 >= deeds {
            break;
        }
        let said = |script: &str| sh(&house, ".", script).exits(0).out.trim_end().to_owned();
        said("rm -f out/begun out/a");
        let head = format!("head={}", said("git rev-parse HEAD"));
        let sum = format!("sum={}", said("cat src/* | cksum"));
        let (did, done) = thread::scope(|scope| {
            let desk = scope.spawn(|| live(&house, &mut numbers, count));
            (house.wf(&["run", plan, "-p", &head, "-p", &sum]), desk.join().unwrap())
        });
        count += done.len();
        let context = format!("seed {seed}, {done:#?}");
        assert_eq!(did.code, Some(0), "{context}: {}{}", did.out, did.err);
        assert!(did.out.contains("1 verified"), "{context}: {}", did.out);
    }
}
