use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{
    Originals, WorkspaceRepository,
    index::{entries, object_name},
};
use crate::manifest::{ExcludedFiles, WorkspaceManifest};

/// Returns the name of the object of every file.
fn object() -> Vec<u8> {
    let name = object_name(b"old");
    (0..40).step_by(2).map(|at| u8::from_str_radix(&name[at..at + 2], 16).unwrap()).collect()
}

/// An index of a version with files as they are now, of which a later one can be in conflict.
fn index(root: &Path, version: u32, paths: &[&str], stage: u16) -> Vec<u8> {
    let mut bytes = b"DIRC".to_vec();
    let numbers = |bytes: &mut Vec<u8>, all: &[u64]| {
        bytes.extend(all.iter().flat_map(|one| u32::try_from(one & 0xffff_ffff).unwrap().to_be_bytes()));
    };
    numbers(&mut bytes, &[version.into(), u64::try_from(paths.len()).unwrap()]);
    let mut last = "";
    for path in paths {
        let begin = bytes.len();
        let found = fs::metadata(root.join(path)).unwrap();
        let time = |seconds: i64, nanos: i64| [seconds.cast_unsigned(), nanos.cast_unsigned()];
        numbers(&mut bytes, &time(found.ctime(), found.ctime_nsec()));
        numbers(&mut bytes, &time(found.mtime(), found.mtime_nsec()));
        numbers(&mut bytes, &[found.dev(), found.ino(), 0o100_644, 0, 0, found.size()]);
        bytes.extend(object());
        let stage = if *path == "z" { stage << 12 } else { 0 };
        bytes.extend((stage | u16::try_from(path.len()).unwrap()).to_be_bytes());
        if version == 4 {
            let same = last.bytes().zip(path.bytes()).take_while(|(one, other)| one == other).count();
            bytes.push(u8::try_from(last.len() - same).unwrap());
            bytes.extend(&path.as_bytes()[same..]);
            bytes.push(0);
        } else {
            bytes.extend(path.as_bytes());
            let length = bytes.len() - begin;
            bytes.extend(vec![0; (length + 1).next_multiple_of(8) - length]);
        }
        last = path;
    }
    bytes
}

#[test]
fn an_index_of_each_version_is_read_and_a_conflict_has_no_entry() {
    let dir = tempfile::tempdir().unwrap();
    for path in ["a.py", "a.rs", "z"] {
        fs::write(dir.path().join(path), "x").unwrap();
    }
    for version in [2, 3, 4] {
        let bytes = index(dir.path(), version, &["a.py", "a.rs", "z"], 1);
        let found: Vec<PathBuf> = entries(&bytes).into_iter().map(|entry| entry.path).collect();
        assert_eq!(found, ["a.py", "a.rs"].map(PathBuf::from), "{version}");
        // As `git hash-object` says.
        assert_eq!(entries(&bytes)[0].object, "489ce0f857e7634a0eb9f328265a3e91fad49f61");
        // A part of it has a part of the entries.
        for end in 0..bytes.len() {
            assert!(entries(&bytes[..end]).len() <= 2);
        }
    }
    assert!(entries(&index(dir.path(), 5, &["a.py"], 0)).is_empty());
    assert!(entries(b"no index").is_empty());
}

/// A repository in which every object says the same.
#[derive(Debug)]
struct OneBlob(PathBuf);

impl WorkspaceRepository for OneBlob {
    fn index(&self) -> PathBuf {
        self.0.canonicalize().unwrap().join(".git/index")
    }

    fn folders(&self) -> [PathBuf; 2] {
        let folder = self.0.canonicalize().unwrap().join(".git");
        [folder.clone(), folder]
    }

    fn prefix(&self) -> PathBuf {
        PathBuf::new()
    }

    fn blobs(&self, names: &[String]) -> Vec<Option<Vec<u8>>> {
        names.iter().map(|_| Some(b"old".to_vec())).collect()
    }
}

/// A workspace with a file in git, one that was edited, one that git does not know, and one that it ignores.
fn workspace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    fs::create_dir_all(at(".git/refs/heads")).unwrap();
    for (path, text) in [
        ("clean", "old"),
        ("edited", "old"),
        ("new", "mine"),
        ("ignored", "key"),
        (".git/HEAD", "ref"),
        (".git/refs/heads/main", "ab"),
        (".git/config", "token"),
    ] {
        fs::write(at(path), text).unwrap();
    }
    let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for path in ["clean", "edited"] {
        fs::File::options().write(true).open(at(path)).unwrap().set_modified(past).unwrap();
    }
    fs::write(at(".git/index"), index(dir.path(), 2, &["clean", "edited"], 0)).unwrap();
    fs::write(at("edited"), "mine").unwrap();
    dir
}

fn text(contents: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    contents.iter().map(|(path, bytes)| format!("{}: {}", path.display(), text(bytes))).collect()
}

#[test]
fn what_was_there_is_known_from_git_or_from_a_copy_and_nothing_else_is() {
    let dir = workspace();
    let start = WorkspaceManifest::of_workspace(dir.path(), &ExcludedFiles::default()).unwrap();
    let repository: Arc<dyn WorkspaceRepository> = Arc::new(OneBlob(dir.path().to_path_buf()));
    let ignored = |path: &Path, _: bool| path == Path::new("ignored");
    let taken = Originals::collect(dir.path(), &start, Some(Arc::clone(&repository)), &ignored).unwrap();
    let all: BTreeSet<PathBuf> =
        ["clean", "edited", "ignored", "index", "new", ".git/HEAD", ".git/config"].map(PathBuf::from).into();
    for path in &all {
        drop(fs::remove_file(dir.path().join(path)));
    }
    let expected = [".git/HEAD: ref", ".git/config: token", "clean: old", "edited: mine", "new: mine"];
    assert_eq!(text(&taken.contents(&start, &all)), expected);
    // What may hold a secret is not recorded: later it is not known.
    let bytes = taken.to_bytes();
    let later = Originals::recorded(&bytes).of_workspace(dir.path(), Some(repository));
    assert_eq!(text(&later.contents(&start, &all)), [".git/HEAD: ref", "clean: old"]);
    let recorded = String::from_utf8_lossy(&bytes);
    assert!(!recorded.contains("mine") && !recorded.contains("token"));
    let shown: Vec<PathBuf> = later.state_files().cloned().collect();
    assert_eq!(shown, [".git/HEAD", ".git/index", ".git/refs/heads/main"].map(PathBuf::from));
}

#[test]
fn a_copy_has_the_mode_and_the_time_that_the_file_had() {
    let dir = workspace();
    let start = WorkspaceManifest::of_workspace(dir.path(), &ExcludedFiles::default()).unwrap();
    let before = fs::metadata(dir.path().join("clean")).unwrap();
    let contents = BTreeMap::from([(PathBuf::from("clean"), b"old".to_vec())]);
    let folder = dir.path().join("copies");
    for _ in 0..2 {
        let copies = Originals::copies(&folder, &start, &contents).unwrap();
        let copy = fs::metadata(&copies[0].copy).unwrap();
        assert_eq!((copy.mode(), copy.modified().unwrap()), (before.mode(), before.modified().unwrap()));
        assert!(copies[0].is_original);
    }
}

#[test]
fn a_repository_that_changes_meanwhile_is_read_again() {
    let dir = workspace();
    let start = WorkspaceManifest::of_workspace(dir.path(), &ExcludedFiles::default()).unwrap();
    fs::write(dir.path().join(".git/HEAD"), "another").unwrap();
    assert!(Originals::collect(dir.path(), &start, None, &|_, _| false).is_none());
}
