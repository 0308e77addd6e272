use std::{
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Component, Path, PathBuf},
};

use rusqlite::Connection;

use crate::{
    db::{connect, reader::StoreReader},
    error::StoreError,
    events::verification::verify_chain,
    files::folder::{StateFolder, StoreDurability, create_private, open_regular},
    log::{mark::LogMarkFile, tail::LogTail},
    maintenance::{
        backup::{BackupManifest, DATABASE, FOLDERS, FORM, MANIFEST, acceptances, is_acceptance},
        carry,
        carry::CarriedUses,
        examine::examine,
        upgrade::{adopt_copy, is_database},
    },
    tables::memory::MegramSelection,
    views::view::RunFilter,
};
use wf_base::{digest::Sha256Digest, failpoint, time::Moment};

/// The beginning of the name of the folder beside a state in which a backup is unpacked. One that is killed leaves it.
pub const RESTORE_PREFIX: &str = ".wf-restore-";

/// The maximum size of a manifest.
const MOST_MANIFEST: u64 = 1 << 16;

/// Carries over what a restore does not undo. Takes the new folder, the backup's manifest, and the
/// position of the carried uses of approvals.
pub type CarryOver<'a> = &'a dyn Fn(&Path, &BackupManifest, Option<CarriedUses>) -> Result<(), StoreError>;

/// Replaces the state with a backup. Everything is unpacked beside the state and checked first; then the two
/// are exchanged, so there always is a complete one. A state with runs or memory is replaced only if
/// `replace` is set, one in use never.
///
/// The restored runs have no owner: those that have not ended can be resumed.
///
/// The uses and withdrawals of approvals are not undone: the new log records them as carried over. What a person accepted
/// since the backup stays accepted: it is signed, and about files a restore does not change.
///
/// `carry` is called with the new folder while no process works on either, and the position of those
/// uses: it carries over everything else that is not undone.
pub fn restore(
    from: &Path,
    dir: &Path,
    replace: bool,
    now: Moment,
    carry: CarryOver<'_>,
) -> Result<BackupManifest, StoreError> {
    let failed = |error| StoreError::io("write beside", dir, &error);
    check_replaceable(dir, replace)?;
    let beside = dir.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(beside).map_err(failed)?;
    let staged = tempfile::Builder::new().prefix(RESTORE_PREFIX).tempdir_in(beside).map_err(failed)?;
    let fresh = staged.path().join("state");
    create_private(&fresh)?;
    let manifest = if is_database(from) { adopt_copy(from, dir, &fresh)? } else { unpack(from, &fresh)? };
    finish_restore(&StateFolder::new(&fresh), from, &manifest)?;
    let retired = block_writes(dir)?;
    // No process writes to the old state any more.
    let carried = carry::uses(dir, &fresh, now)?;
    carry(&fresh, &manifest, carried)?;
    keep_acceptances(dir, &fresh).map_err(failed)?;
    keep_copies(dir, &fresh).map_err(failed)?;
    sync(beside);
    failpoint::point("restore.before");
    exchange(&fresh, dir).map_err(failed)?;
    failpoint::point("restore.after");
    if let Some(connection) = retired {
        // A process that has it open gets an error at once; the file is removed anyway.
        let _ = connection.execute_batch("DROP TABLE run_leases; COMMIT");
    }
    sync(beside);
    Ok(manifest)
}

/// Copies the acceptances of goals over those of the backup.
fn keep_acceptances(dir: &Path, fresh: &Path) -> io::Result<()> {
    for name in acceptances(dir)? {
        let to = fresh.join(&name);
        fs::create_dir_all(to.parent().unwrap_or(fresh))?;
        fs::copy(dir.join(&name), to)?;
    }
    Ok(())
}

/// Copies the databases from before upgrades, so the way back stays.
fn keep_copies(dir: &Path, fresh: &Path) -> io::Result<()> {
    let (from, to) = (StateFolder::new(dir).upgrades(), StateFolder::new(fresh).upgrades());
    let Ok(copies) = from.read_dir() else {
        return Ok(());
    };
    fs::create_dir_all(&to)?;
    for copy in copies {
        let copy = copy?;
        if copy.file_type()?.is_file() {
            fs::copy(copy.path(), to.join(copy.file_name()))?;
        }
    }
    Ok(())
}

