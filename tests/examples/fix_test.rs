//! The example that fixes a failing test: in a repository of its own, as its README says, and in CI from its recording.

use std::path::Path;

use serde_json::json;

use crate::support::{Did, Sandbox};

/// A copy of the example, in a git repository.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    copy(Path::new("examples/fix-test"), Path::new(""), &sandbox);
    for args in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a failing test"],
    ] {
        Did::of(sandbox.program("git").args(args)).exits(0);
    }
    sandbox
}

pub(super) fn copy(from: &Path, to: &Path, sandbox: &Sandbox) {
    for entry in std::fs::read_dir(from).expect("a folder can be read").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to, sandbox);
        } else {
            let name = to.display().to_string();
            sandbox.file(&name, std::fs::read(&path).expect("a file can be read"));
            let mode = path.metadata().expect("a file has permissions").permissions();
            std::fs::set_permissions(sandbox.at(&name), mode).expect("permissions can be given");
        }
    }
}

#[test]
fn the_test_is_fixed_once_a_person_has_approved() {
    let place = repository();
    let before = place.read("prices.py");
    place.wf(&["run", "plan.md"]).exits(5).says("merge the changes of the agent to 1 file?");
    assert_eq!(place.read("prices.py"), before);
    let run = crate::decisions::last(&place);
    let shown = "+    return sum(count * cents for count, cents in items)";
    place.wf(&["approve", &run, "--yes"]).exits(0).says(shown);
    place.wf(&["resume", &run]).exits(0).says("1 verified");
    Did::of(place.program("python3").args(["-m", "unittest", "-q"])).exits(0);
    let shown = super::last(&place);
    assert_eq!(shown["agents"].as_array().map(Vec::len), Some(2), "the first claim was not believed");
    assert_eq!(
        shown["run"]["outputs"]["summary"],
        json!("with_tax rounded down instead of to the nearest cent")
    );
}

#[test]
fn ci_repeats_the_recording_without_a_model() {
    let place = repository();
    // A model that would be asked has no reply.
    place.file("replies.yaml", "[]\n");
    ci(&place).exits(0).says("merge the changes of the agent to 1 file?");
    place.file("plan.md", place.read("plan.md").replace("unittest -q 2", "unittest -q test_nothing 2"));
    ci(&place).exits(1).says("expected exit code 5");
}

/// Runs the script for CI, which finds the program in the `PATH`.
fn ci(place: &Sandbox) -> Did {
    let program = Path::new(env!("CARGO_BIN_EXE_wf"));
    let folder = program.parent().expect("it is in a folder").display().to_string();
    let mut script = place.program("./ci.sh");
    let path = script.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
    let path = format!("{folder}:{}", path.unwrap_or_default().to_string_lossy());
    Did::of(script.env("PATH", path))
}
