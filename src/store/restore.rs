use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use rusqlite::Connection;

use super::backup::{DATABASE, FOLDERS, FORM, MANIFEST, Manifest};
use super::carry::{self, Carried};
use super::log::Tail;
use super::mark::Marker;
use super::{
    Durability, Folder, Reader, RunFilter, StoreError, Which, connect, examine, verify_chain,
};
use crate::crash;
use crate::digest::Digest;
use crate::time::Moment;

/// The largest manifest that is read.
const MOST_MANIFEST: u64 = 1 << 16;

/// Brings over what does not go back: the folder that takes the place of the other, what the backup
/// says of itself, and where the uses of approvals stand that were taken over.
pub type CarryOver<'a> = &'a dyn Fn(&Path, &Manifest, Option<Carried>) -> Result<(), StoreError>;

/// Puts a backup in the place of the state. Everything is unpacked beside it and checked first;
/// then the two are exchanged, so that there always is a whole one. A state that has runs, or
/// remembers something, is replaced only if told, one that is worked on never.
///
/// Nobody works on what is restored: its runs that have not ended can be resumed.
///
/// What does not go back are the uses of approvals, and which were withdrawn: the log that takes the
/// place of the other says that they were carried over.
///
/// `carry` is given the folder that is about to take the place of the other, while nobody works
/// on either, and where those uses stand: it brings over what else does not go back.
pub fn restore(
    from: &Path,
    dir: &Path,
    replace: bool,
    now: Moment,
    carry: CarryOver<'_>,
) -> Result<Manifest, StoreError> {
    let failed = |error| StoreError::io("write beside", dir, &error);
    may_go(dir, replace)?;
    let beside = dir.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(beside).map_err(failed)?;
    let staged = tempfile::Builder::new()
        .prefix(".wf-restore-")
        .tempdir_in(beside)
        .map_err(failed)?;
    let fresh = staged.path().join("state");
    fs::create_dir(&fresh).map_err(failed)?;
    let manifest = unpack(from, &fresh)?;
    settle(&Folder::new(&fresh), from, &manifest, now)?;
    let retired = retire(dir)?;
    // Nobody writes to the old one any more.
    let carried = carry::uses(dir, &fresh, now)?;
    carry(&fresh, &manifest, carried)?;
    sync(beside);
    crash::point("restore.before");
    exchange(&fresh, dir).map_err(failed)?;
    crash::point("restore.after");
    if let Some(connection) = retired {
        // Whoever has it open is told at once; the file itself goes anyway.
        let _ = connection.execute_batch("DROP TABLE owners; COMMIT");
    }
    sync(beside);
    Ok(manifest)
}

/// Refuses to replace what is still wanted.
fn may_go(dir: &Path, replace: bool) -> Result<(), StoreError> {
    let reader = match Reader::open(dir) {
        Ok(reader) => reader,
        Err(StoreError::NoState(_)) => return Ok(()),
        // What cannot be read cannot be asked either.
        Err(_) if replace => return Ok(()),
        Err(error) => return Err(error),
    };
    if let Some((run, lease)) = reader.living()?.pop() {
        let lease = Box::new(lease);
        return Err(StoreError::Owned { run, lease });
    }
    let all = RunFilter {
        nested: true,
        ..RunFilter::default()
    };
    let empty = || Ok(reader.runs(1, &all)?.is_empty() && reader.memory(&Which::All)?.is_empty());
    if replace || empty()? {
        Ok(())
    } else {
        Err(StoreError::Exists(dir.into()))
    }
}

/// Keeps everybody from writing to a state that is to go, if there is one that can be used. Who
/// has it open and comes too late finds that it cannot take a run there.
fn retire(dir: &Path) -> Result<Option<Connection>, StoreError> {
    let folder = Folder::new(dir);
    if !folder.database().exists() {
        return Ok(None);
    }
    let Ok(connection) = connect::for_writing(&folder, Durability::Normal) else {
        return Ok(None);
    };
    let begun = connection.execute_batch("BEGIN IMMEDIATE");
    begun.map_err(|error| StoreError::sqlite(&folder.database(), &error))?;
    match Reader::open(dir)?.living()?.pop() {
        None => Ok(Some(connection)),
        Some((run, lease)) => Err(StoreError::Owned {
            run,
            lease: Box::new(lease),
        }),
    }
}