/// Refuses to replace a state that is still in use or holds data.
fn check_replaceable(dir: &Path, replace: bool) -> Result<(), StoreError> {
    let reader = match StoreReader::open(dir) {
        Ok(reader) => reader,
        Err(StoreError::NoState(_)) => return Ok(()),
        // An unreadable state cannot be checked either.
        Err(_) if replace => return Ok(()),
        Err(error) => return Err(error),
    };
    if let Some((run, lease)) = reader.leases().held()?.pop() {
        let lease = Box::new(lease);
        return Err(StoreError::Owned { run, lease });
    }
    let all = RunFilter { nested: true, ..RunFilter::default() };
    let empty = || {
        let has_memory = !reader.memory().megrams(&MegramSelection::All)?.is_empty()
            || !reader.memory().notes()?.is_empty();
        Ok(!has_memory && reader.runs().list(1, &all)?.is_empty() && reader.sessions().all()?.is_empty())
    };
    if replace || empty()? { Ok(()) } else { Err(StoreError::Exists(dir.into())) }
}

/// Blocks writing to a state about to be replaced, if there is a usable one. A process that still
/// has it open finds that it cannot take a run there.
fn block_writes(dir: &Path) -> Result<Option<Connection>, StoreError> {
    let folder = StateFolder::new(dir);
    if !folder.database().exists() {
        return Ok(None);
    }
    let Ok(connection) = connect::for_writing(&folder, StoreDurability::Normal) else {
        return Ok(None);
    };
    let begun = connection.execute_batch("BEGIN IMMEDIATE");
    begun.map_err(|error| StoreError::sqlite(&folder.database(), &error))?;
    match StoreReader::open(dir)?.leases().held()?.pop() {
        None => Ok(Some(connection)),
        Some((run, lease)) => Err(StoreError::Owned { run, lease: Box::new(lease) }),
    }
}

/// Unpacks an archive; returns its manifest.
fn unpack(from: &Path, to: &Path) -> Result<BackupManifest, StoreError> {
    let wrong = |cause: &str| StoreError::NotABackup { path: from.into(), cause: cause.into() };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::io("write", to, &error),
        _ => wrong(&error.to_string()),
    };
    let file = open_regular(from).map_err(|error| wrong(&error.to_string()))?;
    let mut archive = tar::Archive::new(BufReader::new(file));
    let (mut files, mut manifest) = (0, None);
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let name = entry.path().map_err(failed)?.into_owned();
        if manifest.is_some() || !entry.header().entry_type().is_file() {
            return Err(wrong("it contains unexpected files"));
        }
        if name == Path::new(MANIFEST) {
            let text = io::read_to_string(entry.take(MOST_MANIFEST)).map_err(failed)?;
            let read: Result<BackupManifest, _> = serde_json::from_str(&text);
            manifest = Some(read.map_err(|error| wrong(&error.to_string()))?);
            continue;
        }
        let inside = place(&name).ok_or_else(|| wrong("it contains unexpected files"))?;
        let mode = entry.header().mode().unwrap_or(0o644);
        let digest = write(&mut entry, &to.join(&inside), mode).map_err(failed)?;
        if named(&inside).is_some_and(|name| name != digest.to_string()) {
            return Err(wrong(&format!("{} was modified", inside.display())));
        }
        files += 1;
    }
    match manifest {
        None => Err(wrong("it is truncated")),
        Some(manifest) if manifest.v > FORM => Err(wrong("it was created by a newer wf")),
        Some(manifest) if manifest.files + 1 != files => Err(wrong("files are missing")),
        Some(manifest) => Ok(manifest),
    }
}

