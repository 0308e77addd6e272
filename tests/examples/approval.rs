//! `examples/approval`, from the first approval of its plan to the page that is public: ada agrees
//! to what bob runs.

use std::path::Path;

use crate::support::Office;

/// The example as a workspace of its own, with the keys of these two instead of those that
/// everybody knows.
fn office() -> Office {
    let people = ["ada", "bob"];
    let office = Office::new(1, &people, &people);
    copy(Path::new("examples/approval"), "", &office);
    office
}

fn copy(from: &Path, below: &str, to: &Office) {
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let name = format!("{below}{}", entry.file_name().display());
        if entry.path().is_dir() {
            copy(&entry.path(), &format!("{name}/"), to);
        } else if name != "approvers.yaml" {
            to.place.file(&name, std::fs::read(entry.path()).unwrap());
        }
    }
}

/// Lets ada agree to whatever waits, and bob go on; the exit code.
fn agreed(office: &Office) -> Option<i32> {
    let run = waiting(office);
    office.by("ada", &["approve", &run, "--yes"]).exits(0);
    office.by("bob", &["resume", &run]).code
}

/// The run that began last.
fn waiting(office: &Office) -> String {
    let runs = office.by("bob", &["runs"]).exits(0).out;
    let latest = runs.lines().nth(1).unwrap_or_default();
    assert!(latest.contains("waiting"), "{runs}");
    latest.split(' ').next().unwrap_or_default().to_owned()
}

fn allowed() -> Office {
    let office = office();
    let often = ["approve", "plan.md", "--executions", "9", "--yes"];
    office.by("ada", &often).exits(0);
    office
}

const RUN: [&str; 2] = ["run", "plan.md"];

#[test]
fn its_plan_and_its_gates_are_without_mistakes() {
    let told = office().by("bob", &["check", "plan.md"]).exits(0);
    told.says("no problems found");
}

#[test]
fn nothing_is_public_before_two_have_agreed() {
    let office = office();
    office.by("bob", &RUN).exits(4).says("plan.approval.json not found");
    office.by("bob", &["approve", "plan.md", "--yes"]).exits(0);
    office.by("bob", &RUN).exits(4).says("another approver must sign");
    assert!(!office.place.at("out").exists(), "nothing has begun");
    std::fs::remove_file(office.place.at("plan.approval.json")).unwrap();
    office.by("ada", &["approve", "plan.md", "--yes"]).exits(0);
    office.by("bob", &RUN).exits(5).says("Publish 2 notices?");
    let run = waiting(&office);
    office.by("bob", &["approve", &run, "--yes"]).exits(4).says("the run was started by bob's key");
    assert!(!office.place.at("public").exists());
    assert_eq!(agreed(&office), Some(0));
    let page = office.place.read("public/page.txt");
    assert_eq!(page, office.place.read("out/page.txt"));
    office.by("bob", &["show", &run]).says("approved by ada");
    office.by("bob", &["audit", "verify"]).exits(0);
    office.by("bob", &RUN).exits(4).says("used up");
}

#[test]
fn a_yes_is_to_what_was_checked_and_a_no_is_the_end() {
    let office = allowed();
    office.by("bob", &RUN).exits(5);
    let run = waiting(&office);
    office.by("ada", &["approve", &run, "--yes"]).exits(0);
    office.place.file("out/page.txt", "another page\n");
    let told = office.by("bob", &["resume", &run]).exits(5);
    told.says("out/page.txt changed after it was checked");
    let no = ["deny", &run, "--reason", "who wrote this?", "--yes"];
    office.by("ada", &no).exits(0);
    let told = office.by("bob", &["resume", &run]).exits(1);
    told.says("denied by ada: who wrote this?");
    assert!(!office.place.at("public").exists());
}

#[test]
fn how_much_is_changed_says_who_must_agree() {
    let office = allowed();
    let notes = |count: usize| "Something is new.\n".repeat(count);
    office.place.file("notes/03-more.txt", notes(60));
    let told = office.by("bob", &RUN).exits(5);
    told.says("gate `small-change` asks for approval");
    assert_eq!(agreed(&office), Some(5), "the decision itself comes then");
    assert_eq!(agreed(&office), Some(0));
    office.place.file("notes/03-more.txt", notes(61));
    office.by("bob", &RUN).exits(5).says("Publish 63 notices?");
    office.place.file("notes/03-more.txt", notes(300));
    let told = office.by("bob", &RUN).exits(1);
    told.says("Nobody would read so many lines");
}

#[test]
fn no_secret_is_passed_on() {
    let office = allowed();
    let note = "The catalogue is at postgres://robot:tr0ub4dor-7@db.internal/app\n";
    office.place.file("notes/00-first.txt", note);
    let told = office.by("bob", &RUN).exits(1);
    let told = told.says("gate `no-secrets`");
    assert!(!told.all().contains("tr0ub4dor-7"), "{}", told.all());
}