/// Unpacks an archive; gives what its last entry says.
fn unpack(from: &Path, to: &Path) -> Result<Manifest, StoreError> {
    let wrong = |cause: &str| StoreError::NotABackup {
        path: from.into(),
        cause: cause.into(),
    };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::io("write", to, &error)
        }
        _ => wrong(&error.to_string()),
    };
    let file = File::open(from).map_err(|error| wrong(&error.to_string()))?;
    let mut archive = tar::Archive::new(BufReader::new(file));
    let (mut files, mut manifest) = (0, None);
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let name = entry.path().map_err(failed)?.into_owned();
        if manifest.is_some() || !entry.header().entry_type().is_file() {
            return Err(wrong("it holds what no backup holds"));
        }
        if name == Path::new(MANIFEST) {
            let text = io::read_to_string(entry.take(MOST_MANIFEST)).map_err(failed)?;
            let read: Result<Manifest, _> = serde_json::from_str(&text);
            manifest = Some(read.map_err(|error| wrong(&error.to_string()))?);
            continue;
        }
        let inside = place(&name).ok_or_else(|| wrong("it holds what no backup holds"))?;
        let mode = entry.header().mode().unwrap_or(0o644);
        let digest = write(&mut entry, &to.join(&inside), mode).map_err(failed)?;
        if named(&inside).is_some_and(|name| name != digest.to_string()) {
            return Err(wrong(&format!("{} was altered", inside.display())));
        }
        files += 1;
    }
    match manifest {
        None => Err(wrong("its end is missing")),
        Some(manifest) if manifest.v != FORM => Err(wrong("a later wf made it")),
        Some(manifest) if manifest.files + 1 != files => Err(wrong("files are missing")),
        Some(manifest) => Ok(manifest),
    }
}

/// Where an entry goes; `None` if it does not belong in a backup.
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
        [folder, _, ..] if FOLDERS.contains(folder) => Some(name.into()),
        _ => None,
    }
}

/// The digest that a file is named by.
fn named(path: &Path) -> Option<String> {
    let shelves = path.strip_prefix("blobs").ok()?;
    let parts: Vec<_> = shelves.iter().filter_map(|part| part.to_str()).collect();
    // What is not on a shelf is a copy that was not finished.
    (parts.len() == 2).then(|| parts.concat())
}

/// Writes a file; gives the digest of what was written.
fn write(from: &mut impl Read, to: &Path, mode: u32) -> io::Result<Digest> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    let mut file = File::create_new(to)?;
    io::copy(from, &mut file)?;
    super::blobs::set_mode(&file, mode)?;
    drop(file);
    Digest::of_reader(File::open(to)?)
}

/// Makes what was unpacked a state that nobody works on, and checks it.
fn settle(
    folder: &Folder,
    from: &Path,
    manifest: &Manifest,
    now: Moment,
) -> Result<(), StoreError> {
    if !folder.database().exists() {
        return Err(StoreError::NotABackup {
            path: from.into(),
            cause: "it holds no database".into(),
        });
    }
    let connection = connect::for_writing(folder, Durability::Full)?;
    let failed = |error| StoreError::sqlite(&folder.database(), &error);
    connection
        .pragma_update(None, "journal_mode", "wal")
        .and_then(|()| {
            connection.execute_batch(&format!(
                "UPDATE owners SET released = {} WHERE released IS NULL; DELETE FROM locks",
                now.millis()
            ))
        })
        .and_then(|()| {
            let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
            connection.query_row(truncate, [], |_| Ok(()))
        })
        .map_err(failed)?;
    let tail = Tail::read(&connection).map_err(failed)?;
    let whole = (tail.seq.unsigned_abs(), tail.hash) == (manifest.events, manifest.head);
    Marker::new(folder, Durability::Full).put(&tail);
    drop(connection);
    let reader = Reader::open(folder.path())?;
    let path = from.to_path_buf();
    if let Some(cause) = reader.damage()? {
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
        let cause = "its log does not end as it says".into();
        Err(StoreError::NotABackup { path, cause })
    }
}

/// Puts a folder in the place of another, which gets its name or one beside it.
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
    // Where there is no such call, there is no state for an instant.
    let old = fresh.with_extension("old");
    fs::rename(dir, &old)?;
    let moved = fs::rename(fresh, dir);
    if moved.is_err() {
        fs::rename(&old, dir)?;
    }
    moved
}

/// Waits until everything that was written is on the disk.
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
