//! The state of a repository whose folders are outside of the workspace, as it was when a run began.
//!
//! ```text
//! start of the run   read  ──▶ HEAD, packed-refs with all branches and tags in it, and what commands left for later ones
//! a check            write ──▶ a folder with these files, of which a sandbox makes the folder of git that it shows
//! ```
//!
//! Logs are left out: they grow with every command, and what they say is of earlier ones. So are other repositories in the
//! folder, of submodules.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::GitPart;

/// The largest file saying what the commits, branches and files are, in bytes.
const MAX_STATE_BYTES: u64 = 64 << 20;

/// The most bytes of all files that commands left for later ones.
const MAX_TRACE_BYTES: u64 = 1 << 20;

/// The times a folder is read in which git works just then.
const MAX_READS: usize = 3;

/// The file with all branches and tags.
const PACKED: &str = "packed-refs";

/// The folder of branches and tags.
const REFS: &str = "refs";

/// The branches and tags each work tree has for itself: they are never packed.
const PRIVATE_REFS: [&str; 3] = ["refs/bisect", "refs/rewritten", "refs/worktree"];

/// Folders left out wherever they are.
const LEFT_OUT: [&str; 4] = ["lfs", "logs", "modules", "objects"];

/// The first line of the file with all branches and tags: where no line says to which commit a tag leads, git looks it up.
const HEADER: &[u8] = b"# pack-refs with: sorted \n";

/// Reads a folder of git but for the index; `is_common`: it has the shared branches of all work trees. Empty: it is no
/// such folder, or cannot be read.
pub(super) fn read_outside(folder: &Path, is_common: bool) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut reader = GitFolderReader::new(folder);
    for _ in 0..MAX_READS {
        reader = GitFolderReader::new(folder);
        reader.add_folder(Path::new(""));
        if !reader.is_torn {
            break;
        }
    }
    let mut files = reader.files;
    if !files.contains_key(Path::new("HEAD")) {
        return BTreeMap::new();
    }
    if is_common {
        pack(&mut files);
    }
    files
}

/// A folder of git being read.
struct GitFolderReader<'a> {
    folder: &'a Path,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// The bytes commands may still have left, of those read.
    room: u64,
    /// True if a file was gone when it was to be read.
    is_torn: bool,
}

impl<'a> GitFolderReader<'a> {
    fn new(folder: &'a Path) -> Self {
        Self { folder, files: BTreeMap::new(), room: MAX_TRACE_BYTES, is_torn: false }
    }

    /// Reads the entry below a path in it. Branches come before the file into which git packs them, so that none is
    /// missed; a list of tables before the tables.
    fn add_folder(&mut self, below: &Path) {
        let Ok(entries) = fs::read_dir(self.folder.join(below)) else { return };
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let entries = entries.flatten().map(|entry| (!is_folder(&entry), below.join(entry.file_name())));
        let mut listing: Vec<(bool, PathBuf)> = entries.collect();
        listing.sort_by_key(|(is_file, path)| (*is_file, Reverse(path.clone())));
        for (is_file, path) in listing {
            let is_left_out = LEFT_OUT.iter().any(|name| path.file_name() == Some(OsStr::new(name)));
            match GitPart::from_path(&Path::new(".git").join(&path)) {
                // A branch may have any name.
                Some(GitPart::State) if !is_file => self.add_folder(&path),
                Some(GitPart::Trace) if !is_file && !is_left_out => self.add_folder(&path),
                Some(GitPart::State) if !path.ends_with("index") || path.starts_with(REFS) => {
                    self.add_file(path, MAX_STATE_BYTES);
                }
                Some(GitPart::Trace) if is_file && !path.ends_with("index") => {
                    let length = self.add_file(path, self.room);
                    self.room -= length;
                }
                _ => {}
            }
        }
    }

    /// Reads a file, unless it is larger than the limit, in bytes. Returns the number of bytes read.
    fn add_file(&mut self, path: PathBuf, limit: u64) -> u64 {
        match read_file(&self.folder.join(&path), limit) {
            Ok(Some(bytes)) => {
                let length = bytes.len() as u64;
                self.files.insert(path, bytes);
                length
            }
            Ok(None) => 0,
            Err(error) => {
                self.is_torn |= error.kind() == io::ErrorKind::NotFound;
                0
            }
        }
    }
}

