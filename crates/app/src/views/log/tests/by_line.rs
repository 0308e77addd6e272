//! Lines of logs that grow, are cut in the middle or are long, compared with what a terminal would show of all their bytes.

use std::{path::Path, sync::Arc};

use proptest::prelude::*;

use super::{line, writer};
use crate::views::log::{LogIndexCache, LogOutput, LogPattern, index::BLOCK_LINES};
use wf_base::{
    name::{Name, RunId},
    untrusted::UntrustedText,
};
use wf_core::machine::{Attempt, TaskId};
use wf_exec::log::{LogStream, RunLogs};

const LIMIT: u64 = 10_000_000;

fn open(folder: &Path, indexes: &LogIndexCache) -> LogOutput {
    let task_id = TaskId { step: Name::parse("talk").unwrap(), item: None };
    let logs = RunLogs::new(folder.to_path_buf());
    let run = RunId::from_bytes([1; 16]);
    LogOutput::of_log(&run, Attempt { task_id, attempt: 1 }, Arc::clone(&logs), indexes, true).unwrap()
}

/// Writes a log, and opens it.
fn written(bytes: &[u8]) -> (tempfile::TempDir, LogOutput) {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = writer(&dir.path().join("talk.1.log"), LIMIT);
    writer.write(LogStream::Out, bytes);
    writer.finish().logged.unwrap();
    let output = open(dir.path(), &LogIndexCache::default());
    (dir, output)
}

fn texts(output: &LogOutput, from: Option<u64>, count: u64) -> Vec<String> {
    output.lines(from, count).unwrap().lines.iter().map(super::super::LogLine::text).collect()
}

/// Returns the numbers of the lines in which something is found, and whether there may be more.
fn found(output: &LogOutput, text: &str, is_regex: bool, after: u64, count: usize) -> (Vec<u64>, bool) {
    let pattern = LogPattern::parse(text, is_regex).unwrap();
    let hits = output.hits(&pattern, after, count, &|| false).unwrap();
    (hits.hits.iter().map(|hit| hit.n).collect(), hits.more)
}

#[test]
fn any_lines_of_a_long_log_are_read() {
    let all: String = (1..=5_000).map(|number| format!("line {number}\n")).collect();
    let (_dir, output) = written((all + "open").as_bytes());
    assert_eq!(output.line_count(), 5_001);
    for first in [1, 2, 1_023, 1_024, 1_025, 2_048, 2_049, 4_999] {
        let expected: Vec<String> = (first..first + 2).map(|number| format!("line {number}")).collect();
        assert_eq!(texts(&output, Some(first), 2), expected);
    }
    assert_eq!(texts(&output, Some(5_000), 9), ["line 5000", "open"]);
    assert_eq!(texts(&output, None, 2), ["line 5000", "open"], "the last ones");
    assert_eq!(texts(&output, Some(5_002), 2), [""; 0]);
    assert_eq!(texts(&output, Some(0), 1), ["line 1"]);
    assert_eq!(output.lines(Some(1), u64::MAX).unwrap().lines.len(), 2_000, "an answer is bounded");
}

#[test]
fn an_index_grows_with_its_log_and_begins_anew_with_another() {
    let dir = tempfile::tempdir().unwrap();
    let indexes = LogIndexCache::default();
    let mut writer = writer(&dir.path().join("talk.1.log"), LIMIT);
    assert_eq!(open(dir.path(), &indexes).line_count(), 0, "a silent attempt has no log");
    for count in 1..=6 {
        for number in 0..500 {
            writer.write(LogStream::Out, format!("{count} {number}\n").as_bytes());
        }
        let output = open(dir.path(), &indexes);
        assert_eq!(output.line_count(), count * 500);
        assert_eq!(texts(&output, None, 1), [format!("{count} 499")]);
        assert_eq!(texts(&output, Some(count * 500 - 499), 1), [format!("{count} 0")]);
    }
    writer.finish().logged.unwrap();
    std::fs::remove_file(dir.path().join("talk.1.log")).unwrap();
    std::fs::remove_file(dir.path().join("talk.1.idx")).unwrap();
    std::fs::write(dir.path().join("talk.1.log"), "another\n").unwrap();
    assert_eq!(texts(&open(dir.path(), &indexes), None, 5), ["another"]);
}

