//! A reader whose stream breaks, anywhere and again and again, and who goes on from the position that it has.

mod by_line;
mod merged;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{LogFeed, LogStart, feed::MAX_PART_BYTES};
use wf_base::{
    name::{Name, RunId},
    redact::SecretMask,
    time::{FixedClock, Moment},
};
use wf_core::machine::{Attempt, TaskId};
use wf_exec::log::{LogStream, LogTarget, LogWriter, RunLogs};

/// A reader as the script of a page is one.
struct LogClient {
    path: PathBuf,
    feed: LogFeed,
    /// The texts that it shows, each with whether it is behind an omission.
    shown: Vec<(bool, String)>,
    is_in_rest: bool,
    offset: u64,
}

impl LogClient {
    fn open(path: &Path) -> Self {
        let (path, feed) = (path.to_path_buf(), feed(path, LogStart::Offset(0)));
        Self { path, feed, shown: Vec::new(), is_in_rest: false, offset: 0 }
    }

    /// Loses its stream, and opens another one from the position of the last part.
    fn reconnect(&mut self) {
        self.feed = feed(&self.path, LogStart::Offset(self.offset));
        self.shown.retain(|(is_rest, _)| !is_rest);
        self.is_in_rest = false;
    }

    /// Takes what is there; its stream breaks once, after the first part of which `breaks` says so. Behind an omission it
    /// begins anew each time, so that one that broke after each part would never end.
    fn take(&mut self, is_over: bool, mut breaks: impl FnMut() -> bool) {
        let mut has_broken = false;
        while let Some(part) = self.feed.next_part(is_over).unwrap() {
            self.is_in_rest |= part.begins_rest;
            self.offset = part.offset;
            self.shown.push((self.is_in_rest, part.text));
            if !has_broken && breaks() {
                has_broken = true;
                self.reconnect();
            }
        }
    }

    fn text(&self) -> String {
        self.shown.iter().map(|(_, text)| text.as_str()).collect()
    }
}

fn feed(path: &Path, start: LogStart) -> LogFeed {
    let task_id = TaskId { step: Name::parse("talk").unwrap(), item: None };
    let run = RunId::from_bytes([1; 16]);
    let logs = RunLogs::new(path.parent().unwrap().to_path_buf());
    LogFeed::open(run, Attempt { task_id, attempt: 1 }, logs, start).unwrap()
}

fn writer(path: &Path, limit: u64) -> LogWriter {
    let clock = Arc::new(FixedClock(Moment::default()));
    let target = LogTarget { path: path.to_path_buf(), limit, mask: SecretMask::default(), clock };
    LogWriter::new(target, None)
}

fn line(number: usize) -> String {
    format!("line {number} {}\n", "x".repeat(number % 40))
}

/// Returns the numbers of the lines in a text.
fn numbers(text: &str) -> Vec<usize> {
    text.lines().filter_map(|line| line.strip_prefix("line ")?.split(' ').next()?.parse().ok()).collect()
}

#[test]
fn a_stream_that_breaks_after_any_part_loses_and_repeats_nothing() {
    for every in 1..=5 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("talk.1.log");
        let (mut writer, mut client) = (writer(&path, 1_000_000), LogClient::open(&path));
        let mut count = 0;
        let mut breaks = || {
            count += 1;
            count % every == 0
        };
        let mut expected = String::new();
        for number in 0..60 {
            let text = line(number);
            // A line comes in pieces, some of them while the reader is away.
            let (first, rest) = text.split_at(number % 5);
            writer.write(LogStream::Out, first.as_bytes());
            client.take(false, &mut breaks);
            writer.write(LogStream::Out, rest.as_bytes());
            if number % 3 > 0 {
                client.take(false, &mut breaks);
            }
            expected += &text;
        }
        writer.write(LogStream::Out, b"no line end");
        writer.finish().logged.unwrap();
        client.reconnect();
        client.take(true, &mut breaks);
        assert_eq!(client.text(), expected + "no line end", "broken after every {every}. part");
    }
}

#[test]
fn behind_an_omission_the_rest_is_sent_again_to_who_was_away() {
    for (every, expected) in [(1, 400), (3, 400), (usize::MAX, 400), (usize::MAX, 30), (2, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("talk.1.log");
        let (mut writer, mut client) = (writer(&path, 4_000), LogClient::open(&path));
        let mut count = 0_usize;
        let mut breaks = || {
            count += 1;
            count.is_multiple_of(every)
        };
        for number in 0..400 {
            writer.write(LogStream::Out, line(number).as_bytes());
            if number < expected {
                client.take(false, &mut breaks);
                let shown = numbers(&client.text());
                assert!(shown.is_sorted_by(|one, next| one < next), "{every}, {expected}: {shown:?}");
            }
        }
        writer.finish().logged.unwrap();
        // A reader that stayed has the end, each line once.
        client.take(true, || false);
        let shown = numbers(&client.text());
        assert!(shown.is_sorted_by(|one, next| one < next), "{every}, {expected}: {shown:?}");
        assert_eq!((shown.first(), shown.last()), (Some(&0), Some(&399)), "{every}, {expected}");
        // One that comes back has exactly what there is.
        client.reconnect();
        client.take(true, || false);
        let mut whole = LogClient::open(&path);
        whole.take(true, || false);
        assert_eq!(client.text(), whole.text(), "{every}, {expected}");
        assert_eq!(numbers(&whole.text()).last(), Some(&399));
        assert!(numbers(&whole.text()).len() < 400 && whole.text().contains("omitted"), "{}", whole.text());
    }
}

#[test]
fn a_part_is_bounded_and_a_position_may_be_within_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("talk.1.log");
    let mut writer = writer(&path, 10_000_000);
    writer.write(LogStream::Out, "y".repeat(5 * MAX_PART_BYTES / 2).as_bytes());
    writer.write(LogStream::Out, b"\nlast\n");
    writer.finish().logged.unwrap();
    let mut client = LogClient::open(&path);
    client.take(true, || true);
    assert!(client.shown.len() >= 3, "{}", client.shown.len());
    assert!(client.shown.iter().all(|(_, text)| text.len() <= 2 * MAX_PART_BYTES));
    assert_eq!(client.text(), "y".repeat(5 * MAX_PART_BYTES / 2) + "\nlast\n");
}
