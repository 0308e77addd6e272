use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::Value;

use super::{artifacts, compile, glob, matching};
use wf_base::{digest::Sha256Digest, redact::SecretMask};
use wf_model::{
    FailureClass,
    expr::{ExprReference, ExprScope, StatusFunction, Template},
};

fn workspace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in ["out/a.txt", "out/deep/b.txt", "out/c.bin", "top.txt", ".git/x.txt", "out/.wf/y.txt"] {
        let path = dir.path().join("root").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    fs::write(dir.path().join("outside.txt"), "").unwrap();
    dir
}

fn check(root: &Path, globs: &[&str], found: &[&str], idle: &[&str]) {
    let globs: Vec<String> = globs.iter().map(|glob| (*glob).into()).collect();
    let (files, without) = matching(root, &globs).unwrap();
    assert_eq!(files.keys().collect::<Vec<_>>(), found, "{globs:?}");
    assert_eq!(without, idle, "{globs:?}");
}

#[test]
fn globs_find_files_in_order() {
    let dir = workspace();
    let root = dir.path().join("root");
    check(&root, &["out/*.txt"], &["out/a.txt"], &[]);
    check(&root, &["./out/**/*.txt"], &["out/a.txt", "out/deep/b.txt"], &[]);
    check(&root, &["**/*.txt"], &["out/a.txt", "out/deep/b.txt", "top.txt"], &[]);
    check(&root, &["out"], &["out/a.txt", "out/c.bin", "out/deep/b.txt"], &[]);
    check(&root, &["out/"], &["out/a.txt", "out/c.bin", "out/deep/b.txt"], &[]);
    check(&root, &["out/d*"], &["out/deep/b.txt"], &[]);
    check(&root, &["top.txt", "*.txt"], &["top.txt"], &[]);
    check(&root, &["none", "*.none", "out/none/*"], &[], &["none", "*.none", "out/none/*"]);
    check(&root, &["{top,other}.txt", "out/[ab].txt"], &["out/a.txt", "top.txt"], &[]);
}

#[test]
fn no_glob_leaves_the_workspace() {
    let dir = workspace();
    let root = dir.path().join("root");
    std::os::unix::fs::symlink("../../outside.txt", root.join("out/escape.txt")).unwrap();
    std::os::unix::fs::symlink("..", root.join("up")).unwrap();
    std::os::unix::fs::symlink("a.txt", root.join("out/inner.txt")).unwrap();
    for (glob, part) in [
        ("../*.txt", "points outside the workspace"),
        ("out/../../x", "points outside the workspace"),
        ("/etc/*", "points outside the workspace"),
        ("up/*.txt", "points outside the workspace"),
        ("out/e*.txt", "points outside the workspace"),
        ("[", "invalid glob"),
    ] {
        let unable = matching(&root, &[glob.into()]).unwrap_err();
        assert!(unable.reason.contains(part), "{glob}: {unable}");
    }
    check(&root, &["out/i*.txt"], &["out/inner.txt"], &[]);
    check(&root, &["*/outside.txt"], &[], &["*/outside.txt"]);
}

#[test]
fn artifacts_that_are_missing_are_an_error() {
    let dir = workspace();
    let keep = |path: &Path| fs::read(path).map(|bytes| (Sha256Digest::of_bytes(&bytes), bytes.len() as u64));
    let root = dir.path().join("root");
    let kept = artifacts(&root, &["*.txt".into()], &SecretMask::default(), keep).unwrap();
    assert_eq!((kept[0].path.as_str(), kept[0].size), ("top.txt", 7));
    assert_eq!(kept[0].digest, Sha256Digest::of_bytes(b"top.txt"));
    let unable =
        artifacts(&root, &["*.txt".into(), "dist/*".into()], &SecretMask::default(), keep).unwrap_err();
    assert_eq!(
        (unable.reason.as_str(), unable.failure_class),
        ("no file matches `dist/*`", FailureClass::Logical)
    );
}