#[test]
fn a_log_without_its_middle_is_read_while_it_grows() {
    let dir = tempfile::tempdir().unwrap();
    let indexes = LogIndexCache::default();
    let mut writer = writer(&dir.path().join("talk.1.log"), 4_000);
    let mut last = 0;
    for number in 0..400 {
        writer.write(LogStream::Out, line(number).as_bytes());
        let output = open(dir.path(), &indexes);
        let total = output.line_count();
        let all = texts(&output, Some(1), 1_000);
        assert_eq!(all.len() as u64, total);
        assert_eq!(format!("{}\n", all.last().unwrap()), line(number));
        assert!(total < 400);
        last = number;
    }
    writer.finish().logged.unwrap();
    let whole = texts(&open(dir.path(), &indexes), Some(1), 1_000);
    assert_eq!(format!("{}\n", whole.last().unwrap()), line(last));
    assert!(whole.iter().any(|line| line.contains("omitted")), "{whole:?}");
}

#[test]
fn a_line_is_shown_as_a_terminal_leaves_it() {
    let (_dir, output) =
        written(b"10%\r50%\r\x1b[32mdone\r\nnext\n\x1b[0m\xe2\x80\xaeplain\x1b[2J\n\r\n\xff\n1\r2");
    assert_eq!(texts(&output, Some(1), 9), ["done", "next", "⟨U+202E⟩plain⟨U+001B⟩[2J", "", "\u{fffd}", "2"]);
    let lines = output.lines(Some(1), 3).unwrap().document();
    let spans = serde_json::json!([{"from": 0, "to": 4, "style": "fg-green"}]);
    let at = "1970-01-01T00:00:00.000Z";
    assert_eq!(lines["lines"][0], serde_json::json!({"n": 1, "text": "done", "spans": spans, "at": at}));
    assert_eq!(lines["lines"][1]["spans"][0]["style"], "fg-green", "a style lasts until it is changed");
    assert_eq!(lines["lines"][2]["spans"], serde_json::json!([]));
}

