//! Checks that count tests, and checks that must fail before the work.

use crate::support::Sandbox;

/// A plan whose only step is checked by the tests of `test_calc.py`, which load the product `calc.py`.
fn plan(step: &str, expect: &str) -> String {
    format!(
        "---\nkind: plan\nid: p\nsteps:\n  - id: work\n    run: |\n      {step}\n    writes: [calc.py]\n    verify:\n      \
         - name: tests\n        run: PYTHONDONTWRITEBYTECODE=1 python3 run.py\n        {expect}\n---\n"
    )
}

/// A runner that writes TAP, as many of them do.
const RUNNER: &str = "import os, unittest\nimport test_calc\nlines = []\nclass Tap(unittest.TextTestResult):\n    \
    def addSuccess(self, test): lines.append('ok - ' + test.id())\n    \
    def addFailure(self, test, err): super().addFailure(test, err); lines.append('not ok - ' + test.id())\n    \
    def addError(self, test, err): super().addError(test, err); lines.append('not ok - ' + test.id())\n    \
    def addSkip(self, test, reason): lines.append('ok - ' + test.id() + ' # SKIP ' + reason)\n\
    suite = unittest.defaultTestLoader.loadTestsFromModule(test_calc)\n\
    ok = unittest.TextTestRunner(resultclass=Tap).run(suite).wasSuccessful()\n\
    where = os.environ.get('WF_REPORTS')\n\
    if where:\n    open(where + '/t.tap', 'w').write('\\n'.join(['1..%d' % len(lines)] + lines) + '\\n')\n\
    raise SystemExit(0 if ok else 1)\n";

const TESTS: &str = "import unittest\nclass T(unittest.TestCase):\n    def test_add(self):\n        import calc\n        \
    self.assertEqual(calc.add(2, 2), 4)\n    def test_zero(self):\n        import calc\n        \
    self.assertEqual(calc.add(0, 0), 0)\n";

fn place(calc: &str) -> Sandbox {
    let place = Sandbox::new();
    place.file("run.py", RUNNER);
    place.file("test_calc.py", TESTS);
    place.file("calc.py", calc);
    place
}

const WRONG: &str = "def add(a, b):\n    return a * b + 1\n";

/// What a step does that mends the product.
const MENDS: &str = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py";

/// What a step does that makes its product end the runner.
const ENDS: &str = "printf 'import os\\nos._exit(0)\\n' > calc.py";

#[test]
fn a_product_that_ends_its_runner_is_caught_by_the_report() {
    let exits = "expect: {exit_code: 0}";
    let counts = "expect: {tests: {report: t.tap, at_least: 2}}";
    let before = "expect: {tests: {report: t.tap, at_least: before}}";
    for (step, expect, code, told) in [
        // The control: an exit code alone believes it.
        (ENDS, exits, 0, "1 verified"),
        (ENDS, counts, 1, "there is no report `t.tap` in $WF_REPORTS"),
        (ENDS, before, 1, "there is no report `t.tap` in $WF_REPORTS"),
        (MENDS, counts, 0, "1 verified"),
        (MENDS, before, 0, "1 verified"),
    ] {
        let place = place(WRONG);
        place.file("p.md", plan(step, expect));
        let ran = place.wf(&["run", "p.md"]);
        assert_eq!(ran.code, Some(code), "{step} · {expect}: {}", ran.all());
        assert!(ran.all().contains(told), "{step} · {expect}: {}", ran.all());
    }
}

#[test]
fn a_check_that_passes_before_the_work_keeps_it_from_beginning() {
    let fails = "before: fails";
    let work = format!("echo begun >> begun; {MENDS}");
    let good = place("def add(a, b):\n    return a + b\n");
    good.file(
        "p.md",
        plan(&work, fails).replace("    writes:", "    retry: {max: 1, on: [logical]}\n    writes:"),
    );
    let ran = good.wf(&["run", "p.md"]);
    assert_eq!(ran.code, Some(1), "{}", ran.all());
    assert!(
        ran.all().contains("check `tests` passes already, before the work: it would show nothing"),
        "{}",
        ran.all()
    );
    assert!(!good.at("begun").exists(), "no attempt may begin, also no second one");
    let wrong = place(WRONG);
    wrong.file("p.md", plan(&work, fails));
    let ran = wrong.wf(&["run", "p.md"]);
    assert!(ran.code == Some(0) && ran.all().contains("1 verified"), "{}", ran.all());
    let shown: serde_json::Value =
        serde_json::from_str(&wrong.wf(&["show", "--last", "--json"]).all()).expect("it is JSON");
    let before = &shown["checks"][0]["verdict"]["before"];
    assert_eq!(
        (before["ruling"].as_str(), before["found"].as_str().is_some()),
        (Some("fail"), true),
        "{shown:#}"
    );
}

#[test]
fn tests_that_pass_before_the_work_keep_it_from_beginning_also_where_they_are_counted() {
    let expect = "before: fails\n        expect: {tests: {report: t.tap, at_least: before}}";
    let good = place("def add(a, b):\n    return a + b\n");
    good.file("p.md", plan(MENDS, expect));
    good.wf(&["run", "p.md"]).exits(1).says("check `tests` passes already, before the work");
    let wrong = place(WRONG);
    wrong.file("p.md", plan(MENDS, expect));
    wrong.wf(&["run", "p.md"]).exits(0).says("1 verified");
}

#[test]
fn a_second_attempt_is_not_held_against_the_first_ones_work() {
    let place = place(WRONG);
    // The first attempt mends it, and fails; the check passes before the second one.
    let step = format!("{MENDS}; test -e again || {{ touch again; exit 1; }}");
    place.file(
        "p.md",
        plan(&step, "before: fails")
            .replace("    writes:", "    retry: {max: 1, on: [logical]}\n    writes:"),
    );
    let ran = place.wf(&["run", "p.md"]);
    assert!(ran.code == Some(0) && ran.all().contains("1 verified"), "{}", ran.all());
}
