//! The audit log in several files, of which the oldest are pruned, whatever dies meanwhile.

use std::path::PathBuf;

use crate::{
    audit::{LOG, lived, verify},
    support::{Did, Sandbox},
};
use wf_audit::{AuditEntry, AuditRecord};

/// Runs the plan, with segments so short that each run starts one.
fn rotate(sandbox: &Sandbox) -> Did {
    Did::of(sandbox.command(&["run", "plan.md", "-q"]).env("WF_SEGMENT", "1000"))
}

fn full(sandbox: &Sandbox) -> Did {
    sandbox.wf(&["audit", "verify", "--full"])
}

/// The closed segments, oldest first.
fn closed(sandbox: &Sandbox) -> Vec<PathBuf> {
    let all = std::fs::read_dir(sandbox.at(".wf/audit")).unwrap().flatten().map(|entry| entry.path());
    let is_closed = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("log-");
    let mut closed: Vec<PathBuf> = all.filter(is_closed).collect();
    closed.sort();
    closed
}

fn records(sandbox: &Sandbox) -> Vec<AuditRecord> {
    let files = closed(sandbox).into_iter().chain([sandbox.at(LOG)]);
    let texts = files.map(|path| std::fs::read_to_string(path).unwrap());
    let parsed =
        |text: String| text.lines().map(|line| AuditRecord::parse(line).unwrap()).collect::<Vec<_>>();
    texts.flat_map(parsed).collect()
}

/// The kinds of points at which a process dies while it closes a segment, or prunes some.
fn points(sandbox: &Sandbox) -> Vec<String> {
    // A file in the workspace would be a change that the plan does not declare.
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("points");
    let mut command = sandbox.command(&["run", "plan.md", "-q"]);
    command.env("WF_SEGMENT", "1000").env("WF_CRASH", format!("engine:list={}", list.display()));
    Did::of(&mut command).exits(0);
    let text = std::fs::read_to_string(list).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_log_of_several_files_is_one_log() {
    let sandbox = lived(1);
    for _ in 0..3 {
        rotate(&sandbox).exits(0);
    }
    assert_eq!(closed(&sandbox).len(), 3);
    full(&sandbox).exits(0);
    let numbers: Vec<u64> = records(&sandbox).iter().map(|record| record.n).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<u64>>());
    let tail = sandbox.wf(&["audit", "tail", "-n", "1000", "--json"]).exits(0);
    assert_eq!(tail.out.lines().count(), numbers.len());
    sandbox.wf(&["audit", "report"]).exits(0).says("4 started · 4 succeeded");
    // The next report begins with the history of the one before.
    let reports: Vec<AuditRecord> =
        records(&sandbox).into_iter().filter(|record| record.entry.kind == "report").collect();
    let runs = |record: &AuditRecord| record.entry.about["history"]["plan"]["runs"].as_u64();
    assert_eq!(reports.iter().map(runs).collect::<Vec<_>>(), [Some(1), Some(2), Some(3), Some(4)]);
    // A verification from a checkpoint on reads the file in which that is.
    verify(&sandbox).exits(0).says("since the verification of");
    rotate(&sandbox).exits(0);
    verify(&sandbox).exits(0).says("since the verification of");
    std::fs::write(&closed(&sandbox)[0], "").unwrap();
    verify(&sandbox).exits(0);
    full(&sandbox).exits(1);
}

#[test]
fn every_change_of_a_closed_file_is_found() {
    let sandbox = lived(1);
    for _ in 0..3 {
        rotate(&sandbox).exits(0);
    }
    let files = closed(&sandbox);
    let texts: Vec<String> = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let check = |what: &str| {
        let found = full(&sandbox);
        assert_eq!(found.code, Some(1), "{what}: {}", found.all());
        for (file, text) in files.iter().zip(&texts) {
            std::fs::write(file, text).unwrap();
        }
        full(&sandbox).exits(0);
    };
    for file in &files {
        std::fs::remove_file(file).unwrap();
        check("removed");
    }
    std::fs::write(&files[0], &texts[1]).unwrap();
    check("another file");
    let cut = texts[1].rsplitn(3, '\n').last().unwrap();
    std::fs::write(&files[1], format!("{cut}\n")).unwrap();
    check("the last record is gone");
    std::fs::write(&files[2], texts[2].replacen("\"open\":[]", "\"open\":[7]", 1)).unwrap();
    check("changed");
    // A head that was made anew, with all that follows it.
    let mut prev = None;
    let text: String = texts[1..].concat() + &sandbox.read(LOG);
    let remade = text.lines().map(|line| {
        let record = AuditRecord::parse(line).unwrap();
        let mut entry = record.entry;
        if prev.is_none() {
            entry.about.insert("bytes".into(), 7.into());
        }
        let record = AuditEntry::bind(entry, record.n, prev.unwrap_or(record.prev));
        prev = Some(record.hash);
        record.line() + "\n"
    });
    let remade: String = remade.collect();
    let kept = sandbox.read(LOG);
    std::fs::remove_file(sandbox.at(".wf/audit/log.mark")).unwrap();
    for file in &files[2..] {
        std::fs::remove_file(file).unwrap();
    }
    std::fs::write(&files[1], "").unwrap();
    std::fs::remove_file(&files[1]).unwrap();
    sandbox.file(LOG, remade);
    full(&sandbox).exits(1).says("says something else than the records before it");
    sandbox.file(LOG, kept);
}

