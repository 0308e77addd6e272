use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use walkdir::WalkDir;

use crate::{
    db::{connect, migrate::copy_database, reader::StoreReader},
    error::StoreError,
    events::verification::verify_chain,
    files::{folder, folder::StateFolder},
    log::tail::LogTail,
    maintenance::examine::examine,
};
use wf_base::{digest::Sha256Digest, failpoint, program, time::Moment};

/// The name of the database in a backup.
pub(super) const DATABASE: &str = "state.db";

/// The folders in a backup beside the database.
pub(super) const FOLDERS: [&str; 3] = ["blobs", "runs", "audit"];

/// The folder of the acceptances of goals, in a backup as in a state.
const GOALS: &str = "goals";

/// The end of the name of an acceptance, after the id of its goal.
pub const ACCEPTANCE_SUFFIX: &str = ".accepted.json";

/// The name of the last entry, which marks the backup as complete.
pub(super) const MANIFEST: &str = "backup.json";

/// The version of the backup format: since 2 it has the acceptances of goals.
pub(crate) const FORM: u32 = 2;

/// The manifest of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupManifest {
    /// The version of the format.
    pub v: u32,
    /// The version of the program that made the backup.
    pub wf: String,
    pub created: Moment,
    /// The number of events in the log.
    pub events: u64,
    /// The hash of the last event.
    pub head: Sha256Digest,
    /// The number of files beside the database.
    pub files: u64,
    /// The size of the files and the database, in bytes.
    pub bytes: u64,
    /// False if the state was written by another program, so nobody could verify it.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub verified: bool,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_true(value: &bool) -> bool {
    *value
}

/// Copies the state into a tar archive while others may write to it: the database as of one instant, and
/// every file it names. An existing file is replaced only if `replace` is set, and only by a complete
/// archive.
///
/// A state is verified first. One of a schema this program does not know is copied as it is.
pub fn backup(dir: &Path, to: &Path, replace: bool, now: Moment) -> Result<BackupManifest, StoreError> {
    let failed = |error| StoreError::io("write", to, &error);
    if !replace && to.exists() {
        return Err(StoreError::Exists(to.into()));
    }
    let (reader, verified) = match StoreReader::open(dir) {
        Ok(reader) => (reader, true),
        Err(StoreError::Newer { .. } | StoreError::Changed { .. }) => {
            (StoreReader::open_unchecked(dir)?, false)
        }
        Err(error) => return Err(error),
    };
    // Until this is dropped, nothing is pruned.
    let _turn = folder::lock_schema(reader.folder());
    if verified {
        verify(&reader)?;
    }
    let beside = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let beside = beside.unwrap_or(Path::new("."));
    let mut copy = NamedTempFile::new_in(beside).map_err(failed)?;
    let manifest = pack(&reader, beside, copy.as_file_mut(), now, verified)?;
    copy.as_file().sync_all().map_err(failed)?;
    failpoint::point("backup.before");
    copy.persist(to).map_err(|error| failed(error.error))?;
    failpoint::point("backup.after");
    File::open(beside).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(manifest)
}

/// Fails if the state is damaged or was altered: such a one never replaces an intact backup.
fn verify(reader: &StoreReader) -> Result<(), StoreError> {
    let path = reader.folder().database();
    if let Err(broken) = verify_chain(reader)? {
        return Err(StoreError::Broken { path, broken });
    }
    // A damaged page that no hash covers would be copied as it is.
    if let Some(cause) = reader.find_damage()? {
        return Err(StoreError::Corrupt { path, cause });
    }
    let faults = examine(reader)?;
    match faults.first() {
        Some(fault) => Err(StoreError::of_faults(path, fault.to_string(), &faults)),
        None => Ok(()),
    }
}

