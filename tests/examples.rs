//! Every example, run by the real program in a copy of the workspace.

mod approval;
mod artoo;
mod fix_test;
mod forge;
mod goal;
mod healed;
mod silas;
mod skilled;
mod sylk;

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Did, Sandbox};

/// What an example does when it is run.
struct Example {
    /// The path of its spec in `examples/`.
    spec: &'static str,
    /// The exit code.
    code: i32,
    /// How the line begins that counts the steps.
    end: &'static str,
    /// Whether the outputs of the run are right.
    outputs: fn(&Value) -> bool,
    /// Whatever else must be so afterwards.
    more: fn(&Sandbox, &Did),
}

const EXAMPLES: &[Example] = &[
    Example {
        spec: "agent/plan.md",
        code: 0,
        end: "succeeded · 1 verified, 1 reported · ",
        outputs: |outputs| outputs["summary"].as_str().is_some_and(|text| text.starts_with("with_tax")),
        more: agent,
    },
    Example {
        spec: "agent-program/plan.md",
        code: 0,
        end: "succeeded · 1 verified · ",
        outputs: |outputs| outputs["lines"].as_u64() > Some(10),
        more: agent_program,
    },
    Example {
        spec: "archive/plan.md",
        code: 0,
        end: "succeeded · 1 verified, 2 reported · ",
        outputs: |outputs| outputs["bytes"].as_u64() > Some(1000),
        more: archive,
    },
    Example {
        spec: "backup/plan.md",
        code: 0,
        end: "succeeded · 1 verified, 2 reported · ",
        outputs: |outputs| outputs["archive"] == "target/examples/backup/snapshot.tar.gz",
        more: backup,
    },
    Example {
        spec: "broken/plan.md",
        code: 1,
        end: "failed · 1 failed, 3 reported, 1 skipped · ",
        outputs: |outputs| *outputs == json!({}),
        more: broken,
    },
    Example {
        spec: "cheaters/cheaters.md",
        code: 0,
        end: "succeeded · 4",
        outputs: |outputs| *outputs == json!({}),
        more: crate::cheaters::none_is_believed,
    },
    Example {
        spec: "correction/plan.md",
        code: 0,
        end: "succeeded · 1 verified · ",
        outputs: |outputs| *outputs == json!({}),
        more: correction,
    },
    Example {
        spec: "nightly/dag.md",
        code: 0,
        end: "succeeded · 3 verified · ",
        outputs: |outputs| outputs["packages"].is_u64() && outputs["bytes"].is_u64(),
        more: |_, _| {},
    },
    Example {
        spec: "orphan/plan.md",
        code: 0,
        end: "succeeded · 1 verified, 1 reported · ",
        outputs: |outputs| *outputs == json!({}),
        more: |_, _| {},
    },
    Example {
        spec: "packages/plan.md",
        code: 0,
        end: "succeeded · 3 verified, 1 reported · ",
        outputs: |outputs| outputs["packages"].as_u64() > Some(10),
        more: packages,
    },
    Example {
        spec: "pipeline/plan.md",
        code: 0,
        end: "succeeded · 1 verified · ",
        outputs: |outputs| *outputs == json!({}),
        more: healed::by_loops,
    },
    Example {
        spec: "planned/plan.md",
        code: 0,
        end: "succeeded · 1 verified, 2 reported · ",
        outputs: |outputs| *outputs == json!({"lines": 5}),
        more: planned,
    },
    Example {
        spec: "release/plan.md",
        code: 0,
        end: "succeeded · 2 verified, 3 reported · ",
        outputs: |outputs| outputs["archive"] == "target/examples/release/tally-1.2.0.tar.gz",
        more: release,
    },
    Example {
        spec: "self-healing.md",
        code: 0,
        end: "succeeded · 3 verified · ",
        outputs: |outputs| *outputs == json!({}),
        more: healed::by_other_ways,
    },
    Example {
        spec: "service/plan.md",
        code: 0,
        end: "succeeded · 2 verified, 6 reported · ",
        outputs: |outputs| *outputs == json!({}),
        more: service,
    },
    Example {
        spec: "variants/plan.md",
        code: 0,
        end: "succeeded · 2 verified, 1 reported · ",
        outputs: |outputs| *outputs == json!({}),
        more: variants,
    },
];

/// Examples that are more than one run, each with tests of its own.
const STORIES: &[&str] = &["approval", "fix_test", "goals", "skills"];

/// A copy of the workspace with its examples and its skills.
pub fn workshop() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("wf.yaml", std::fs::read("wf.yaml").expect("there is a configuration"));
    copy(Path::new("examples"), &sandbox);
    copy(Path::new("skills"), &sandbox);
    sandbox
}

pub fn copy(from: &Path, to: &Sandbox) {
    for entry in std::fs::read_dir(from).expect("a folder can be read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            copy(&path, to);
        } else {
            let name = path.display().to_string();
            to.file(&name, std::fs::read(&path).expect("a file can be read"));
            let mode = path.metadata().expect("a file has permissions").permissions();
            std::fs::set_permissions(to.at(&name), mode).expect("permissions can be given");
        }
    }
}

