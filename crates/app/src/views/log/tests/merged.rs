//! Outputs that are merged: each line once, in the order in which it came, wherever a reader begins.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use proptest::prelude::*;

use crate::views::log::{
    LogIndexCache, LogOutput, LogPattern,
    merged::{LineOfLog, MergedLogs},
};
use wf_base::{
    name::{Name, RunId},
    redact::SecretMask,
    time::{Clock, Moment},
};
use wf_core::machine::{Attempt, TaskId};
use wf_exec::log::{LogStream, LogTarget, LogWriter, RunLogs};

/// A clock that a test sets.
#[derive(Debug, Default)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Moment {
        Moment::from_millis(self.0.load(Ordering::Relaxed))
    }
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Writes lines to three logs, each some milliseconds after the one before, and opens these.
fn written(writes: &[(usize, i64)]) -> (tempfile::TempDir, Vec<LogOutput>) {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(SetClock::default());
    let mut writers = NAMES.map(|name| {
        let path = dir.path().join(format!("{name}.1.log"));
        let clock = Arc::clone(&clock) as Arc<dyn Clock>;
        LogWriter::new(LogTarget { path, limit: 1_000_000, mask: SecretMask::default(), clock }, None)
    });
    for (number, (log, wait)) in writes.iter().enumerate() {
        clock.0.fetch_add(*wait, Ordering::Relaxed);
        writers[*log].write(LogStream::Out, format!("{} {number}\n", NAMES[*log]).as_bytes());
    }
    for writer in writers {
        writer.finish().logged.unwrap();
    }
    let logs = RunLogs::new(dir.path().to_path_buf());
    let outputs = NAMES.map(|name| {
        let task_id = TaskId { step: Name::parse(name).unwrap(), item: None };
        let (run, attempt) = (RunId::from_bytes([1; 16]), Attempt { task_id, attempt: 1 });
        LogOutput::of_log(&run, attempt, Arc::clone(&logs), &LogIndexCache::default(), true).unwrap()
    });
    (dir, outputs.into())
}

fn texts(lines: &[LineOfLog]) -> Vec<String> {
    lines.iter().map(|line| line.line.text()).collect()
}

#[test]
fn lines_are_in_the_order_in_which_they_came() {
    let (_dir, outputs) = written(&[(1, 0), (0, 100), (0, 10), (2, 100), (1, 100), (0, 2_000)]);
    let merged = MergedLogs::of(outputs, None).unwrap();
    let lines = merged.lines(1, 99).unwrap();
    assert_eq!(texts(&lines), ["b 0", "a 1", "a 2", "c 3", "b 4", "a 5"]);
    assert_eq!(lines.iter().map(|line| line.line.n).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(lines.iter().map(|line| line.own).collect::<Vec<_>>(), [1, 1, 2, 1, 2, 3]);
    assert_eq!(lines[4].line.at, Some(Moment::from_millis(310)));
    assert_eq!(texts(&merged.lines(3, 2).unwrap()), ["a 2", "c 3"]);
    assert_eq!(texts(&merged.lines(7, 2).unwrap()), [""; 0]);
}

#[test]
fn a_line_of_a_run_that_goes_on_is_there_once_nothing_can_come_before_it() {
    let (_dir, outputs) = written(&[(1, 0), (0, 100), (2, 800), (0, 1_000)]);
    let merged = MergedLogs::of(outputs, Some(Moment::from_millis(1_950))).unwrap();
    assert_eq!(texts(&merged.lines(1, 99).unwrap()), ["b 0", "a 1", "c 2"]);
}

proptest! {
    #[test]
    fn every_reader_sees_the_same_lines(
        writes in proptest::collection::vec((0..NAMES.len(), 0_i64..120), 0..60),
        from in 1_u64..70,
        count in 0_u64..70,
    ) {
        let (_dir, outputs) = written(&writes);
        let merged = MergedLogs::of(outputs, None).unwrap();
        prop_assert_eq!(merged.total(), writes.len() as u64);
        let all = merged.lines(1, u64::MAX).unwrap();
        let mut sorted = texts(&all);
        sorted.sort();
        let mut expected: Vec<String> =
            writes.iter().enumerate().map(|(number, (log, _))| format!("{} {number}", NAMES[*log])).collect();
        expected.sort();
        prop_assert_eq!(sorted, expected, "each line is there once");
        prop_assert!(all.is_sorted_by_key(|line| line.line.at), "later lines came later");
        for log in 0..NAMES.len() {
            let own: Vec<u64> = all.iter().filter(|line| line.log == log).map(|line| line.own).collect();
            prop_assert!(own.iter().copied().eq(1..=own.len() as u64), "{own:?} follow each other");
        }
        let part: Vec<LineOfLog> =
            all.iter().filter(|line| (from..from + count).contains(&line.line.n)).cloned().collect();
        prop_assert_eq!(merged.lines(from, count).unwrap(), part);

        let pattern = LogPattern::parse("b", false).unwrap();
        let search = |after, most| {
            merged.search(after, most, |log, behind| log.hits(&pattern, behind, most, &|| false)).unwrap()
        };
        let wanted: Vec<u64> = all.iter().filter(|line| line.log == 1).map(|line| line.line.n).collect();
        let behind: Vec<u64> = wanted.iter().copied().filter(|n| *n > from).collect();
        let found = search(from, 3);
        prop_assert_eq!(found.more, behind.len() > 3);
        prop_assert_eq!(found.hits.iter().map(|hit| hit.n).collect::<Vec<_>>(), behind.into_iter().take(3).collect::<Vec<_>>());
    }
}
