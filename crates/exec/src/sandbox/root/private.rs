//! The files of the system the user of wf can read and other users cannot.
//!
//! A confined process has the user of wf, and cannot lose that user's rights in a namespace: the system does not let it
//! drop a group there. So files that only this user, or one of its groups, can read are hidden from the view. Finding
//! them means listing every folder of the system, which takes longer than everything else a sandbox needs: it is done
//! once for many sandboxes.

use std::{
    ffi::OsStr,
    fs::{self, DirEntry, Metadata},
    io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread::ScopedJoinHandle,
};

use rustix::{
    fs::{Access, AtFlags, CWD},
    time::ClockId,
};

use super::places::{NETWORK_FOLDERS, PUBLIC, SYSTEM_FOLDERS};

/// The time for which the findings are reused, in seconds.
const CACHE_SECONDS: i64 = 60;

/// The maximum number of hidden folders and files: each needs a mount in every sandbox.
const MAX_PRIVATE_PATHS: usize = 4096;

/// The maximum number of threads: more of them do not speed up the disk.
const MAX_THREADS: usize = 4;

/// The findings, absolute and without links, and their time, in seconds since boot.
type PrivatePaths = Option<(i64, Arc<Vec<PathBuf>>)>;

static PRIVATE_PATHS: Mutex<PrivatePaths> = Mutex::new(None);

/// Returns the private files and folders of the system, at most `FRESH` seconds old.
pub(crate) fn of_system() -> io::Result<Arc<Vec<PathBuf>>> {
    // Concurrent callers wait for one search and share its findings.
    let mut cached = crate::runtime::lock_mutex(&PRIVATE_PATHS);
    let now = rustix::time::clock_gettime(ClockId::Boottime).tv_sec;
    if let Some((at, found)) = &*cached
        && now - at < CACHE_SECONDS
    {
        return Ok(Arc::clone(found));
    }
    let roots = SYSTEM_FOLDERS.iter().chain(&NETWORK_FOLDERS).map(Path::new);
    let roots: Vec<PathBuf> = roots.filter_map(|root| fs::canonicalize(root).ok()).collect();
    let paths = Arc::new(below(roots)?);
    *cached = Some((now, Arc::clone(&paths)));
    Ok(paths)
}

