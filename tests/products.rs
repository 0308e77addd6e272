//! Workers with the grant that people write, which leave the work undone and make the check pass: none of them is verified.
//! Each way of working meets each attack under each declaration, and honest work is the control.

use serde_json::Value;

use crate::support::Sandbox;

/// What the worker does in place of the work.
const ATTACKS: [(&str, &str); 7] = [
    ("delete", "rm -f test_calc.py; mkdir -p tests; touch tests/__init__.py"),
    ("empty", ": > test_calc.py"),
    (
        "overwrite",
        r"printf 'import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n' > test_calc.py",
    ),
    ("shadow a module", r"printf 'import sys; sys.exit(0)\n' > unittest.py"),
    (
        "plant a cache",
        "printf 'x = 1\\n' > /tmp/none.py; python3 -c 'import py_compile as p, sys; p.compile(\"/tmp/none.py\", \
         cfile=\"__pycache__/test_calc.%s.pyc\" % sys.implementation.cache_tag, \
         invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)'",
    ),
    ("plant a plugin", r"mkdir -p calc; printf 'import os; os._exit(0)\n' > calc/__init__.py"),
    ("change the runner's configuration", "echo true > check.sh"),
];

/// A skill whose script does it.
const SKILL: &str = "---\nname: mend\ndescription: Mends a program. Use it in tests.\nmetadata:\n  wf: |\n    \
    scripts: {scripts/work.sh: {allow: {write: [.]}}}\n---\n# Mend\n";

const HONEST: &str = "sed -i 's/a - b/a + b/' calc.py";

/// The keys of the step, and those of its check.
const DECLARATIONS: [(&str, &str, &str); 4] = [
    ("allow .", "allow: {write: [.]}", ""),
    ("everything", "allow: {write: [.]}\n    writes: [\"**\"]", ""),
    ("narrow", "allow: {write: [.]}\n    writes: [calc.py]", ""),
    (
        "fixed",
        "allow: {write: [.]}\n    writes: [\"**\"]",
        ", fixed: [\"test_*.py\", check.sh, \"unittest*\", \"calc/**\", \"**/__pycache__/**\"]",
    ),
];

/// A way in which a step works.
#[derive(Clone, Copy, PartialEq)]
enum Worker {
    Run,
    Exec,
    Agent,
    Nested,
    Worktree,
    Skill,
}

/// A workspace whose program has a mistake, which its test finds.
fn workspace() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(
        "wf.yaml",
        "models: {scripted: {api: scripted, model: replies.yaml}}\nroles: {executor: scripted}\n",
    );
    sandbox.file(".gitignore", ".wf/\n.config/\n");
    sandbox.file("calc.py", "def add(a, b):\n    return a - b\n");
    sandbox.file("check.sh", "PYTHONDONTWRITEBYTECODE=1 exec python3 -m unittest -q\n");
    sandbox.file(
        "test_calc.py",
        "import unittest, calc\n\nclass Test(unittest.TestCase):\n    def test_add(self):\n        \
         self.assertEqual(calc.add(1, 2), 3)\n",
    );
    sandbox
}

fn commit(sandbox: &Sandbox) {
    let git = "git init -q && git add -A && git -c user.name=it -c user.email=it@localhost commit -qm start";
    assert!(sandbox.program("sh").args(["-c", git]).status().unwrap().success());
}

