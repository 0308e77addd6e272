use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use super::{CachedContent, EarlierFiles, collect, restore, surplus};
use crate::work_error::WorkError;
use wf_base::{digest::Sha256Digest, redact::SecretMask};
use wf_core::machine::{CachedFile, CachedFileKind};

/// Contents by digest.
#[derive(Default)]
struct Contents(RefCell<BTreeMap<Sha256Digest, Vec<u8>>>);

impl Contents {
    fn keep(&self, root: &Path, globs: &[&str], mask: &SecretMask) -> Result<Vec<CachedFile>, WorkError> {
        collect(root, &texts(globs), mask, |content| {
            let bytes = match content {
                CachedContent::File(path) => fs::read(path)?,
                CachedContent::Text(text) => text.to_vec(),
            };
            let digest = Sha256Digest::of_bytes(&bytes);
            let size = bytes.len() as u64;
            self.0.borrow_mut().insert(digest, bytes);
            Ok::<_, std::io::Error>((digest, size))
        })
    }

    fn restore(&self, root: &Path, files: &[CachedFile]) -> Result<(), WorkError> {
        let read = |digest: &Sha256Digest| Ok::<_, std::io::Error>(self.0.borrow()[digest].clone());
        let write = |file: &CachedFile, to: &Path| fs::write(to, read(&file.digest)?);
        restore(root, files, write, read)
    }
}

fn texts(globs: &[&str]) -> Vec<String> {
    globs.iter().map(|glob| (*glob).to_owned()).collect()
}

/// Folders and files below `root`, and one outside.
fn workspace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in ["root/lib/v1/x.so", "root/top.txt", "root/.wf/log", "outside/x"] {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    dir
}

#[test]
fn what_was_kept_comes_back_as_it_was() {
    let dir = workspace();
    let root = dir.path().join("root");
    fs::set_permissions(root.join("top.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(root.join("lib/empty")).unwrap();
    let links = [("cur", "v1"), ("x.so", "v1/x.so"), ("later", "nowhere"), ("own", "own")];
    for (name, target) in links {
        symlink(target, root.join("lib").join(name)).unwrap();
    }
    let contents = Contents::default();
    let mut files = contents.keep(&root, &["top.txt", "lib/**"], &SecretMask::default()).unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let expected = ["lib/cur", "lib/empty", "lib/later", "lib/own", "lib/v1/x.so", "lib/x.so", "top.txt"];
    assert_eq!(paths, expected);
    assert_eq!(files[6].mode, 0o755);
    let target = dir.path().join("again");
    fs::create_dir_all(target.join("lib")).unwrap();
    fs::write(target.join("lib/cur"), "another file").unwrap();
    contents.restore(&target, &files).unwrap();
    for (name, link) in links {
        assert_eq!(fs::read_link(target.join("lib").join(name)).unwrap(), Path::new(link));
    }
    assert_eq!(fs::read_to_string(target.join("lib/cur/x.so")).unwrap(), "root/lib/v1/x.so");
    assert!(target.join("lib/empty").is_dir());
    files[6].path = "../forged".into();
    assert!(contents.restore(&target, &files).is_err());
}

#[test]
fn a_link_that_leads_out_is_not_kept_and_nothing_behind_a_link_is() {
    let dir = workspace();
    let root = dir.path().join("root");
    for (name, target) in [
        ("folder", "../../outside".to_owned()),
        ("missing", "../../nowhere".to_owned()),
        ("absolute", "/etc/passwd".to_owned()),
        ("state", "../.wf/log".to_owned()),
        ("cur", "v1".to_owned()),
        ("here", root.join("lib/v1").display().to_string()),
        ("named", "of-hunter22".to_owned()),
    ] {
        symlink(target, root.join("lib").join(name)).unwrap();
    }
    let contents = Contents::default();
    let mask = SecretMask::new(["hunter22"]);
    for (glob, reason) in [
        ("lib/fold*", "`lib/folder` points outside the workspace: it is a link to `../../outside`"),
        ("lib/missing", "no file matches"),
        ("lib/miss*", "`lib/missing` points outside the workspace"),
        ("lib/abs*", "`lib/absolute` points outside the workspace"),
        ("lib/stat*", "`lib/state` points into the state directory of wf"),
        ("lib/cur/**", "`lib/cur` is a link, and what is behind it is not cached"),
        ("lib/cur/x.so", "`lib/cur` is a link"),
        ("lib/nam*", "contains a secret"),
    ] {
        let refused = contents.keep(&root, &[glob], &mask).unwrap_err();
        assert!(refused.reason.contains(reason), "{glob}: {}", refused.reason);
    }
    let files = contents.keep(&root, &["lib/cur"], &mask).unwrap();
    assert_eq!((files.len(), files[0].kind), (1, CachedFileKind::Link));
    // A link to a place of this workspace is none in another one.
    let files = contents.keep(&root, &["lib/here"], &mask).unwrap();
    contents.restore(&root, &files).unwrap();
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let refused = contents.restore(&other, &files).unwrap_err();
    assert!(refused.reason.contains("leads out of this workspace"), "{}", refused.reason);
    assert!(fs::symlink_metadata(other.join("lib/here")).is_err());
}

#[test]
fn nothing_is_put_back_behind_a_link() {
    let dir = workspace();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("lib/v1/none")).unwrap();
    let contents = Contents::default();
    let files = contents.keep(&root, &["lib/v1"], &SecretMask::default()).unwrap();
    fs::remove_dir_all(root.join("lib/v1")).unwrap();
    fs::create_dir(root.join("guarded")).unwrap();
    symlink("../guarded", root.join("lib/v1")).unwrap();
    let refused = contents.restore(&root, &files).unwrap_err();
    assert!(refused.reason.starts_with("`lib/v1` is a link"), "{}", refused.reason);
    assert_eq!(fs::read_dir(root.join("guarded")).unwrap().count(), 0);
}

#[test]
fn what_globs_match_besides_is_found() {
    let dir = workspace();
    let root = dir.path().join("root");
    let contents = Contents::default();
    let files = contents.keep(&root, &["lib/**"], &SecretMask::default()).unwrap();
    let surplus = |globs: &[&str]| Vec::from_iter(surplus(&root, &texts(globs), &files).unwrap());
    fs::create_dir(root.join("lib/v2")).unwrap();
    assert_eq!(surplus(&["lib/**"]), [""; 0]);
    assert_eq!(surplus(&["lib/**", "*.txt"]), ["top.txt"]);
    symlink("v1", root.join("lib/cur")).unwrap();
    assert_eq!(surplus(&["lib/**"]), ["lib/cur"]);
    fs::remove_dir_all(root.join("lib")).unwrap();
    assert_eq!(surplus(&["lib/**"]), [""; 0]);
}

#[test]
fn a_file_that_was_there_before_is_known_until_it_is_written() {
    let dir = workspace();
    let root = dir.path().join("root");
    let globs = texts(&["lib/**", "*.txt"]);
    let before = EarlierFiles::find(&root, &globs).unwrap();
    assert_eq!(before.untouched(&root), Some("lib/v1/x.so"));
    fs::remove_file(root.join("lib/v1/x.so")).unwrap();
    assert_eq!(before.untouched(&root), Some("top.txt"));
    fs::write(root.join("new.txt"), "").unwrap();
    fs::write(root.join("top.txt"), "another size").unwrap();
    assert_eq!(before.untouched(&root), None);
    assert_eq!(EarlierFiles::default().untouched(&root), None);
}
