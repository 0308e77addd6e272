//! The skill `plan-writer`.

use proptest::prelude::*;
use serde_json::json;
use wf_app::config::WorkspaceConfig;
use wf_lang::{self as lang, InMemoryFiles};
use wf_model::StepWork;

use super::bench::Bench;

const NEW: &str = "plan-writer/scripts/new_plan.py";
const CHECK: &str = "plan-writer/scripts/check_plan.sh";

#[test]
fn a_new_plan_passes_and_is_never_written_over() {
    let bench = Bench::new();
    let args = [
        "--id=two-steps",
        "--title=Two: steps # of \"it\"",
        "--step=make=echo 'a: b' > out.txt",
        "--step=show=cat out.txt",
        "--makes=make=out.txt",
        "--verify=make=test -s out.txt",
        "--out=plans/a b.md",
    ];
    bench.run(NEW, &args).exits(0);
    assert_eq!(bench.outputs(), json!({"path": "plans/a b.md", "steps": 2}));
    bench.run(CHECK, &["--file=plans/a b.md"]).exits(0);
    assert_eq!(bench.outputs(), json!({"errors": 0, "warnings": 0}));
    let before = bench.read("plans/a b.md");
    assert!(before.contains("depends_on: [make]"), "{before}");
    bench.run(NEW, &args).refuses(2, "there already");
    assert_eq!(bench.read("plans/a b.md"), before);
}

#[test]
fn what_makes_no_plan_is_refused() {
    for (args, says) in [
        (&["--id=Two", "--step=a=b", "--out=x"][..], "no id"),
        (&["--id=a", "--step=A=b", "--out=x"], "no name"),
        (&["--id=a", "--step=a= ", "--out=x"], "no command"),
        (&["--id=a", "--step=a=b", "--step=a=c", "--out=x"], "twice"),
        (&["--id=a", "--step=a=b", "--verify=c=d", "--out=x"], "names no step"),
    ] {
        let bench = Bench::new();
        bench.run(NEW, args).refuses(2, says);
        assert!(!bench.at("x").exists());
    }
}

#[test]
fn mistakes_are_counted() {
    let bench = Bench::new();
    bench.file("a.md", "---\nkind: plan\nid: A\nsteps: [{id: a, runs: b}]\n---\n");
    bench.run(CHECK, &["--file=a.md"]).exits(1).says("did you mean `run`?");
    bench.run(CHECK, &["--file=a.md", "--report-only"]).exits(0);
    assert_eq!(bench.outputs(), json!({"errors": 2, "warnings": 0}));
    bench.file("empty/a.txt", "");
    bench.run(CHECK, &["--file=empty"]).refuses(2, "no plan");
    bench.run(CHECK, &["--file=none.md"]).refuses(2, "no such file");
    bench.run(CHECK, &[]).refuses(2, "nothing is to be checked");
    let without = bench.run_with(CHECK, &["--file=a.md"], "/nowhere/wf");
    without.refuses(2, "/nowhere/wf is not there");
    let other = bench.run_with(CHECK, &["--file=a.md"], "true");
    other.refuses(2, "wf gave no answer");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever commands are, the plan has no mistakes and says exactly them.
    #[test]
    fn commands_come_out_as_they_went_in(
        commands in prop::collection::vec("[^\u{0}]{0,30}[!-~][^\u{0}]{0,10}", 1..60),
        title in "[^\u{0}]{0,20}",
    ) {
        let bench = Bench::new();
        let mut args = vec!["--id=odd".to_owned(), "--out=odd.md".into(), "--parallel".into()];
        args.push(format!("--title={title}"));
        let numbered = commands.iter().enumerate();
        args.extend(numbered.map(|(at, command)| format!("--step=s{at}={command}")));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        bench.run(NEW, &args).exits(0);
        let text = bench.read("odd.md");
        let files = InMemoryFiles([("odd.md".to_owned(), text.clone().into_bytes())].into());
        let mut loaded = lang::load(&files, "odd.md");
        wf_lang::check::check(&mut loaded);
        prop_assert!(!loaded.has_errors(), "{text}\n{:#?}", loaded.diagnostics);
        let plan = lang::lower(&loaded, &WorkspaceConfig::default().defaults).expect("a plan without mistakes");
        for (step, command) in plan.steps().iter().zip(&commands) {
            let StepWork::Run(script) = &step.work else { panic!("{text}") };
            prop_assert_eq!(&script.text, command);
        }
    }
}