/// Returns the path of an entry; `None` if it does not belong in a backup.
fn place(name: &Path) -> Option<PathBuf> {
    let mut parts = Vec::new();
    for part in name.components() {
        let Component::Normal(part) = part else {
            return None;
        };
        parts.push(part.to_str()?);
    }
    match parts.as_slice() {
        [DATABASE] => Some(name.into()),
        [folder, _, ..] if FOLDERS.contains(folder) || is_acceptance(name) => Some(name.into()),
        _ => None,
    }
}

/// Returns the digest in a file's name.
fn named(path: &Path) -> Option<String> {
    let shelves = path.strip_prefix("blobs").ok()?;
    let parts: Vec<_> = shelves.iter().filter_map(|part| part.to_str()).collect();
    // A file outside of the shelves is a copy that was never finished.
    (parts.len() == 2).then(|| parts.concat())
}

/// Writes a file; returns the digest of its content.
fn write(from: &mut impl Read, to: &Path, mode: u32) -> io::Result<Sha256Digest> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    let mut file = File::create_new(to)?;
    io::copy(from, &mut file)?;
    crate::files::blobs::set_mode(&file, mode)?;
    drop(file);
    Sha256Digest::of_reader(File::open(to)?)
}

/// Makes the unpacked files a state without owners, and checks it.
fn finish_restore(folder: &StateFolder, from: &Path, manifest: &BackupManifest) -> Result<(), StoreError> {
    if !folder.database().exists() {
        return Err(StoreError::NotABackup { path: from.into(), cause: "it contains no database".into() });
    }
    let whole = end_before_upgrade(folder) == Some((manifest.events, manifest.head));
    let connection = connect::for_writing(folder, StoreDurability::Full)?;
    let failed = |error| StoreError::sqlite(&folder.database(), &error);
    connection
        .pragma_update(None, "journal_mode", "wal")
        .and_then(|()| {
            // No process released these: that is the time before each was taken.
            connection.execute_batch(
                "UPDATE run_leases SET released = acquired_at - 1 WHERE released IS NULL; DELETE FROM locks; DELETE FROM permits",
            )
        })
        .and_then(|()| {
            let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
            connection.query_row(truncate, [], |_| Ok(()))
        })
        .map_err(failed)?;
    let tail = LogTail::read(&connection).map_err(failed)?;
    LogMarkFile::new(folder, StoreDurability::Full).write_mark(&tail);
    drop(connection);
    let reader = StoreReader::open(folder.path())?;
    let path = from.to_path_buf();
    if let Some(cause) = reader.find_damage()? {
        return Err(StoreError::Corrupt { path, cause });
    }
    if let Err(broken) = verify_chain(&reader)? {
        return Err(StoreError::Broken { path, broken });
    }
    if let Some(fault) = examine(&reader)?.first() {
        let what = fault.to_string();
        return Err(StoreError::Tampered { path, what });
    }
    if whole {
        Ok(())
    } else {
        let cause = "the end of its log differs from its manifest".into();
        Err(StoreError::NotABackup { path, cause })
    }
}

/// Returns the end of the log as it was unpacked: the upgrade of a state of an earlier version adds to it.
fn end_before_upgrade(folder: &StateFolder) -> Option<(u64, Sha256Digest)> {
    let connection = connect::unchecked(&folder.database()).ok()?;
    let tail = LogTail::read(&connection).ok()?;
    Some((tail.seq.unsigned_abs(), tail.hash))
}

/// Puts a folder in the place of another, which is moved to its name or one beside it.
fn exchange(fresh: &Path, dir: &Path) -> io::Result<()> {
    if !dir.exists() {
        return fs::rename(fresh, dir);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, fresh, CWD, dir, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    // Without such a call, there is no state for an instant.
    let old = fresh.with_extension("old");
    fs::rename(dir, &old)?;
    let moved = fs::rename(fresh, dir);
    if moved.is_err() {
        fs::rename(&old, dir)?;
    }
    moved
}

/// Waits until everything written is on the disk.
fn sync(folder: &Path) {
    #[cfg(target_os = "linux")]
    if let Ok(folder) = File::open(folder) {
        let _ = rustix::fs::syncfs(&folder);
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        rustix::fs::sync();
    }
}
