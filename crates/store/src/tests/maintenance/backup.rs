use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use crate::{
    BackupManifest, RunFilter, StoreError, StoreReader, backup, restore,
    tests::fixture::{NOW, first, new_run, next, open, put, run_id, started, story, stranger},
    verify_chain,
};
use wf_base::digest::Sha256Digest;

/// A state with an ended run, a live one, a stored file and a log.
fn filled(dir: &Path) {
    let store = open(dir);
    let ended = first(&run_id(1), new_run("report"), story());
    store.append(ended).wait().unwrap();
    let fence = store.own_run(&run_id(2), "").wait().unwrap();
    let mut batch = first(&run_id(2), new_run("report"), vec![started("fetch")]);
    batch.token = fence.token();
    store.append(batch).wait().unwrap();
    put(&store, b"a,b");
    let folder = store.folder().create_run(&run_id(2)).unwrap();
    fs::write(folder.join("fetch.1.log"), "a line\n").unwrap();
}

#[test]
fn a_backup_brings_everything_back() {
    let dir = tempfile::tempdir().unwrap();
    let (state, file) = (dir.path().join(".wf"), dir.path().join("b.tar"));
    filled(&state);
    let accepted = |goal: &str| state.join(format!("goals/{goal}.accepted.json"));
    fs::create_dir(state.join("goals")).unwrap();
    fs::write(accepted("mirror"), "before").unwrap();
    fs::write(state.join("goals/leader.lock"), "").unwrap();
    // Another process works on the second run, and writes more meanwhile.
    let store = open(&state);
    let fence = store.own_run(&run_id(2), "").wait().unwrap();
    let made = backup(&state, &file, false, NOW).unwrap();
    assert_eq!((made.events, made.files), (24, 3));
    fs::write(accepted("mirror"), "since").unwrap();
    let mut batch = next(&run_id(2), vec![started("send")]);
    batch.token = fence.token();
    store.append(batch).wait().unwrap();

    let refused = put_back(&file, &state, true).unwrap_err();
    assert!(matches!(refused, StoreError::Owned { .. }), "{refused}");
    drop((fence, store));
    let refused = put_back(&file, &state, false).unwrap_err();
    assert_eq!(refused, StoreError::Exists(state.clone()));
    // What was accepted since stays so, and what a lost state accepted comes back.
    for text in ["since", "before"] {
        assert_eq!(put_back(&file, &state, true).unwrap(), made);
        assert_eq!(fs::read_to_string(accepted("mirror")).unwrap(), text);
        assert!(!state.join("goals/leader.lock").exists());
        assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
        let reader = StoreReader::open(&state).unwrap();
        assert_eq!(verify_chain(&reader).unwrap(), Ok(24));
        assert_eq!(reader.events().of_run(&run_id(2), 0).unwrap().len(), 1);
        assert!(reader.leases().held().unwrap().is_empty());
        fs::remove_dir_all(&state).unwrap();
    }
    put_back(&file, &state, false).unwrap();
    let store = open(&state);
    let kept = fs::read(store.blobs().path(&Sha256Digest::of_bytes(b"a,b"))).unwrap();
    assert_eq!(kept, b"a,b");
    let log = store.folder().run(&run_id(2)).join("fetch.1.log");
    assert_eq!(fs::read_to_string(log).unwrap(), "a line\n");
    let mode: String = stranger(&state).pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    assert!(store.own_run(&run_id(2), "").wait().is_ok());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left over");
}

#[test]
fn what_is_no_whole_backup_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (state, file) = (dir.path().join(".wf"), dir.path().join("b.tar"));
    filled(&state);
    backup(&state, &file, false, NOW).unwrap();
    assert_eq!(backup(&state, &file, false, NOW), Err(StoreError::Exists(file.clone())));
    let whole = fs::read(&file).unwrap();
    let other = dir.path().join("other.tar");
    let mut bad: Vec<Vec<u8>> = [0, 100, 512, 1024, whole.len() / 2, whole.len() - 2048]
        .map(|length| whole[..length].to_vec())
        .to_vec();
    for at in (0..whole.len() - 1024).step_by(4999) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x15;
        bad.push(flipped);
    }
    for bytes in bad {
        fs::write(&other, bytes).unwrap();
        // The change may be in a part that is never read: the padding after a file, a time.
        if put_back(&other, &state, true).is_ok() {
            let reader = StoreReader::open(&state).unwrap();
            assert_eq!(verify_chain(&reader).unwrap(), Ok(24));
        }
        let reader = StoreReader::open(&state).unwrap();
        assert_eq!(reader.runs().list(9, &RunFilter::default()).unwrap().len(), 2);
    }
    assert!(put_back(Path::new("/nowhere"), &state, true).is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "nothing is left over");
}

#[test]
fn an_archive_cannot_write_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join(".wf");
    for (name, kind) in [
        ("../evil", tar::EntryType::Regular),
        ("/tmp/evil", tar::EntryType::Regular),
        ("runs/../../evil", tar::EntryType::Regular),
        ("runs", tar::EntryType::Regular),
        ("other/file", tar::EntryType::Regular),
        ("runs/link", tar::EntryType::Symlink),
        ("runs/link", tar::EntryType::Link),
        ("runs/pipe", tar::EntryType::Fifo),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        // The library itself does not write such names.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        let mut archive = tar::Builder::new(Vec::new());
        archive.append(&header, &b""[..]).unwrap();
        let file = dir.path().join("evil.tar");
        fs::write(&file, archive.into_inner().unwrap()).unwrap();
        let refused = put_back(&file, &state, false).unwrap_err();
        assert!(matches!(refused, StoreError::NotABackup { .. }), "{name}: {refused}");
        assert!(!state.exists() && fs::read_dir(dir.path()).unwrap().count() == 1);
    }
}

#[test]
fn a_damaged_state_is_not_backed_up() {
    let dir = tempfile::tempdir().unwrap();
    let (state, file) = (dir.path().join(".wf"), dir.path().join("b.tar"));
    assert!(matches!(backup(&state, &file, false, NOW), Err(StoreError::NoState(_))));
    filled(&state);
    let cut = "UPDATE events SET body = '{}' WHERE seq = 2";
    stranger(&state).execute_batch(cut).unwrap();
    let refused = backup(&state, &file, false, NOW).unwrap_err();
    assert!(refused.to_string().contains("event 2 was modified"), "{refused}");
    assert!(!file.exists());
}

#[test]
fn who_comes_while_a_state_is_replaced_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (state, file) = (dir.path().join(".wf"), dir.path().join("b.tar"));
    filled(&state);
    backup(&state, &file, false, NOW).unwrap();
    let late = open(&state);
    put_back(&file, &state, true).unwrap();
    let refused = late.own_run(&run_id(3), "").wait().unwrap_err();
    assert!(refused.to_string().contains("state.db"), "{refused}");
    drop(late);
    assert!(StoreReader::open(&state).unwrap().leases().of_run(&run_id(3)).unwrap().is_empty());
}

/// Restores, and carries nothing over.
fn put_back(file: &Path, state: &Path, replace: bool) -> Result<BackupManifest, StoreError> {
    restore(file, state, replace, NOW, &|_, _, _| Ok(()))
}