/// A copy of a pack of `workflows/`.
pub fn pack(name: &str) -> Sandbox {
    let place = Sandbox::new();
    fix_test::copy(&Path::new("workflows").join(name), Path::new(""), &place);
    place
}

/// The name of an example, by its path in `examples/`.
fn called(path: &str) -> String {
    let name = path.split(['/', '.']).next().unwrap_or_default();
    name.replace('-', "_")
}

/// Runs the example of this name and looks at what it did.
fn check(name: &str) {
    let example = EXAMPLES.iter().find(|example| called(example.spec) == name);
    let example = example.expect("the example is in the table");
    let sandbox = workshop();
    let did = sandbox.wf(&["run", &format!("examples/{}", example.spec)]);
    assert_eq!(did.code, Some(example.code), "{}", did.all());
    let ends = did.all().lines().any(|line| line.starts_with(example.end));
    assert!(ends, "no line begins with {:?}:\n{}", example.end, did.all());
    let run = last(&sandbox);
    assert!((example.outputs)(&run["run"]["outputs"]), "{run:#}");
    (example.more)(&sandbox, &did);
}

/// Runs `wf` where the steps of a plan find it, too.
pub fn with_wf(place: &Sandbox, args: &[&str]) -> Did {
    let mut command = place.command(args);
    let program = Path::new(env!("CARGO_BIN_EXE_wf"));
    let folder = program.parent().expect("it is in a folder").display().to_string();
    let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
    let path = format!("{folder}:{}", path.unwrap_or_default().to_string_lossy());
    Did::of(command.env("PATH", path))
}

/// The latest run, as `wf show --json` has it.
pub fn last(sandbox: &Sandbox) -> Value {
    let shown = sandbox.wf(&["show", "--last", "--json"]).exits(0).out;
    serde_json::from_str(&shown).expect("a run is shown as JSON")
}

/// One test for each example, so that they run side by side.
mod each {
    macro_rules! tests {
        ($($name:ident)*) => {
            $(
                #[test]
                fn $name() {
                    super::check(stringify!($name));
                }
            )*

            pub const ALL: &[&str] = &[$(stringify!($name)),*];
        };
    }

    tests!(agent agent_program archive backup broken cheaters correction nightly orphan packages pipeline planned release self_healing service variants);
}

#[test]
fn every_example_is_tested() {
    for entry in std::fs::read_dir("examples").expect("there are examples").flatten() {
        let name = called(&entry.file_name().to_string_lossy());
        let in_table = EXAMPLES.iter().any(|e| called(e.spec) == name);
        let in_table = in_table && each::ALL.contains(&name.as_str());
        assert!(in_table || STORIES.contains(&name.as_str()), "examples/{name} has no test");
    }
}

#[test]
fn every_example_is_without_mistakes() {
    workshop().wf(&["check", "examples"]).exits(0);
}

fn planned(sandbox: &Sandbox, _: &Did) {
    assert_eq!(sandbox.read("target/examples/planned/report.txt"), "a.txt 3\nb.txt 2\n");
    sandbox.wf(&["show", "--last"]).exits(0).says("check counts_are_right passed").says("count");
}