/// Returns the standing of a step that does this work.
fn standing(worker: Worker, work: &str, keys: &str, fixed: &str) -> (String, Value) {
    let sandbox = workspace();
    let indented = work.replace('\n', "\n      ");
    let executor = match worker {
        Worker::Run | Worker::Nested => format!("run: |\n      {indented}"),
        Worker::Skill => "skill: {name: mend, script: work}".to_owned(),
        Worker::Exec => format!("exec: [sh, -c, {}]", Value::from(work)),
        Worker::Agent => "agent: {role: executor, tools: [run], max_turns: 4}".to_owned(),
        Worker::Worktree => {
            "agent: {role: executor, tools: [run], max_turns: 4, workspace: worktree}".to_owned()
        }
    };
    let step = format!(
        "steps:\n  - id: fix\n    {executor}\n    {keys}\n    verify:\n      - {{name: tests, run: sh check.sh{fixed}}}\n"
    );
    let prose = "---\n\n## fix\n\nMend the program.\n";
    if worker == Worker::Nested {
        sandbox.file("inner.md", format!("---\nkind: plan\nid: inner\n{step}---\n"));
        sandbox.file("plan.md", "---\nkind: plan\nid: outer\nsteps:\n  - {id: fix, uses: inner.md}\n---\n");
    } else {
        sandbox.file("plan.md", format!("---\nkind: plan\nid: outer\n{step}{prose}"));
    }
    if worker == Worker::Skill {
        sandbox.file("skills/mend/SKILL.md", SKILL).file("skills/mend/scripts/work.sh", format!("{work}\n"));
        sandbox.wf(&["skill", "lock", "mend", "--yes"]).exits(0);
    }
    let reply = Value::from(work);
    sandbox.file(
        "replies.yaml",
        format!("- replies:\n    - tool_calls: [{{tool: run, arguments: {{script: {reply}}}}}]\n    - text: Done.\n"),
    );
    commit(&sandbox);
    let ran = sandbox.wf(&["run", "plan.md"]);
    let shown = sandbox.wf(&["show", "--last", "--json"]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap_or_else(|_| panic!("{}", ran.all()));
    let standing = shown["steps"][0]["standing"].as_str().unwrap_or_default().to_owned();
    (standing, shown)
}

/// Compares all cells of a worker.
fn compare(worker: Worker) {
    for (declaration, keys, fixed) in DECLARATIONS {
        for (attack, work) in ATTACKS {
            let (standing, shown) = standing(worker, work, keys, fixed);
            let most = match (declaration, worker) {
                ("everything", _) => &["reported", "refuted", "unchecked"][..],
                // A nested run that failed leaves nothing to stand for.
                (_, Worker::Nested) => &["unchecked"],
                _ => &["refuted"],
            };
            assert!(most.contains(&standing.as_str()), "{attack}, {declaration}: {standing}\n{shown:#}");
        }
        let (standing, shown) = standing(worker, HONEST, keys, fixed);
        let expected = match declaration {
            "allow ." if worker == Worker::Nested => "unchecked",
            "allow ." => "refuted",
            "everything" => "reported",
            _ => "verified",
        };
        assert_eq!(standing, expected, "honest, {declaration}\n{shown:#}");
        if declaration == "allow ." && worker != Worker::Nested {
            let found = shown["checks"][0]["verdict"]["found"].as_str().unwrap_or_default().to_owned();
            assert!(found.contains("calc.py") && found.contains("`writes: [calc.py]`"), "{found}");
        }
    }
}

#[test]
fn a_script_that_cheats_is_not_verified() {
    compare(Worker::Run);
}

#[test]
fn a_command_that_cheats_is_not_verified() {
    compare(Worker::Exec);
}

#[test]
fn an_agent_that_cheats_is_not_verified() {
    compare(Worker::Agent);
}

#[test]
fn a_nested_run_that_cheats_is_not_verified() {
    compare(Worker::Nested);
}

#[test]
fn a_script_of_a_skill_that_cheats_is_not_verified() {
    compare(Worker::Skill);
}

#[test]
fn an_agent_that_cheats_in_a_worktree_is_not_verified() {
    compare(Worker::Worktree);
}

#[test]
fn a_check_keeps_its_script_and_sees_the_work() {
    let pattern = "allow: {write: [.]}\n    writes: [\"*.py\", \"*.sh\"]";
    let both = format!("{HONEST}; echo false > check.sh");
    let (standing, shown) = standing(Worker::Run, &both, pattern, "");
    assert_eq!(standing, "verified", "the check sees its script as it was\n{shown:#}");
    let changes = &shown["checks"][0]["verdict"]["changes"];
    assert_eq!(changes["count"], 2, "{shown:#}");
    assert_eq!(changes["first"], serde_json::json!(["calc.py", "check.sh"]));
}

#[test]
fn what_a_step_names_literally_is_its_product_and_said() {
    let literal = "allow: {write: [.]}\n    writes: [calc.py, check.sh]";
    let (standing, shown) = standing(Worker::Run, "echo true > check.sh", literal, "");
    assert_eq!(standing, "verified", "{shown:#}");
    assert_eq!(shown["checks"][0]["verdict"]["changed_inputs"], serde_json::json!(["check.sh"]));
    let sandbox = workspace();
    sandbox.file(
        "plan.md",
        format!(
            "---\nkind: plan\nid: outer\nsteps:\n  - id: fix\n    run: echo true > check.sh\n    {literal}\n    verify:\n      \
             - {{name: tests, run: sh check.sh}}\n---\n"
        ),
    );
    commit(&sandbox);
    let checked = sandbox.wf(&["check", "plan.md"]);
    assert!(checked.all().contains("step `fix` may change `check.sh`"), "{}", checked.all());
}

#[test]
fn what_is_declared_too_widely_is_said_beforehand() {
    for (keys, expected) in [
        ("allow: {write: [.]}", "plan/no-product"),
        ("writes: [\"**\"]", "fixed: [check.sh, test_calc.py]"),
        ("writes: [\"*.py\"]", "plan/harness-product"),
        ("writes: [calc.py]", "no problems"),
    ] {
        let sandbox = workspace();
        sandbox.file(
            "plan.md",
            format!(
                "---\nkind: plan\nid: outer\nsteps:\n  - id: fix\n    run: \"true\"\n    {keys}\n    verify:\n      \
                 - {{name: tests, run: sh check.sh}}\n---\n"
            ),
        );
        commit(&sandbox);
        let checked = sandbox.wf(&["check", "plan.md"]);
        assert!(checked.all().contains(expected), "{keys}: {}", checked.all());
    }
}

/// A run whose worker cheats once and then finds its own work; the retry of it; and a retry once a person has put all back.
#[test]
fn a_retry_does_not_take_over_what_a_refused_run_left() {
    for (cheat, found) in [
        ("test -e unittest.py || printf 'import sys; sys.exit(0)' > unittest.py", "unittest.py"),
        ("test -s test_calc.py && : > test_calc.py || true", "test_calc.py"),
        ("rm -f test_calc.py", "test_calc.py"),
    ] {
        let sandbox = workspace();
        let plan = |work: &str| {
            format!(
                "---\nkind: plan\nid: outer\nsteps:\n  - id: fix\n    allow: {{write: [.]}}\n    writes: [calc.py]\n    \
                 run: |\n      {work}\n    verify: [{{name: tests, run: sh check.sh}}]\n---\n"
            )
        };
        sandbox.file("plan.md", plan(cheat));
        commit(&sandbox);
        sandbox.wf(&["run", "plan.md"]).exits(1).says(found);
        for _ in 0..2 {
            sandbox.wf(&["retry", "--last"]).exits(1).says(found);
        }
        let back = "git checkout -q . && git clean -fdqx -e .wf -e .config";
        assert!(sandbox.program("sh").args(["-c", back]).status().unwrap().success());
        sandbox.file("plan.md", plan(HONEST)).file("notes.md", "of a person\n");
        sandbox.wf(&["retry", "--last"]).exits(0).says("1 verified");
    }
}
