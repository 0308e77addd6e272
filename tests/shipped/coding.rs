//! The skill `coding`.

use serde_json::json;

use super::bench::Bench;

const TESTS: &str = "coding/scripts/run_tests.sh";
const APPLY: &str = "coding/scripts/apply_patch.sh";
const SUM: &str = "coding/scripts/summarize_diff.py";
/// The first words of a command that is a line of shell.
const SH: &str = "--command=sh";
const DASH: &str = "--command=-c";

#[test]
fn tests_that_fail_are_told_and_kept() {
    let bench = Bench::new();
    let line = [SH, DASH, "--command=seq 9; exit 7"];
    bench.run(TESTS, &[&line[..], &["--log=out/log", "--tail=2"]].concat()).exits(1).says("exit code 7");
    assert_eq!(bench.read("out/log"), "8\n9\n");
    let failed = json!({"passed": false, "exit_code": 7, "kind": "command"});
    assert_eq!(bench.outputs(), failed);
    bench.run(TESTS, &[&line[..], &["--report-only"]].concat()).exits(0);
    assert_eq!(bench.outputs(), failed);
    bench.run(TESTS, &["--command=true"]).exits(0);
    assert_eq!(bench.outputs(), json!({"passed": true, "exit_code": 0, "kind": "command"}));
}

#[test]
fn a_command_is_its_words_and_nothing_more() {
    let bench = Bench::new();
    let words = ["--command=printf", "--command=[%s]", "--command=a  b", "--command=$(touch hit)"];
    bench.run(TESTS, &words).exits(0).says("[a  b][$(touch hit)]");
    assert!(!bench.at("hit").exists());
    bench.run(TESTS, &["--command="]).refuses(2, "names no program");
    bench.run(TESTS, &["--command=no-such-program"]).refuses(2, "is not there");
}

#[test]
fn a_project_is_known_by_its_files() {
    let bench = Bench::new();
    bench.run(TESTS, &[]).refuses(2, "nothing here says");
    bench.file("make/GNUmakefile", "test:\n\t@echo made\n");
    bench.run(TESTS, &["--path=make"]).exits(0).says("made");
    assert_eq!(bench.outputs()["kind"], "make");
    bench.file("made/Makefile", "build:\n\ttrue\n");
    bench.run(TESTS, &["--path=made"]).refuses(2, "nothing here");
    let test = "import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(1, 1)\n";
    bench.file("py/test_it.py", test);
    let unittest = ["--path=py", "--kind=unittest"];
    bench.run(TESTS, &unittest).exits(0);
    assert_eq!(bench.outputs()["kind"], "unittest");
    bench.file("py/test_it.py", &test.replace("1, 1", "1, 2"));
    bench.run(TESTS, &unittest).exits(1).says("AssertionError");
    bench.file("py/test_it.py", "");
    bench.run(TESTS, &unittest).exits(1);
    assert_eq!(bench.outputs()["exit_code"], 5, "no tests are no pass");
}

#[test]
fn what_is_tested_does_not_speak_for_the_step() {
    let bench = Bench::new();
    let line = "--command=echo passed=true >> \"${WF_OUTPUT:-/dev/null}\"; false";
    bench.run(TESTS, &[SH, DASH, line, "--report-only"]).exits(0);
    assert_eq!(bench.outputs()["passed"], json!(false));
}

const FIX: &str = "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n";

#[test]
fn a_patch_is_tried_applied_and_known_again() {
    let bench = Bench::new();
    bench.file("src/a.txt", "one\ntwo\n").file("fix.diff", FIX);
    let args = ["--patch=fix.diff", "--within=./src/"];
    let counts = json!({"files": 1, "added": 2, "removed": 1});
    bench.run(APPLY, &[&args[..], &["--dry-run"]].concat()).exits(0);
    assert_eq!(bench.outputs(), counts);
    assert_eq!(bench.read("src/a.txt"), "one\ntwo\n");
    bench.run(APPLY, &args).exits(0);
    assert_eq!(bench.outputs(), counts);
    assert_eq!(bench.read("src/a.txt"), "one\n2\n3\n");
    bench.run(APPLY, &args).refuses(1, "applied already");
    bench.file("src/a.txt", "other\n");
    bench.run(APPLY, &args).refuses(1, "does not fit");
    assert_eq!(bench.read("src/a.txt"), "other\n");
}

#[test]
fn a_patch_in_a_folder_of_a_repository_is_applied_there() {
    let bench = Bench::new();
    let git = bench.place.program("git").args(["init", "-q", "work"]).status();
    assert!(git.unwrap().success());
    bench.file("deep/src/a.txt", "one\ntwo\n").file("fix.diff", FIX);
    let args = ["--patch=fix.diff", "--within=src/a.txt", "--folder=deep"];
    bench.run(APPLY, &args).exits(0);
    assert_eq!(bench.read("deep/src/a.txt"), "one\n2\n3\n");
}