#[test]
fn a_process_that_dies_while_it_closes_a_file_leaves_one_log() {
    let names = points(&lived(1));
    let closes = |name: &&(usize, &String)| name.1.starts_with("segment.");
    let points: Vec<usize> =
        names.iter().enumerate().filter(|name| closes(&name)).map(|(at, _)| at + 1).collect();
    assert_eq!(points.len(), 3, "{names:?}");
    for point in points {
        let sandbox = lived(1);
        let mut command = sandbox.command(&["run", "plan.md", "-q"]);
        command.env("WF_SEGMENT", "1000").env("WF_CRASH", format!("engine:{point}"));
        assert_eq!(Did::of(&mut command).code, None, "it dies at {point}");
        full(&sandbox).exits(0);
        // A backup, or a copy, has both names of a file as two files.
        for file in closed(&sandbox) {
            let text = std::fs::read(&file).unwrap();
            std::fs::remove_file(&file).unwrap();
            std::fs::write(&file, text).unwrap();
        }
        rotate(&sandbox).exits(0);
        rotate(&sandbox).exits(0);
        let found = full(&sandbox).exits(0);
        assert!(!found.all().contains("note"), "at {point}: {}", found.all());
        assert!(!closed(&sandbox).is_empty());
    }
}

/// A workspace whose log is pruned with its runs.
fn pruned(runs: usize) -> Sandbox {
    let sandbox = lived(1);
    sandbox.file("wf.yaml", "retention: {max_runs: 1}\n");
    for _ in 0..runs {
        rotate(&sandbox).exits(0);
    }
    sandbox
}

#[test]
fn the_log_is_pruned_with_the_runs_that_it_is_about() {
    let sandbox = pruned(6);
    assert!(closed(&sandbox).len() <= 2, "{:?}", closed(&sandbox));
    let first = records(&sandbox)[0].n;
    full(&sandbox).exits(0).says(&format!("records 1 to {} of the audit log were pruned", first - 1));
    sandbox.wf(&["audit", "tail", "-n", "1000"]).exits(0).says("segments_pruned from=");
    verify(&sandbox).exits(0);
    sandbox.wf(&["backup", "state.tar"]).exits(0);
    std::fs::remove_dir_all(sandbox.at(".wf")).unwrap();
    sandbox.wf(&["restore", "state.tar"]).exits(0);
    full(&sandbox).exits(0).says("were pruned");
    // A backup from before brings the runs back that are gone, but not the records.
    let sandbox = lived(2);
    sandbox.wf(&["backup", "older.tar"]).exits(0);
    sandbox.file("wf.yaml", "retention: {max_runs: 1}\n");
    for _ in 0..4 {
        rotate(&sandbox).exits(0);
    }
    full(&sandbox).exits(0).says("were pruned");
    sandbox.wf(&["restore", "--force", "older.tar"]).exits(0);
    full(&sandbox).exits(0).says("were pruned").says("from a backup");
    rotate(&sandbox).exits(0);
    full(&sandbox).exits(0).says("from a backup");
    // What nobody has recorded as pruned is missing.
    std::fs::remove_file(&closed(&sandbox)[0]).unwrap();
    full(&sandbox).exits(1).says("of the audit log are missing: dropped");
}

#[test]
fn a_beginning_that_was_cut_off_is_not_a_pruned_one() {
    let sandbox = lived(1);
    for _ in 0..3 {
        rotate(&sandbox).exits(0);
    }
    // The record of a pruning, with all hashes right.
    let all = records(&sandbox);
    let first =
        AuditRecord::parse(std::fs::read_to_string(&closed(&sandbox)[1]).unwrap().lines().next().unwrap());
    let first = first.unwrap();
    let about = serde_json::json!({"from": 1, "to": first.n - 1, "hash": first.prev});
    let last = all.last().unwrap();
    let forged = AuditEntry::new(last.entry.at, "segments_pruned").with_summary(&about);
    let forged = forged.bind(last.n + 1, last.hash);
    sandbox.file(LOG, sandbox.read(LOG) + &forged.line() + "\n");
    full(&sandbox).exits(0);
    std::fs::remove_file(&closed(&sandbox)[0]).unwrap();
    full(&sandbox).exits(1).says("the audit log was cut off at its beginning");
    // A log that begins as if others had been before it.
    let head = AuditEntry::bind(first.entry, 1, [0; 32].into());
    for file in closed(&sandbox) {
        std::fs::remove_file(file).unwrap();
    }
    std::fs::remove_file(sandbox.at(".wf/audit/log.mark")).unwrap();
    sandbox.file(LOG, head.line() + "\n");
    full(&sandbox).exits(1);
}

#[test]
fn a_process_that_dies_while_it_prunes_leaves_one_log() {
    let names = points(&pruned(2));
    let unlinks: Vec<usize> = names
        .iter()
        .enumerate()
        .filter(|(_, name)| name.starts_with("unlink."))
        .map(|(at, _)| at + 1)
        .collect();
    let (Some(first), Some(last)) = (unlinks.first(), unlinks.last()) else { panic!("{names:?}") };
    for point in first - 2..=*last {
        let sandbox = pruned(2);
        let mut command = sandbox.command(&["run", "plan.md", "-q"]);
        command.env("WF_SEGMENT", "1000").env("WF_CRASH", format!("engine:{point}"));
        assert_eq!(Did::of(&mut command).code, None, "it dies at {point}");
        full(&sandbox).exits(0);
        rotate(&sandbox).exits(0);
        rotate(&sandbox).exits(0);
        full(&sandbox).exits(0);
        assert!(closed(&sandbox).len() <= 3, "at {point}: {:?}", closed(&sandbox));
    }
}