#[test]
fn a_file_with_a_secret_in_it_is_not_kept() {
    let dir = workspace();
    let root = dir.path().join("root");
    let keep = |_: &Path| Err::<(Sha256Digest, u64), _>("it was read");
    let mut text = vec![b'x'; 70_000];
    text.extend(b"Bearer hunter22");
    fs::write(root.join("top.txt"), text).unwrap();
    let unable = artifacts(&root, &["*.txt".into()], &SecretMask::new(["hunter22"]), keep).unwrap_err();
    assert_eq!(unable.failure_class, FailureClass::Logical);
    assert!(unable.reason.contains("`top.txt` contains a secret"), "{unable}");
}

#[test]
fn a_file_with_a_secret_in_its_name_is_not_kept() {
    let dir = workspace();
    let root = dir.path().join("root");
    fs::write(root.join("of-hunter22.txt"), "nothing").unwrap();
    let keep = |path: &Path| {
        let bytes = fs::read(path)?;
        Ok::<_, std::io::Error>((Sha256Digest::of_bytes(&bytes), bytes.len() as u64))
    };
    let globs = ["of-*.txt".to_owned()];
    let unable = artifacts(&root, &globs, &SecretMask::new(["hunter22"]), keep).unwrap_err();
    assert_eq!(unable.failure_class, FailureClass::Logical);
    assert!(unable.reason.contains("the file name `of-***.txt`"), "{unable}");
    // Without that secret it is.
    let kept = artifacts(&root, &globs, &SecretMask::new(["hunter33"]), keep).unwrap();
    assert_eq!(kept.len(), 1);
}

#[test]
fn links_do_not_lead_into_the_state() {
    let dir = workspace();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join(".wf/runs")).unwrap();
    fs::write(root.join(".wf/runs/log"), "").unwrap();
    std::os::unix::fs::symlink("../.wf/runs/log", root.join("out/file")).unwrap();
    std::os::unix::fs::symlink("../.wf", root.join("out/folder")).unwrap();
    for glob in ["out/file", "out/*", "out/folder", "out/folder/runs/*", ".wf/runs/log"] {
        let refused = matching(&root, &[glob.to_owned()]).unwrap_err();
        assert!(
            refused.reason.ends_with("points into the state directory of wf"),
            "{glob}: {}",
            refused.reason
        );
    }
}

/// An item and nothing else.
struct Item<'a>(&'a str);

impl ExprScope for Item<'_> {
    fn value(&self, reference: &ExprReference) -> Option<Value> {
        matches!(reference, ExprReference::Item).then(|| self.0.into())
    }

    fn test(&self, _: StatusFunction, _: Option<&str>) -> bool {
        false
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    /// Special characters in a value are literal; those of the template keep their meaning.
    #[test]
    fn a_value_in_a_glob_means_itself(
        own in r"[ab*?\[\]{},!^\\-]{1,6}",
        other in r"[ab*?\[\]{},!^\\-]{1,6}") {
        for text in ["out/{{ item }}.txt", "{out,log}/{{ item }}.*", "out/{x,{{ item }}}.txt"] {
            let globs = compile(&glob(&Template::read(text).unwrap(), &Item(&own)).unwrap()).unwrap();
            prop_assert!(globs.is_match(format!("out/{own}.txt")), "{text}");
            prop_assert_eq!(globs.is_match(format!("out/{other}.txt")), own == other, "{}", text);
        }
    }
}

#[test]
fn the_files_of_an_item_that_looks_like_a_glob_are_its_own() {
    let dir = workspace();
    let root = dir.path().join("root");
    fs::write(root.join("out/*.txt"), "").unwrap();
    let own = glob(&Template::read("out/{{ item }}.txt").unwrap(), &Item("*")).unwrap();
    check(&root, &[&own], &["out/*.txt"], &[]);
}