#[test]
fn a_patch_stays_where_it_may() {
    let add = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    let link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n";
    let moved = "diff --git a/other/a b/src/a\nsimilarity index 100%\nrename from other/a\nrename to src/a\n";
    let two = format!("{}{}", add("src/a"), add("other/b"));
    for (patch, says) in [
        (add("other/a"), "not within src"),
        (add("src2/a"), "not within src"),
        (add("../a"), ""),
        (add("src/../../a"), ""),
        (add(".git/config"), ""),
        (two, "other/b, which is not within src"),
        (link.to_owned(), "a link or a submodule"),
        (moved.to_owned(), "renames or copies"),
        ("nothing\n".to_owned(), "no unified diff"),
        (String::new(), "no unified diff"),
        (add("src/\"a\\nb\""), ""),
    ] {
        let bench = Bench::new();
        bench.file("fix.diff", &patch).file("other/a", "a\n");
        let did = bench.run(APPLY, &["--patch=fix.diff", "--within=src"]);
        assert_eq!(did.code, Some(2), "{patch}\n{}", did.all());
        did.refuses(2, says);
        assert!(!bench.at("src").exists() && !bench.at("other/b").exists());
        assert_eq!(bench.around(), ["wf.yaml", "work"]);
    }
}

#[test]
fn a_patch_does_not_go_through_a_link() {
    let bench = Bench::new();
    bench.place.file("target/a.txt", "one\ntwo\n");
    std::os::unix::fs::symlink("../target", bench.at("src")).unwrap();
    bench.file("fix.diff", FIX);
    bench.run(APPLY, &["--patch=fix.diff", "--within=src"]).refuses(1, "symbolic link");
    assert_eq!(bench.place.read("target/a.txt"), "one\ntwo\n");
}

#[test]
fn a_sum_counts_and_names_what_is_risky() {
    let bench = Bench::new();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let diff = format!(
        "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n-x\n--- y\n+KEY = \"{secret}\"\n+++ z\n\
         diff --git a/tests/test_a.py b/tests/test_a.py\ndeleted file mode 100644\n--- a/tests/test_a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-test\n\
         diff --git a/Cargo.lock b/Cargo.lock\n--- a/Cargo.lock\n+++ b/Cargo.lock\n@@ -1 +1 @@\n-1\n+2\n\
         diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ\n\
         diff --git \"a/\\303\\251.txt\" \"b/\\303\\251.txt\"\nnew file mode 100755\n--- /dev/null\n+++ \"b/\\303\\251.txt\"\n@@ -0,0 +1 @@\n+e\n"
    );
    bench.file("a.diff", &diff);
    let did = bench.run(SUM, &["--diff=a.diff", "--out=out/sum.json"]).exits(0);
    let sum = bench.outputs();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&bench.read("out/sum.json")).unwrap(), sum);
    assert!(!did.all().contains(&secret) && !sum.to_string().contains(&secret));
    let paths: Vec<&str> =
        sum["changes"].as_array().unwrap().iter().filter_map(|it| it["path"].as_str()).collect();
    assert_eq!(paths, ["src/a.py", "tests/test_a.py", "Cargo.lock", "p.png", "é.txt"]);
    assert_eq!((&sum["files"], &sum["added"], &sum["removed"]), (&json!(5), &json!(4), &json!(4)));
    let risks: Vec<String> = sum["risks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {} {}", it["kind"], it["path"], it["count"]).replace('"', ""))
        .collect();
    assert_eq!(
        risks,
        [
            "secret src/a.py 1",
            "deleted_test tests/test_a.py 1",
            "lock_file Cargo.lock 2",
            "binary p.png 1",
            "mode é.txt 1"
        ]
    );
}

#[test]
fn a_sum_asks_for_one_thing_that_is_there() {
    let bench = Bench::new();
    bench.run(SUM, &[]).refuses(2, "not clear");
    bench.run(SUM, &["--diff=a", "--from=b"]).refuses(2, "not clear");
    bench.run(SUM, &["--diff=none"]).refuses(2, "cannot be read");
    bench.run(SUM, &["--from=--output=hit"]).refuses(2, "no revision");
    assert!(!bench.at("hit").exists());
    bench.file("text", "hello\n");
    bench.run(SUM, &["--diff=text"]).refuses(2, "no unified diff");
}

#[test]
fn its_scripts_can_be_tried_anywhere() {
    let bench = Bench::new();
    bench.run(APPLY, &["--patch=assets/sample.diff", "--within=sample.txt", "--try"]).exits(0);
    bench.run(SUM, &["--diff=assets/sample.diff", "--try"]).exits(0);
    assert_eq!(bench.outputs()["added"], 2);
    assert_eq!(std::fs::read_dir(bench.at("")).unwrap().count(), 0);
}