#[test]
fn a_very_long_line_is_cut_and_says_so() {
    let long = "é".repeat(300_000);
    let (_dir, output) =
        written(format!("{long}\nnext\n{}\r{long}!\nlast\n", "x".repeat(100_000)).as_bytes());
    let lines = output.lines(Some(1), 9).unwrap().lines;
    assert_eq!(lines.iter().map(|line| line.n).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(lines[0].text().chars().all(|c| c == 'é') && lines[2].text().chars().all(|c| c == 'é'));
    assert_eq!(lines[0].omitted, 600_000 - 16 * 1024);
    assert_eq!((lines[1].text().as_str(), lines[1].omitted), ("next", 0));
    assert_eq!(found(&output, "!", false, 0, 9).0, [3], "all of it is searched");
}

#[test]
fn a_text_is_found_in_each_line_that_has_it() {
    let all: String =
        (1..=3_000).map(|number| format!("line {number} Über {}\n", ["ok", "FAILED"][number % 2])).collect();
    let coloured = all.replace("FAILED", "FA\x1b[31mILED\x1b[0m");
    for text in [all.as_str(), coloured.as_str()] {
        let (_dir, output) = written(text.as_bytes());
        assert_eq!(found(&output, "line 3000 ü", false, 0, 9), (vec![3_000], false));
        assert_eq!(found(&output, "failed", false, 0, 3), (vec![1, 3, 5], true));
        assert_eq!(found(&output, "failed", false, 5, 2), (vec![7, 9], true));
        assert_eq!(found(&output, "failed", false, 2_997, 2), (vec![2_999], false));
        assert_eq!(found(&output, "^line 10+ .*ok$", true, 0, 9), (vec![10, 100, 1_000], false));
        assert_eq!(found(&output, "failed\\s+line", true, 0, 9), (vec![], false), "not beyond a line");
        assert_eq!(found(&output, "[^x]*3000", true, 0, 1), (vec![3_000], false));
        assert_eq!(found(&output, ".", true, 0, usize::MAX).0.len(), 500);
        assert_eq!(found(&output, ".", false, 0, 9), (vec![], false), "a text is no expression");
        let pattern = LogPattern::parse("failed", false).unwrap();
        let hit = &output.hits(&pattern, 0, 1, &|| false).unwrap().hits[0];
        assert_eq!((hit.at, hit.length, hit.excerpt.as_str()), (Some(12), 6, "line 1 Über FAILED"));
    }
}

#[test]
fn what_cannot_be_searched_has_a_reason() {
    for (text, reason) in [("", "nothing"), ("(", "unclosed group"), ("a{900}{900}", "large")] {
        let problem = LogPattern::parse(text, true).unwrap_err();
        assert!(problem.contains(reason), "{text}: {problem}");
    }
    assert!(LogPattern::parse(&"x".repeat(1_001), false).unwrap_err().contains("longer"));
    assert!(LogPattern::parse("(", false).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn lines_are_those_of_the_whole_text(
        parts in proptest::collection::vec("([a-c]{0,4}|\r|\u{1b}\\[3[0-9]m|\u{202e}|\n\n\n|\n){0,12}", 1..60),
        wanted in 1_u64..300,
    ) {
        let text = parts.concat().repeat(12);
        let (_dir, output) = written(text.as_bytes());
        let shown = |line: &str| UntrustedText::printed(line.as_bytes()).block().trim_end_matches('\n').to_owned();
        let expected: Vec<String> = text.split_inclusive('\n').map(shown).collect();
        prop_assert_eq!(output.line_count(), expected.len() as u64);
        let from = wanted.min(expected.len() as u64 + 1);
        let rest = &expected[usize::try_from(from - 1).unwrap()..];
        let all: Vec<String> = texts(&output, Some(from), 2_000);
        prop_assert_eq!(&all, &rest[..rest.len().min(2_000)]);
        let with_b: Vec<u64> = (1..).zip(&expected).filter(|(_, line)| line.contains('b')).map(|(n, _)| n).collect();
        prop_assert_eq!(&found(&output, "b", false, 0, 500).0, &with_b[..with_b.len().min(500)]);
        prop_assert_eq!(&found(&output, "b+", true, 0, 500).0, &with_b[..with_b.len().min(500)]);
    }
}

#[test]
fn a_style_does_not_depend_on_where_a_reader_begins() {
    let all: String = (1..=2 * BLOCK_LINES + 5)
        .map(
            |number| {
                if number % 700 == 1 { format!("\x1b[31mred {number}\n") } else { format!("{number}\n") }
            },
        )
        .collect();
    let (_dir, output) = written(all.as_bytes());
    let all: Vec<_> =
        (0..3).flat_map(|part| output.lines(Some(part * 1_000 + 1), 1_000).unwrap().lines).collect();
    for first in [5, 1_020, 1_030, 2_000] {
        let at = usize::try_from(first - 1).unwrap();
        assert_eq!(output.lines(Some(first), 20).unwrap().lines, all[at..at + 20]);
    }
}

#[test]
fn a_search_that_takes_too_long_is_given_up() {
    let (_dir, output) = written("line\n".repeat(2_000).as_bytes());
    let pattern = LogPattern::parse("x+", true).unwrap();
    let hits = output.hits(&pattern, 0, 9, &|| true).unwrap();
    assert!(hits.is_given_up && hits.hits.is_empty());
    assert!(!output.hits(&pattern, 0, 9, &|| false).unwrap().is_given_up);
}
