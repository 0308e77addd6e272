use std::path::Path;

use super::{clean, named, sql, texts};
use crate::support::{Office, Sandbox};

const PLAN: &str = "---\nkind: plan\nid: release\nsteps:\n  - {id: build, run: sleep 0.2}\n---\n";

/// A workspace in which ada approved so many runs of a plan.
fn approved(executions: &str) -> Office {
    let office = Office::new(1, &["ada", "carl"], &["ada"]);
    office.place.file("plan.md", PLAN);
    let approve = ["approve", "plan.md", "--executions", executions, "--yes"];
    office.by("ada", &approve).exits(0);
    office
}

fn runs(office: &Office) {
    office.by("carl", &["run", "plan.md", "-q"]).exits(0);
}

#[track_caller]
fn refused(office: &Office) {
    let did = office.by("carl", &["run", "plan.md", "-q"]).exits(4);
    did.says("the approval is used up");
}

#[test]
fn no_change_of_the_table_of_uses_gives_a_use_back() {
    for attack in [
        "DELETE FROM approval_uses",
        "UPDATE approval_uses SET nonce = 'f' || nonce",
        "UPDATE approval_uses SET execution = execution + 7",
        "UPDATE approval_uses SET execution = -execution",
        "DROP TABLE approval_uses; CREATE TABLE approval_uses (nonce TEXT NOT NULL, execution INTEGER NOT NULL,
             token TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (nonce, execution)) STRICT, WITHOUT ROWID",
    ] {
        let office = approved("2");
        runs(&office);
        runs(&office);
        refused(&office);
        sql(&office.place, attack);
        // The table tells of no second use any more.
        let left = "SELECT CAST(count(*) AS TEXT) FROM approval_uses JOIN
            (SELECT DISTINCT body ->> '$.nonce' AS own FROM events) ON nonce = own
            WHERE execution = 2";
        assert_eq!(texts(&office.place, left), ["0"], "{attack}");
        refused(&office);
        let faults = office.place.wf(&["audit", "verify"]).exits(1);
        faults.says("approval_uses");
    }
}

#[test]
fn no_row_of_the_table_of_uses_takes_a_use_away() {
    let office = approved("2");
    runs(&office);
    sql(
        &office.place,
        "INSERT INTO approval_uses SELECT nonce, execution + 1, token, run FROM approval_uses",
    );
    office.place.wf(&["audit", "verify"]).exits(1).says("row not derivable from the log");
    runs(&office);
    refused(&office);
}

#[test]
fn a_use_counts_when_its_run_was_forgotten() {
    let office = Office::new(1, &["ada", "carl"], &["ada"]);
    office.place.file("wf.yaml", "retention: {max_runs: 1}\n");
    office.place.file("plan.md", PLAN);
    office.place.file("other.md", PLAN.replace("release", "other"));
    for plan in ["plan.md", "other.md"] {
        office.by("ada", &["approve", plan, "--yes"]).exits(0);
    }
    runs(&office);
    office.by("carl", &["run", "other.md", "-q"]).exits(0);
    let kept = texts(&office.place, "SELECT plan FROM runs");
    assert_eq!(kept, ["other"], "the first run was forgotten");
    refused(&office);
    sql(&office.place, "DELETE FROM approval_uses");
    refused(&office);
}

#[test]
fn three_uses_are_three_runs_whoever_is_faster() {
    let office = approved("3");
    let start = || office.command("carl", &["run", "plan.md", "-q"]).spawn().unwrap();
    let started: Vec<_> = (0..8).map(|_| start()).collect();
    let codes = started.into_iter().map(|run| run.wait_with_output().unwrap());
    let codes: Vec<_> = codes.map(|did| did.status.code()).collect();
    let count = |code| codes.iter().filter(|found| **found == Some(code)).count();
    assert_eq!((count(0), count(4)), (3, 5), "{codes:?}");
    assert_eq!(texts(&office.place, "SELECT id FROM runs").len(), 3);
    clean(&office.place);
}

#[test]
fn a_backup_does_not_bring_uses_back() {
    let office = approved("2");
    runs(&office);
    let outside = tempfile::tempdir().unwrap();
    let tar = outside.path().join("state.tar").display().to_string();
    office.place.wf(&["backup", &tar]).exits(0);
    runs(&office);
    refused(&office);
    office.place.wf(&["restore", "--force", &tar]).exits(0);
    assert_eq!(texts(&office.place, "SELECT id FROM runs").len(), 1);
    refused(&office);
    clean(&office.place);
    // Neither does the same backup once more, nor one of what was restored.
    office.place.wf(&["restore", "--force", &tar]).exits(0);
    refused(&office);
    let later = outside.path().join("later.tar").display().to_string();
    office.place.wf(&["backup", &later]).exits(0);
    office.place.wf(&["restore", "--force", &later]).exits(0);
    refused(&office);
    clean(&office.place);
}