/// Writes the archive: the database first, because the files it names were written before it.
fn pack(
    reader: &StoreReader,
    beside: &Path,
    to: &mut File,
    now: Moment,
    verified: bool,
) -> Result<BackupManifest, StoreError> {
    let failed = |error| StoreError::io("write a copy in", beside, &error);
    let scratch = tempfile::tempdir_in(beside).map_err(failed)?;
    let copy = StateFolder::new(scratch.path());
    copy_database(reader.connection(), &copy.database())?;
    let tail = {
        let copied = connect::unchecked(&copy.database())?;
        LogTail::read(&copied).map_err(|error| StoreError::sqlite(&copy.database(), &error))?
    };
    let mut archive = BackupArchive { tar: tar::Builder::new(BufWriter::new(to)), files: 0, bytes: 0 };
    archive.add(&copy.database(), Path::new(DATABASE)).map_err(failed)?;
    let root = reader.folder().path();
    // Held until the function returns: no process starts a new file of the audit log while its files are copied.
    let audit_log = File::open(root.join("audit/log.jsonl"));
    let _turn = audit_log.and_then(|log| log.lock_shared().map(|()| log));
    for name in FOLDERS {
        archive.add_all(root, name).map_err(failed)?;
    }
    for name in acceptances(root).map_err(failed)? {
        archive.add(&root.join(&name), &name).map_err(failed)?;
    }
    let manifest = BackupManifest {
        v: FORM,
        wf: program::version().into(),
        created: now,
        events: tail.seq.unsigned_abs(),
        head: tail.hash,
        files: archive.files.saturating_sub(1),
        bytes: archive.bytes,
        verified,
    };
    archive.write_manifest(&manifest).map_err(failed)?;
    Ok(manifest)
}

/// Returns the paths of the acceptances of goals in a state, below it.
pub(super) fn acceptances(root: &Path) -> io::Result<Vec<PathBuf>> {
    let files = match root.join(GOALS).read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let names = files.map(|file| Ok(Path::new(GOALS).join(file?.file_name())));
    let mut names: Vec<PathBuf> = names.collect::<io::Result<_>>()?;
    names.retain(|name| is_acceptance(name));
    names.sort();
    Ok(names)
}

/// True if a path below a state is that of an acceptance.
pub(super) fn is_acceptance(name: &Path) -> bool {
    let file = name.file_name().unwrap_or_default().to_string_lossy();
    name.parent() == Some(Path::new(GOALS)) && file.ends_with(ACCEPTANCE_SUFFIX)
}

/// An archive being written.
struct BackupArchive<W: Write> {
    tar: tar::Builder<W>,
    files: u64,
    bytes: u64,
}

impl<W: Write> BackupArchive<W> {
    /// Adds the files below a folder. A file that disappears meanwhile is no longer needed.
    fn add_all(&mut self, root: &Path, name: &str) -> io::Result<()> {
        let entries = WalkDir::new(root.join(name)).sort_by_file_name();
        let files = entries
            .into_iter()
            .flatten()
            .filter(|entry| entry.file_type().is_file())
            // The end of a log is read from the copy; the log itself may have grown since.
            .filter(|entry| entry.path().extension().is_none_or(|end| end != "mark"))
            .map(walkdir::DirEntry::into_path);
        for path in files {
            let inside: PathBuf = path.strip_prefix(root).unwrap_or(&path).into();
            match self.add(&path, &inside) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                added => added?,
            }
        }
        Ok(())
    }

    /// Adds a file up to its current length: it may still grow.
    fn add(&mut self, path: &Path, name: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let mut header = tar::Header::new_gnu();
        header.set_metadata(&metadata);
        // The archive may be restored by another user.
        header.set_uid(0);
        header.set_gid(0);
        let size = metadata.len();
        let padded = file.take(size).chain(io::repeat(b' ')).take(size);
        self.tar.append_data(&mut header, name, padded)?;
        self.files += 1;
        self.bytes += size;
        Ok(())
    }

    /// Writes the manifest, which completes the archive.
    fn write_manifest(mut self, manifest: &BackupManifest) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(manifest)?;
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        self.tar.append_data(&mut header, MANIFEST, text.as_slice())?;
        self.tar.into_inner()?.flush()
    }
}