/// Returns the private files and folders below these. Empty ones, the targets of links and the
/// contents of private folders are left out.
fn below(mut level: Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
    level.retain(|root| !is_public(root));
    level.sort();
    level.dedup_by(|root, above| root.starts_with(above));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut paths = Vec::new();
    while !level.is_empty() {
        let share = level.len().div_ceil(threads.min(MAX_THREADS));
        let parts: Vec<_> = std::thread::scope(|scope| {
            let chunks = level.chunks(share);
            let looks: Vec<_> = chunks.map(|part| scope.spawn(|| scan_folders(part))).collect();
            looks.into_iter().map(ScopedJoinHandle::join).collect()
        });
        level.clear();
        for part in parts {
            let (private, deeper) =
                part.map_err(|_| io::Error::other("cannot list the folders of the system"))?;
            paths.extend(private);
            level.extend(deeper);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns the private entries of these folders, and the folders in them that are not private.
fn scan_folders(folders: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let mut paths = Vec::new();
    let mut deeper = Vec::new();
    for entry in folders.iter().flat_map(|folder| entries(folder)) {
        // Many entries are links: their kind is known without another call.
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        let Ok(data) = entry.metadata() else {
            continue;
        };
        if is_closed(&data) {
            paths.extend(Some(entry.path()).filter(|path| is_reached(path)));
        } else if data.is_dir() {
            deeper.extend(Some(entry.path()).filter(|path| !is_public(path)));
        }
    }
    (paths, deeper)
}

fn is_public(folder: &Path) -> bool {
    PUBLIC.iter().any(|public| folder == Path::new(public))
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// True if other users cannot read a file that is not empty, or cannot list or enter a folder.
fn is_closed(data: &Metadata) -> bool {
    if data.is_dir() {
        data.mode() & 0o005 != 0o005
    } else {
        data.is_file() && data.mode() & 0o004 == 0 && data.len() > 0
    }
}

/// True if this process can read a file or a folder, or enter it.
fn is_reached(path: &Path) -> bool {
    let may = |access| rustix::fs::accessat(CWD, path, access, AtFlags::empty()).is_ok();
    may(Access::READ_OK) || path.is_dir() && may(Access::EXEC_OK)
}

/// Returns the paths to hide so that only granted private files are seen: of a private folder containing a granted
/// path, all the rest. `shown` maps a path to its place in the view.
pub(super) fn but(
    granted: &[PathBuf],
    mut private: Vec<PathBuf>,
    shown: &impl Fn(&Path) -> PathBuf,
) -> io::Result<Vec<PathBuf>> {
    let mut hidden = Vec::new();
    while let Some(next) = private.pop() {
        if granted.iter().any(|grant| next.starts_with(grant)) {
            continue;
        }
        if !granted.iter().any(|grant| grant.starts_with(&next)) {
            hidden.push(next);
            continue;
        }
        for entry in fs::read_dir(shown(&next))? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() || kind.is_file() {
                private.push(next.join(entry.file_name()));
            }
        }
    }
    if hidden.len() > MAX_PRIVATE_PATHS {
        return Err(io::Error::other(format!(
            "{} found, but at most {MAX_PRIVATE_PATHS} can be hidden; close the folders that contain them \
             (`chmod o-rx`)",
            hidden.len()
        )));
    }
    Ok(hidden)
}

/// Encodes a list of paths for [`decoded`].
pub(crate) fn encoded(private: &[PathBuf]) -> Vec<u8> {
    let lines: Vec<&[u8]> = private.iter().map(|path| path.as_os_str().as_bytes()).collect();
    lines.join(&0)
}

pub(super) fn decoded(bytes: &[u8]) -> Vec<PathBuf> {
    let lines = bytes.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines.map(|line| OsStr::from_bytes(line).into()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A folder with files of these modes; parent folders are public.
    fn folder(files: &[(&str, u32)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, mode) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        dir
    }

    fn close(path: PathBuf) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o750)).unwrap();
    }

    #[test]
    fn what_not_everybody_may_read_is_found_at_any_depth() {
        let deep = "a/b/c/d/e/f/g/h/i/secret";
        let dir = folder(&[
            ("secret", 0o600),
            ("public", 0o644),
            ("open/secret", 0o640),
            ("open/closed/inside", 0o600),
            (deep, 0o600),
        ]);
        close(dir.path().join("open/closed"));
        std::os::unix::fs::symlink("secret", dir.path().join("link")).unwrap();
        let found = below(vec![dir.path().to_path_buf()]).unwrap();
        let expected = [deep, "open/closed", "open/secret", "secret"];
        assert_eq!(found, expected.map(|path| dir.path().join(path)));
        assert_eq!(decoded(&encoded(&found)), found);
    }

    #[test]
    fn what_was_granted_stays_and_nothing_beside_it() {
        let dir = folder(&[
            ("closed/work/file", 0o600),
            ("closed/beside/file", 0o644),
            ("closed/public", 0o644),
            ("secret", 0o600),
            ("granted/secret", 0o600),
        ]);
        close(dir.path().join("closed"));
        let found = below(vec![dir.path().to_path_buf()]).unwrap();
        let at = |path: &str| dir.path().join(path);
        let granted = [at("closed/work"), at("granted")];
        let mut hidden = but(&granted, found, &Path::to_path_buf).unwrap();
        hidden.sort();
        assert_eq!(hidden, [at("closed/beside"), at("closed/public"), at("secret")]);
    }

    #[test]
    fn more_than_can_be_hidden_is_an_error() {
        let many = |count: usize| {
            let private = (0..count).map(|at| format!("/opt/{at}").into());
            but(&[], private.collect(), &Path::to_path_buf)
        };
        assert_eq!(many(MAX_PRIVATE_PATHS).unwrap().len(), MAX_PRIVATE_PATHS);
        let told = many(MAX_PRIVATE_PATHS + 1).unwrap_err().to_string();
        assert!(told.contains("4097"), "{told}");
    }
}