/// Reads a regular file; `None`: it is none, or larger than the limit.
fn read_file(file: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file_metadata = fs::metadata(file)?;
    if !file_metadata.is_file() || file_metadata.len() > limit {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Moves the branches and tags into the file with all of them, but for those naming others.
fn pack(files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let packed = files.remove(Path::new(PACKED)).unwrap_or_default();
    let mut lines: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut last: Option<Vec<u8>> = None;
    for line in packed.split_inclusive(|byte| *byte == b'\n').filter(|line| line[0] != b'#') {
        if line[0] == b'^' {
            // The commit to which the tag before it leads.
            if let Some(tag) = last.as_ref().and_then(|name| lines.get_mut(name)) {
                tag.extend(line);
            }
        } else if let Some(at) = line.iter().position(|byte| *byte == b' ') {
            let name = line[at + 1..].trim_ascii_end().to_vec();
            lines.insert(name.clone(), line.to_vec());
            last = Some(name);
        }
    }
    files.retain(|path, bytes| {
        let is_shared = path.starts_with(REFS) && !PRIVATE_REFS.iter().any(|own| path.starts_with(own));
        let Some(object) = object_of(bytes).filter(|_| is_shared) else { return true };
        let name = path.as_os_str().as_bytes();
        lines.insert(name.to_vec(), [object, b" ", name, b"\n"].concat());
        false
    });
    if !lines.is_empty() {
        let parts = std::iter::once(HEADER).chain(lines.values().map(Vec::as_slice));
        files.insert(PACKED.into(), parts.collect::<Vec<_>>().concat());
    }
}

/// Returns the name of an object a branch consists of; `None`: it names another branch, or is none.
fn object_of(branch: &[u8]) -> Option<&[u8]> {
    let name = branch.trim_ascii_end();
    let is_name = matches!(name.len(), 40 | 64) && name.iter().all(u8::is_ascii_hexdigit);
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::read_outside;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn folder(files: &[(&str, String)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = dir.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        dir
    }

    fn listed(dir: &Path, is_common: bool) -> Vec<String> {
        let files = read_outside(dir, is_common).into_iter();
        let line = |(path, bytes): (std::path::PathBuf, Vec<u8>)| {
            format!("{}: {}", path.display(), String::from_utf8_lossy(&bytes))
        };
        files.map(line).collect()
    }

    #[test]
    fn branches_and_tags_are_in_one_file_and_logs_objects_and_submodules_are_left_out() {
        let packed = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{ONE} refs/heads/a\n{ONE} refs/tags/v\n^{TWO}\n"
        );
        let dir = folder(&[
            ("HEAD", "ref: refs/heads/a\n".into()),
            ("index", "large".into()),
            ("config", "token".into()),
            ("packed-refs", packed),
            ("refs/heads/a", format!("{TWO}\n")),
            ("refs/heads/logs/index", format!("{TWO}\n")),
            ("refs/heads/a.lock", "half".into()),
            ("refs/remotes/origin/HEAD", "ref: refs/remotes/origin/a\n".into()),
            ("refs/bisect/bad", format!("{ONE}\n")),
            ("MERGE_HEAD", format!("{ONE}\n")),
            ("logs/HEAD", "long".into()),
            ("objects/11/1", "blob".into()),
            ("modules/x/HEAD", "of another".into()),
            ("worktrees/w/HEAD", "ref: refs/heads/w\n".into()),
            ("worktrees/w/index", "large".into()),
            ("worktrees/w/logs/HEAD", "long".into()),
        ]);
        let sorted = format!(
            "packed-refs: # pack-refs with: sorted \n{TWO} refs/heads/a\n{TWO} refs/heads/logs/index\n{ONE} refs/tags/v\n^{TWO}\n"
        );
        let expected = [
            "HEAD: ref: refs/heads/a\n",
            &format!("MERGE_HEAD: {ONE}\n"),
            &sorted,
            &format!("refs/bisect/bad: {ONE}\n"),
            "refs/remotes/origin/HEAD: ref: refs/remotes/origin/a\n",
            "worktrees/w/HEAD: ref: refs/heads/w\n",
        ];
        assert_eq!(listed(dir.path(), true), expected);
        // A work tree's own folder has branches of its own only.
        assert!(listed(dir.path(), false).contains(&format!("refs/heads/a: {TWO}\n")));
    }

    #[test]
    fn a_repository_of_tables_and_one_without_commits_are_read_as_they_are() {
        let dir = folder(&[
            ("HEAD", "ref: refs/heads/.invalid\n".into()),
            ("refs/heads", "this repository uses the reftable format\n".into()),
            ("reftable/tables.list", "0x1.ref\n".into()),
            ("reftable/0x1.ref", "table".into()),
        ]);
        let expected = [
            "HEAD: ref: refs/heads/.invalid\n",
            "refs/heads: this repository uses the reftable format\n",
            "reftable/0x1.ref: table",
            "reftable/tables.list: 0x1.ref\n",
        ];
        assert_eq!(listed(dir.path(), true), expected);
        let bare = folder(&[("HEAD", "ref: refs/heads/main\n".into())]);
        assert_eq!(listed(bare.path(), true), ["HEAD: ref: refs/heads/main\n"]);
        assert_eq!(listed(&bare.path().join("none"), true), [""; 0]);
    }
}