/// A workspace with a goal of which so many repairs were approved.
fn goal(executions: &str) -> Sandbox {
    let place = Sandbox::new();
    place.file(
        "goals/lamp.md",
        "---\nkind: goal\nid: lamp\nschedule: \"0 0 * * *\"\non_failure: spawn_plan\nverify:\n  \
         - {name: is_on, run: test -e on}\nrepair:\n  steps:\n    \
         - {id: switch, run: \"echo on >> on\", writes: [on]}\n---\n",
    );
    place.wf(&["key", "init", "ada"]).exits(0);
    let approve = ["approve", "goals/lamp.md", "--executions", executions, "--yes"];
    place.wf(&approve).exits(0);
    place
}

/// The same, whose approval was used, and withdrawn after a backup was made.
fn withdrawn(outside: &Path) -> Sandbox {
    let place = goal("9");
    place.wf(&["goal", "run", "lamp"]).exits(0);
    std::fs::remove_file(place.at("on")).unwrap();
    let tar = outside.join("state.tar").display().to_string();
    place.wf(&["backup", &tar]).exits(0);
    place.wf(&["goal", "tighten", "lamp"]).exits(0);
    place
}

/// Nothing is repaired: the approval was withdrawn.
#[track_caller]
fn repairs_nothing(place: &Sandbox, attack: &str) {
    let did = place.wf(&["goal", "run", "lamp"]);
    assert_eq!(did.code, Some(5), "{attack}\n{}", did.all());
    assert!(did.all().contains("the approval was revoked"), "{attack}\n{}", did.all());
    assert!(!place.at("on").exists(), "{attack}\n{}", did.all());
}

#[test]
fn no_change_of_the_table_of_withdrawals_gives_an_approval_back() {
    for attack in [
        "DELETE FROM revoked_approvals",
        "UPDATE revoked_approvals SET nonce = 'f' || nonce, at = 0",
        "UPDATE revoked_approvals SET goal = 'door'",
        "INSERT INTO revoked_approvals SELECT 'f' || nonce, goal, who, at FROM revoked_approvals",
    ] {
        let outside = tempfile::tempdir().unwrap();
        let place = withdrawn(outside.path());
        sql(&place, attack);
        named(&place, attack, &["revoked_approvals"]);
        repairs_nothing(&place, attack);
    }
}

#[test]
fn cycles_that_begin_at_once_repair_as_often_as_was_approved() {
    let place = goal("1");
    let mut cycles: Vec<_> = (0..4).map(|_| place.start(&["goal", "run", "lamp"])).collect();
    for cycle in &mut cycles {
        cycle.wait().unwrap();
    }
    assert_eq!(place.read("on"), "on\n");
    // They all looked, and the one approval is spent.
    std::fs::remove_file(place.at("on")).unwrap();
    let did = place.wf(&["goal", "run", "lamp"]).exits(5);
    did.says("the approval is used up");
    assert!(!place.at("on").exists());
}

#[test]
fn a_backup_does_not_bring_a_withdrawn_approval_back() {
    let outside = tempfile::tempdir().unwrap();
    let place = withdrawn(outside.path());
    let tar = outside.path().join("state.tar").display().to_string();
    for _ in 0..2 {
        place.wf(&["restore", "--force", &tar]).exits(0);
        repairs_nothing(&place, "restore");
        clean(&place);
    }
}

#[test]
fn a_backup_that_was_tampered_with_replaces_nothing() {
    let office = approved("2");
    runs(&office);
    let place = &office.place;
    place.wf(&["backup", "state.tar"]).exits(0);
    let whole = std::fs::read(place.at("state.tar")).unwrap();
    // The database in the archive is one file, as it would be written by somebody else.
    for attack in [
        "UPDATE steps SET standing = 'verified'",
        "DELETE FROM approval_uses",
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN SELECT 1; END",
        "UPDATE source_texts SET text = text || ' '",
    ] {
        repack(place, &whole, attack);
        let before = texts(place, "SELECT hex(hash) FROM events ORDER BY seq");
        let did = place.wf(&["restore", "--force", "state.tar"]).exits(6);
        assert!(did.all().contains("state.tar") && did.all().contains("hint: "), "{attack}: {}", did.all());
        assert_eq!(texts(place, "SELECT hex(hash) FROM events ORDER BY seq"), before);
        clean(place);
    }
    std::fs::write(place.at("state.tar"), &whole).unwrap();
    place.wf(&["restore", "--force", "state.tar"]).exits(0);
}

/// Unpacks a backup, changes its database, and packs it again in the same order.
fn repack(place: &crate::support::Sandbox, whole: &[u8], attack: &str) {
    let dir = tempfile::tempdir().unwrap();
    tar::Archive::new(whole).unpack(dir.path()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "tests look at the state from outside")]
    let database = rusqlite::Connection::open(dir.path().join("state.db")).unwrap();
    database.execute_batch(attack).unwrap();
    database.close().unwrap();
    let mut made = tar::Builder::new(Vec::new());
    for entry in tar::Archive::new(whole).entries().unwrap() {
        let name = entry.unwrap().path().unwrap().into_owned();
        made.append_path_with_name(dir.path().join(&name), &name).unwrap();
    }
    std::fs::write(place.at("state.tar"), made.into_inner().unwrap()).unwrap();
}