fn agent(sandbox: &Sandbox, _: &Did) {
    let shown = last(sandbox);
    let calls: Vec<usize> = shown["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["calls"].as_array().unwrap().len())
        .collect();
    assert_eq!(calls, [3, 3], "the first claim was not believed");
    assert_eq!(shown["sequential_calls"], 6);
    assert!(
        shown["ledger"]["tokens"].as_u64() > Some(0) && shown["ledger"]["cost_micro_usd"].as_u64() > Some(0)
    );
}

fn agent_program(sandbox: &Sandbox, _: &Did) {
    let shown = last(sandbox);
    assert_eq!(shown["agents"][0]["calls"].as_array().map(Vec::len), Some(2), "both calls are recorded");
    let log = sandbox.wf(&["logs", "--last", "measure"]).exits(0).out;
    assert!(log.contains("[run {") && log.contains("[exit code 0]"), "its tool call is recorded: {log}");
}

fn archive(sandbox: &Sandbox, _: &Did) {
    let index: Value =
        serde_json::from_str(&sandbox.read("target/examples/archive/index.json")).expect("the index is JSON");
    let sizes = index.as_object().expect("the index is an object").values();
    let total: u64 = sizes.filter_map(Value::as_u64).sum();
    assert_eq!(last(sandbox)["run"]["outputs"]["bytes"], json!(total));
}

fn backup(sandbox: &Sandbox, did: &Did) {
    assert!(sandbox.at("target/examples/backup/snapshot.tar.gz").is_file());
    assert!(!sandbox.at("target/examples/backup/drill").exists(), "it was tidied");
    assert!(did.all().contains("drill/restore · check `every_file_is_the_same`"), "{}", did.all());
}

fn broken(sandbox: &Sandbox, did: &Did) {
    for line in [
        "expected the output `1339.40`",
        "found    `90.40`",
        "convert · attempt 2",
        "skipped            publish · not started: `convert` failed",
    ] {
        let told = did.all().lines().any(|own| own.contains(line));
        assert!(told, "does not say {line:?}:\n{}", did.all());
    }
    let cleaned = |line: &str| line.contains("reported") && line.ends_with("cleanup");
    assert!(did.all().lines().any(cleaned), "{}", did.all());
    assert!(sandbox.at("target/examples/broken/notice.txt").is_file());
    assert!(!sandbox.at("target/examples/broken/prices.json").exists());
    sandbox.wf(&["why", "--last", "convert"]).exits(0).says("all 1 retries were used");
    sandbox.wf(&["logs", "--last", "convert"]).exits(0).says("converted 3 prices");
    let plan = sandbox.read("examples/broken/plan.md");
    let right = plan
        .replace(r#"search("[0-9.]+""#, r#"search("[0-9.,]+""#)
        .replace("float(number)", r#"float(number.replace(",", ""))"#);
    sandbox.file("examples/broken/plan.md", right);
    let did = sandbox.wf(&["retry", "--last"]).exits(0);
    assert!(did.all().contains("fetch · reused from run"), "{}", did.all());
    assert!(sandbox.at("target/examples/broken/published.json").is_file());
}

fn correction(sandbox: &Sandbox, did: &Did) {
    let told = did.all();
    for line in ["· failing checks 5/5 · check `doctype`", "page · attempt 4 in"] {
        assert!(told.contains(line), "does not say {line:?}:\n{told}");
    }
    sandbox.wf(&["show", "--last"]).exits(0).says("page · attempt 4 · failing checks 5/5 → 3/5 → 1/5 → 0/5");
    sandbox.wf(&["logs", "--last", "page"]).exits(0).says("make `dated` pass: expected exit code 0");
    let run = last(sandbox);
    assert_eq!(run["gaps"][0]["gaps"][1], json!({"attempt": 2, "failed": 3, "of": 5}));
    let kept = format!(".wf/runs/{}", run["run"]["id"].as_str().unwrap_or_default());
    assert!(!sandbox.at(&kept).join("page.1.correction.json").exists());
    let text = std::fs::read_to_string(sandbox.at(&kept).join("page.2.correction.json"));
    let text = text.expect("the correction is beside the log");
    let told: Value = serde_json::from_str(&text).expect("a correction is JSON");
    assert_eq!(told["failed"].as_array().map(Vec::len), Some(5), "{told:#}");
}

fn packages(sandbox: &Sandbox, _: &Did) {
    let report = sandbox.read("target/examples/packages/report.md");
    let rows = report.lines().filter(|line| line.starts_with("| ")).count();
    assert_eq!(rows, 11, "a head and ten packages:\n{report}");
    let kept = ["show", "--last", "--artifact", "target/examples/packages/report.md"];
    assert_eq!(sandbox.wf(&kept).exits(0).out, report);
    sandbox.wf(&["run", "examples/packages/plan.md", "-p", "top=1"]).exits(0);
    sandbox.wf(&["run", "examples/packages/plan.md", "-p", "top=0"]).exits(2).says("parameter `top`");
}

fn release(sandbox: &Sandbox, did: &Did) {
    assert!(!did.all().contains("cached"), "{}", did.all());
    let first = sandbox.read("target/examples/release/tally.sha256");
    let again = sandbox.wf(&["run", "examples/release/plan.md"]).exits(0);
    assert!(again.all().lines().any(|line| line.contains("cached") && line.ends_with("build")));
    assert_eq!(sandbox.read("target/examples/release/tally.sha256"), first);
    let other = ["run", "examples/release/plan.md", "-p", "version=2.0.0"];
    sandbox.wf(&other).exits(0);
    sandbox.wf(&["why", "--last", "build"]).exits(0).says("param version");
}

fn service(sandbox: &Sandbox, _: &Did) {
    let log = sandbox.read("target/examples/service/log");
    for line in ["\"POST /orders HTTP/1.1\" 401", "\"POST /orders HTTP/1.1\" 201"] {
        assert!(log.contains(line), "the server did not answer {line}:\n{log}");
    }
    assert!(log.contains("\"GET /orders/9999 HTTP/1.1\" 404"), "{log}");
}

fn variants(sandbox: &Sandbox, _: &Did) {
    let table = sandbox.read("target/examples/variants/table.md");
    assert_eq!(table.matches("| 148933 |").count(), 4, "{table}");
    let again = sandbox.wf(&["run", "examples/variants/plan.md"]).exits(0);
    assert_eq!(again.all().matches("cached").count(), 4, "{}", again.all());
    let reason = sandbox.wf(&["why", "--last", "measure[0]"]).exits(0);
    reason.says("its inputs are unchanged");
    let source = sandbox.read("examples/variants/sieve.c");
    sandbox.file("examples/variants/sieve.c", format!("{source}\n"));
    sandbox.wf(&["run", "examples/variants/plan.md"]).exits(0);
    let reason = sandbox.wf(&["why", "--last", "measure[0]"]).exits(0);
    reason.says("input examples/variants/sieve.c changed");
}
