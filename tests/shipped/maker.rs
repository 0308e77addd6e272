//! The skill `skill-maker`.

use serde_json::json;

use super::bench::Bench;

const MAKE: &str = "skill-maker/scripts/make.py";
const CHECK: &str = "skill-maker/scripts/check.sh";

const ABOUT: &str =
    "--description=Counts \"lines\": of files # \\n {{ x }}. Use when they are to be counted.";

#[test]
fn what_is_made_is_valid_works_and_is_not_written_over() {
    let bench = Bench::new();
    let scripts = ["--script=count.py", "--script=count_again.sh"];
    let args = [&["--name=line-count", ABOUT][..], &scripts].concat();
    bench.run(MAKE, &[&args[..], &["--dry-run"]].concat()).exits(0);
    assert!(!bench.at("skills").exists(), "nothing was to be written");
    bench.run(MAKE, &args).exits(0);
    let made = json!(["SKILL.md", "scripts/count.py", "scripts/count_again.sh"]);
    assert_eq!(bench.outputs(), json!({"path": "skills/line-count", "files": made}));
    let text = bench.read("skills/line-count/SKILL.md");
    assert_eq!(super::loads(&text, "line-count"), Vec::<String>::new());
    let wrong = wf_skill::reference(&text, "line-count");
    assert!(wrong.is_empty(), "{wrong:#?}");
    let skill = wf_skill::load(&text, "line-count").expect("it loads");
    assert_eq!(format!("--description={}", skill.description), ABOUT);
    bench.run(CHECK, &["--folder=skills/line-count"]).exits(0);
    assert_eq!(bench.outputs(), json!({"skills": 1}));
    bench.file("three", "1\n2\n3\n");
    for script in ["count.py", "count_again.sh"] {
        let script = bench.at("skills/line-count/scripts").join(script);
        let script = script.to_str().unwrap();
        bench.run(script, &["--path=three"]).exits(0);
        assert_eq!(bench.outputs(), json!({"lines": 3}), "{script}");
        bench.run(script, &["--path=.", "--dry-run"]).exits(0);
        bench.run(script, &["--path=none"]).refuses(2, "give --path");
    }
    bench.run(MAKE, &args).refuses(2, "there already");
    std::fs::create_dir(bench.at("skills/empty")).unwrap();
    bench.run(MAKE, &["--name=empty", ABOUT, "--script=a.sh"]).refuses(2, "there already");
}

#[test]
fn a_skill_of_high_freedom_needs_no_script() {
    let bench = Bench::new();
    bench.run(MAKE, &["--name=look", ABOUT]).refuses(2, "medium freedom has scripts");
    bench.run(MAKE, &["--name=look", ABOUT, "--freedom=high"]).exits(0);
    bench.run(CHECK, &["--folder=skills/look"]).exits(0);
}

#[test]
fn what_makes_no_skill_is_refused() {
    let long = format!("--name={}", "a".repeat(65));
    for (args, says) in [
        (&["--name=Line", ABOUT][..], "no name"),
        (&["--name=a--b", ABOUT], "no name"),
        (&["--name=../a", ABOUT], "no name"),
        (&[&long, ABOUT], "no name"),
        (&["--name=a", "--description=short when"], "20 to 1024"),
        (&["--name=a", "--description=Counts the lines of any file."], "Use when"),
        (&["--name=a", "--description=Counts the lines.\nUse when asked."], "line end"),
        (&["--name=a", ABOUT, "--script=../a.py"], "no name of a script"),
        (&["--name=a", ABOUT, "--script=a.py", "--script=a.sh"], "the same name"),
    ] {
        let bench = Bench::new();
        bench.run(MAKE, args).refuses(2, says);
        assert!(!bench.at("skills").exists());
    }
}

#[test]
fn what_is_no_skill_is_told() {
    let bench = Bench::new();
    bench.file("odd/SKILL.md", "---\nname: odd\n---\nOdd\n");
    bench.run(CHECK, &["--folder=odd"]).refuses(1, "odd is not as it must be");
    bench.run(CHECK, &["--folder=none"]).refuses(2, "no such folder");
    bench.run(CHECK, &["--folder=."]).refuses(2, "no SKILL.md");
    bench.run(CHECK, &[]).refuses(2, "no skill is named");
    let old = bench.run_with(CHECK, &["--folder=odd"], "false");
    old.refuses(2, "cannot check skills");
    let none = bench.run_with(CHECK, &["--folder=odd"], "/nowhere/wf");
    none.refuses(2, "is not there");
}
