//! Every argument of every script is given what nobody means. No script may believe it, be started
//! by it, or leave something outside of its folder.

use super::{bench::Bench, retrospective::propose_in};

const ODD: [&str; 8] = [
    "",
    "-",
    "--dry-run",
    "a\nb",
    "é\u{202e}日本*",
    "'\"\\$(touch hit)`touch hit`;touch hit",
    "../work/in",
    "/dev/null/x",
];

/// Runs a script with each odd value in the place of each of its arguments.
fn sweep(script: &str, args: &[&str], setting: fn(&Bench)) {
    for at in 0..args.len() {
        let Some((name, _)) = args[at].split_once('=') else {
            continue;
        };
        for odd in ODD {
            let bench = Bench::new();
            setting(&bench);
            let value = format!("{name}={odd}");
            let mut all: Vec<&str> = args.to_vec();
            all[at] = &value;
            let did = bench.run(script, &all);
            let place = format!("{script} {value:?}\n{}", did.all());
            assert!(matches!(did.code, Some(0..=2)), "{place}");
            let says = did.err.contains("remedy: ");
            assert!(did.code == Some(0) || says, "no remedy: {place}");
            assert!(!did.err.contains("Traceback"), "{place}");
            assert!(!bench.at("hit").exists(), "{place}");
            assert_eq!(bench.around(), ["wf.yaml", "work"], "{place}");
        }
    }
    let bench = Bench::new();
    setting(&bench);
    for odd in ODD.iter().filter(|odd| !odd.starts_with("--")) {
        let did = bench.run(script, &[args, &[odd]].concat());
        assert_ne!(did.code, Some(0), "{script} takes {odd:?}");
    }
    // What is asked for in the first place is done.
    let bench = Bench::new();
    setting(&bench);
    bench.run(script, args).exits(0);
}

const PATCH: &str = "--- a/one.txt\n+++ b/one.txt\n@@ -1 +1 @@\n-one\n+two\n";

fn patch(bench: &Bench) {
    bench.file("one.txt", "one\n").file("fix.diff", PATCH);
}

#[test]
fn of_run_tests() {
    let args = ["--path=.", "--kind=make", "--tail=5", "--log=out/log"];
    sweep("coding/scripts/run_tests.sh", &args, |bench| {
        bench.file("Makefile", "test:\n\t@true\n");
    });
}

#[test]
fn of_apply_patch() {
    let args = ["--patch=fix.diff", "--within=.", "--folder=.", "--strip=1"];
    sweep("coding/scripts/apply_patch.sh", &args, patch);
}

#[test]
fn of_summarize_diff() {
    let args = ["--diff=fix.diff", "--out=sum.json"];
    sweep("coding/scripts/summarize_diff.py", &args, patch);
}

#[test]
fn of_new_plan() {
    let args = ["--id=a", "--step=a=true", "--verify=a=true", "--title=A", "--out=a.md"];
    sweep("plan-writer/scripts/new_plan.py", &args, |_| {});
}

#[test]
fn of_check_plan() {
    sweep("plan-writer/scripts/check_plan.sh", &["--file=a.md"], |bench| {
        let plan = "---\nkind: plan\nid: a\nsteps: [{id: a, run: 'true'}]\n---\n";
        bench.file("a.md", plan);
    });
}

#[test]
fn of_make() {
    let args = [
        "--name=a-b",
        "--description=Counts lines. Use when they are to be counted.",
        "--script=count.py",
        "--freedom=low",
        "--into=skills",
    ];
    sweep("skill-maker/scripts/make.py", &args, |_| {});
}

#[test]
fn of_check() {
    sweep("skill-maker/scripts/check.sh", &["--folder=one"], |bench| {
        let text = "---\nname: one\ndescription: One. Use when it is asked for.\n---\nOne\n";
        bench.file("one/SKILL.md", text);
    });
}

#[test]
fn of_propose() {
    let args = ["--evidence=e.jsonl", "--skill=a", "--bar=5", "--skills=skills", "--out=out"];
    sweep("retrospective/scripts/propose.py", &args, |bench| {
        bench.file("e.jsonl", "");
    });
}

#[test]
fn of_apply() {
    let args = propose_in(&Bench::new());
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    sweep("retrospective/scripts/apply.py", &args, |bench| {
        propose_in(bench);
    });
}
