use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::{LockedSkill, SkillFileChangeKind, SkillLock, changes, locked_files};
use crate::{BundleFile, SkillBundle};
use wf_base::digest::Sha256Digest;

fn bundle() -> impl Strategy<Value = SkillBundle> {
    let file = (prop::collection::vec(any::<u8>(), 0..20), any::<bool>())
        .prop_map(|(bytes, is_executable)| BundleFile { bytes, is_executable });
    prop::collection::btree_map("[a-z]{1,3}(/[a-z\"é ]{1,3})?", file, 1..5)
        .prop_map(|files| SkillBundle { files })
}

fn lock(bundle: &SkillBundle) -> SkillLock {
    let locked = LockedSkill {
        folder: "skills/it".into(),
        source: "path:../it".into(),
        commit: None,
        digest: bundle.digest(),
        files: locked_files(bundle),
        granted: BTreeMap::new(),
        exceptions: BTreeMap::new(),
        report: Sha256Digest::of_bytes(b"report"),
        installer: Sha256Digest::of_bytes(b"key"),
        approvals: vec![json!({"payload": "x"})],
    };
    let mut lock = SkillLock::default();
    lock.skills.insert("it".into(), locked);
    lock
}

proptest! {
    #[test]
    fn what_was_written_is_read(bundle in bundle()) {
        let lock = lock(&bundle);
        prop_assert_eq!(SkillLock::parse(&lock.text()).unwrap(), lock);
    }

    #[test]
    fn any_flipped_bit_of_any_file_is_found(
        bundle in bundle(), which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let files = locked_files(&bundle);
        prop_assert_eq!(changes(&files, &bundle), Vec::new());
        let mut other = bundle.clone();
        let paths: Vec<String> = other.files.keys().cloned().collect();
        let path = which.get(&paths);
        let file = other.files.get_mut(path).unwrap();
        if file.bytes.is_empty() {
            file.bytes.push(0);
        } else {
            let at = at.index(file.bytes.len());
            file.bytes[at] ^= 1 << bit;
        }
        let found = changes(&files, &other);
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(&found[0].path, path);
        prop_assert_ne!(bundle.digest(), other.digest());
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = SkillLock::parse(&text);
    }
}

#[test]
fn every_kind_of_change_is_told() {
    let file = |text: &str, is_executable| BundleFile { bytes: text.into(), is_executable };
    let of = |all: &[(&str, &str, bool)]| SkillBundle {
        files: all.iter().map(|(path, text, x)| ((*path).to_owned(), file(text, *x))).collect(),
    };
    let before = of(&[("a", "1", false), ("b", "1", true), ("c", "1", false), ("d", "1", false)]);
    let after = of(&[("a", "2", true), ("b", "1", false), ("d", "1", false), ("e", "1", false)]);
    let found = changes(&locked_files(&before), &after);
    let found: Vec<(&str, SkillFileChangeKind)> =
        found.iter().map(|one| (one.path.as_str(), one.kind)).collect();
    assert_eq!(
        found,
        [
            ("a", SkillFileChangeKind::Changed),
            ("a", SkillFileChangeKind::Executable),
            ("b", SkillFileChangeKind::NotExecutable),
            ("c", SkillFileChangeKind::Removed),
            ("e", SkillFileChangeKind::Added),
        ]
    );
}

#[test]
fn only_the_one_form_is_read() {
    let text = lock(&SkillBundle::default()).text();
    let wrong = |text: &str| SkillLock::parse(text).unwrap_err().to_string();
    assert!(wrong("{").starts_with("skills.lock:1: "));
    let unknown = text.replace("\"folder\"", "\"more\": 1,\n      \"folder\"");
    assert!(wrong(&unknown).contains("unknown field `more`"), "{}", wrong(&unknown));
    let twice = text.replace("\"version\": 1", "\"version\": 1,\n  \"version\": 1");
    assert!(wrong(&twice).contains("duplicate field"), "{}", wrong(&twice));
    let other = text.replace("\"version\": 1", "\"version\": 2");
    assert!(wrong(&other).contains("version 2"));
    let spaced = text.replace("  \"version\"", "   \"version\"");
    assert!(wrong(&spaced).contains("not in the format that wf writes"));
    let files = "{\"x\": \"0\"}";
    let bad = text.replace("\"files\": {}", &format!("\"files\": {files}"));
    assert!(wrong(&bad).contains("hexadecimal"), "{}", wrong(&bad));
}
