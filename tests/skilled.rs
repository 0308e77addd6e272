//! Steps that run scripts of skills: what they are given, what they may reach, and that what runs
//! is what was installed.

use crate::support::{Did, Sandbox};

/// A skill with scripts that tell what they were given, and try what they may not.
const SKILL: &str = r"---
name: tools
description: Tools for tests. Use them where a test needs a script.
metadata:
  wf: |
    scripts:
      scripts/tell.sh:
        args:
          path: {type: string, maxLength: 40, optional: true}
          count: {type: integer, minimum: 1, default: 1}
          loud: {type: boolean, default: false}
          names: {type: array, items: {type: string}, optional: true}
        outputs: {words: {type: integer}}
        allow: {write: [out]}
      scripts/read.py: {}
---
# Tools
";

const TELL: &str = r#"printf '%s\n' "$@" > out/words
echo "words=$#" >> "$WF_OUTPUT"
test "$WF_SKILL" = "$WF_WORKSPACE/skills/tools"
! touch outside 2> /dev/null
"#;

const READ: &str = "import helper\nhelper.run()\n";
const HELPER: &str = "def run(): print('as it was installed')\n";

fn house() -> Sandbox {
    let house = Sandbox::new();
    house.file("skills/tools/SKILL.md", SKILL);
    house.file("skills/tools/scripts/tell.sh", TELL);
    house.file("skills/tools/scripts/read.py", READ);
    house.file("skills/tools/scripts/helper.py", HELPER);
    house.file("out/kept", "");
    locked(&house);
    house
}

/// Locks the skill, as a person does who has read it.
fn locked(house: &Sandbox) {
    by(house, &["skill", "lock", "tools", "--yes"]).exits(0);
}

fn by(house: &Sandbox, args: &[&str]) -> Did {
    Did::of(house.command(args).env("WF_KEYS", house.at("keys")))
}

fn plan(house: &Sandbox, steps: &str) {
    let read = steps.contains("params.it");
    let params = if read { "params: {it: {default: 1}}\n" } else { "" };
    let plan = format!("---\nkind: plan\nid: p\n{params}steps:\n{steps}---\n");
    house.file("p.md", plan);
}

fn run(house: &Sandbox, steps: &str, args: &[&str]) -> Did {
    plan(house, steps);
    let all: Vec<&str> = ["run", "p.md"].into_iter().chain(args.iter().copied()).collect();
    by(house, &all)
}

#[test]
fn a_script_is_given_what_it_declares_and_gives_what_it_declares() {
    let house = house();
    let steps = "  - id: tell\n    skill:\n      name: tools\n      script: tell\n      args: {path: --loud, count: \"{{ params.it }}\", loud: true, names: [a b, \"*\"]}\n\
        \x20 - {id: next, depends_on: [tell], exec: [test, \"{{ steps.tell.outputs.words }}\", \"=\", \"5\"]}\n";
    run(&house, steps, &["-p", "it=3"]).exits(0);
    let words = house.read("out/words");
    assert_eq!(words, "--path=--loud\n--count=3\n--loud\n--names=a b\n--names=*\n");
    assert!(!house.at("outside").exists(), "it may write below `out` alone");
}

#[test]
fn what_only_a_run_knows_is_checked_before_the_script_is_started() {
    let house = house();
    let steps = "  - {id: tell, skill: {name: tools, script: tell, args: {count: \"{{ params.it }}\"}}}\n";
    for (it, reason) in [
        ("0", "argument `count` of `skills/tools/scripts/tell.sh`: 0 is less than the minimum of 1"),
        ("many", "argument `count` of `skills/tools/scripts/tell.sh`: \"many\" is not of type \"integer\""),
    ] {
        run(&house, steps, &["-p", &format!("it={it}")]).exits(1).says(reason);
        assert!(!house.at("out/words").exists());
    }
}

#[test]
fn a_skill_that_changes_while_a_plan_runs_is_not_executed() {
    let steps = |first: &str| {
        format!(
            "  - {{id: first, run: \"{first}\"}}\n\
             \x20 - {{id: read, depends_on: [first], skill: {{name: tools, script: read}}}}\n"
        )
    };
    // The dot keeps it apart from the names of runs, which are hexadecimal.
    let evil = "echo 'def run(): print(66.66)' > skills/tools/scripts";
    for (first, reason) in [
        (format!("{evil}/helper.py"), "skills/tools/scripts/helper.py"),
        ("echo >> skills/tools/scripts/read.py".into(), "skills/tools/scripts/read.py"),
        ("echo >> skills/tools/SKILL.md".into(), "skills/tools/SKILL.md"),
        // What is beside a script comes before what Python has itself.
        (format!("{evil}/os.py"), "file is not approved: skills/tools/scripts/os.py"),
        ("mv skills/tools away && ln -s ../away skills/tools".into(), "skills/tools"),
    ] {
        let house = house();
        let ran = run(&house, &steps(&first), &[]);
        let ran = ran.exits(1).says(reason);
        assert!(!ran.all().contains("66.66"), "{first}: {}", ran.all());
    }
    run(&house(), &steps("true"), &[]).exits(0);
}

#[test]
fn what_lies_in_a_folder_that_is_no_part_of_a_skill_is_not_executed() {
    for (folder, script) in [("__pycache__", "a.sh"), (".git", "a.py"), ("scripts/.git", "a")] {
        let house = house();
        let path = format!("skills/tools/{folder}/{script}");
        let program = if script == "a.py" { "python3" } else { "sh" };
        house.file(&format!("{path}.new"), "#!/bin/sh\nprint(666) || echo 666\n");
        let steps = format!(
            "  - {{id: first, run: \"mv {path}.new {path} && chmod 755 {path}\", artifacts: [\"skills/**\"]}}\n\
             \x20 - {{id: good, skill: {{name: tools, script: read}}}}\n\
             \x20 - {{id: evil, depends_on: [first, good], exec: [{program}, {path}]}}\n"
        );
        let ran = run(&house, &steps, &[]);
        let ran = ran.exits(1).says(&format!("file is not approved: {path}"));
        assert!(ran.says("wf skill lock").all().contains("evil"));
        let step = format!("  - {{id: evil, skill: {{name: tools, script: {folder}/{script}}}}}\n");
        run(&house, &step, &[]).exits(3).says("has no script");
    }
}

#[test]
fn without_a_sandbox_no_script_of_a_skill_runs() {
    let house = house();
    house.file("wf.yaml", "sandbox: off\n");
    let steps = "  - {id: tell, skill: {name: tools, script: tell}}\n";
    run(&house, steps, &[]).exits(1).says("run only in the sandbox");
    assert!(!house.at("out/words").exists());
}

#[test]
fn a_script_finds_itself_from_another_folder_and_in_a_nested_plan() {
    let house = house();
    house.file("deep/er/kept", "");
    let inner = "---\nkind: plan\nid: inner\nsteps:\n  - {id: read, skill: {name: tools, script: read}, cwd: deep/er}\n---\n";
    house.file("inner.md", inner);
    run(&house, "  - {id: inner, uses: inner.md}\n", &[]).exits(0);
}

#[test]
fn a_run_goes_on_with_the_skill_that_it_began_with() {
    let house = house();
    let steps = "  - {id: first, run: test -e out/now}\n\
                 \x20 - {id: tell, depends_on: [first], skill: {name: tools, script: tell}}\n";
    run(&house, steps, &[]).exits(1);
    house.file("out/now", "");
    by(&house, &["retry", "--last"]).exits(0);
    assert_eq!(house.read("out/words"), "--count=1\n");
}
