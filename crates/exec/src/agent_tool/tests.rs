use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _};

use proptest::prelude::*;

use super::{
    answer::{FileToolOrder, shown},
    stage::{command_line, is_stage},
};
use wf_core::agent::ToolRequest;

fn carried_out(root: &std::path::Path, request: ToolRequest) -> String {
    let answer = FileToolOrder { request, writable: None, untrusted: Vec::new() }.carry_out(root);
    assert!(!answer.is_error, "{}", answer.text);
    answer.text
}

fn read_from(root: &std::path::Path, offset: u64) -> String {
    carried_out(root, ToolRequest::Read { path: "file".into(), offset: Some(offset), limit: None })
}

#[test]
fn requests_about_files_have_a_command_line() {
    assert!(is_stage(&command_line()));
    assert!(!is_stage(&[]) && !is_stage(&["/proc/self/exe".into()]));
}

#[test]
fn names_are_shown_as_they_are_given_back() {
    for name in ["a b.txt", "naïve", "a`b", "a\\b"] {
        assert_eq!(shown(name), name);
    }
    for (name, quoted) in
        [("a\"b", r#""a\"b""#), (" a", "\" a\""), ("a\tb", r#""a\tb""#), ("\u{feff}", r#""\ufeff""#)]
    {
        assert_eq!(shown(name), quoted);
        assert_eq!(serde_json::from_str::<String>(quoted).unwrap(), name);
    }
    let broken = OsStr::from_bytes(b"caf\xe9");
    assert_eq!(shown(broken), "caf\u{fffd} (this name is not UTF-8)");
}

#[test]
fn a_line_that_is_longer_than_a_part_does_not_stop_reading() {
    let dir = tempfile::tempdir().unwrap();
    let long = "ä".repeat(300_000);
    fs::write(dir.path().join("file"), format!("first\n{long}\nlast")).unwrap();
    assert_eq!(read_from(dir.path(), 1), "first\n[lines 1 to 1 of 3 lines; continue with offset 2]");
    let middle = read_from(dir.path(), 2);
    assert!(
        middle.starts_with("ää") && middle.ends_with("[lines 2 to 2 of 3 lines; continue with offset 3]")
    );
    assert_eq!(read_from(dir.path(), 3), "last\n[lines 3 to 3, the end]");
}

#[test]
fn a_long_line_is_shown_around_its_match() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), format!("{}needle{}\r\n\n", "ö".repeat(500), "x".repeat(500)))
        .unwrap();
    let search = |pattern: &str| {
        carried_out(dir.path(), ToolRequest::Search { pattern: pattern.into(), path: None, glob: None })
    };
    let found = search("needle");
    let (place, line) = found.split_once(": ").unwrap();
    assert_eq!((place, line.chars().count()), ("file:1", 202));
    assert!(line.starts_with("…ö") && line.contains("öneedlex") && line.ends_with("x…"), "{line}");
    assert_eq!(search("^$"), "file:2: ");
    assert_eq!(search("x$").split_once(": ").unwrap().0, "file:1");
}

/// Reads a file as a model would, from the number that each answer names.
fn read_whole(root: &std::path::Path) -> String {
    let (mut offset, mut text) = (1, String::new());
    loop {
        let part = read_from(root, offset);
        let note =
            part.rfind("\n[lines ").map(|at| at + 1).or_else(|| part.starts_with("[lines ").then_some(0));
        let Some(at) = note else { return text + &part };
        text.push_str(&part[..at]);
        match part[at..].trim_end_matches(']').rsplit_once("continue with offset ") {
            Some((_, next)) => offset = next.parse().unwrap(),
            None => return text,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_parts_of_a_file_are_the_file(
        lines in prop::collection::vec("[a-zä🦀]{0,40}", 1..6), times in 1..2_000_usize, ends in any::<bool>()) {
        let mut text = (lines.join("\n") + "\n").repeat(times) + "end";
        if ends { text.push('\n'); }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), &text).unwrap();
        let whole = read_whole(dir.path());
        prop_assert_eq!(whole.trim_end_matches('\n'), text.trim_end_matches('\n'));
    }
}

#[test]
fn an_answer_says_whether_it_tells_of_untrusted_files() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for path in ["inbox/sub", "own", "vendor"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    fs::write(root.join("inbox/sub/a.txt"), "needle\n").unwrap();
    fs::write(root.join("inboxes.txt"), "trusted\n").unwrap();
    fs::write(root.join("vendor/b.txt"), "pin\n").unwrap();
    std::os::unix::fs::symlink("../inbox/sub/a.txt", root.join("own/link")).unwrap();
    std::os::unix::fs::symlink("vendor", root.join("named")).unwrap();
    fs::hard_link(root.join("inbox/sub/a.txt"), root.join("own/twin.txt")).unwrap();
    let is_untrusted = |request: ToolRequest| {
        let untrusted = vec!["./inbox/".to_owned(), "named".to_owned(), "missing".to_owned()];
        FileToolOrder { request, writable: None, untrusted }.carry_out(root).is_untrusted
    };
    let read = |path: &str| ToolRequest::Read { path: path.into(), offset: None, limit: None };
    for path in [
        "inbox/sub/a.txt",
        "own/link",
        "own/twin.txt",
        "own/../inbox/sub/a.txt",
        "vendor/b.txt",
        "named/b.txt",
    ] {
        assert!(is_untrusted(read(path)), "{path}");
    }
    for path in ["inboxes.txt", "own/none.txt", "inbox/none.txt"] {
        assert!(!is_untrusted(read(path)), "{path}");
    }
    let search = |pattern: &str| ToolRequest::Search { pattern: pattern.into(), path: None, glob: None };
    assert!(is_untrusted(search("needle")) && !is_untrusted(search("trusted")));
    let below = ToolRequest::Search {
        pattern: "needle".into(),
        path: Some("own".into()),
        glob: Some("twin*".into()),
    };
    assert!(is_untrusted(below), "a file of another name");
    let list = |path: &str| ToolRequest::List { path: Some(path.into()) };
    assert!(is_untrusted(list("inbox")) && is_untrusted(list("named")) && !is_untrusted(list(".")));
    let edit = |path: &str| ToolRequest::Edit { path: path.into(), old: "x".into(), new: "y".into() };
    assert!(is_untrusted(edit("own/link")) && !is_untrusted(edit("inboxes.txt")));
}
