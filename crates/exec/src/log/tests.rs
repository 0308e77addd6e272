mod archived;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use proptest::prelude::*;

use super::{LogChunk, LogFollower, LogStream, LogTarget, LogWriter, RunLogs, path, target};
use crate::processes::supervise::OutputSink as _;
use wf_base::{
    name::Name,
    redact::SecretMask,
    time::{FixedClock, Moment},
};
use wf_core::machine::{Attempt, TaskId};

const NOW: Moment = Moment::from_millis(1_700_000_000_000);

fn writer(path: &Path, limit: u64) -> LogWriter {
    let target = LogTarget {
        path: path.to_path_buf(),
        limit,
        mask: SecretMask::default(),
        clock: Arc::new(FixedClock(NOW)),
    };
    LogWriter::new(target, None)
}

fn chunk(stream: LogStream, text: &str) -> LogChunk {
    LogChunk { stream, at: NOW, bytes: text.into() }
}

/// The attempt whose log the tests write.
fn attempt() -> Attempt {
    Attempt { task_id: TaskId { step: Name::parse("a").unwrap(), item: None }, attempt: 1 }
}

/// Returns the logs in the folder of a log.
fn logs(path: &Path) -> Arc<RunLogs> {
    RunLogs::new(path.parent().unwrap().to_path_buf())
}

fn all(path: &Path) -> Vec<LogChunk> {
    logs(path).read_chunks(&attempt()).unwrap().map(Result::unwrap).collect()
}

fn tail(path: &Path, lines: usize) -> String {
    logs(path).tail(&attempt(), lines).unwrap()
}

fn follow(path: &Path) -> LogFollower {
    logs(path).follow(&attempt())
}

fn bytes(path: &Path) -> Vec<u8> {
    all(path).into_iter().flat_map(|chunk| chunk.bytes).collect()
}

fn temporary() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.1.log");
    (dir, path)
}

#[test]
fn the_name_tells_the_attempt() {
    let attempt =
        |item| Attempt { task_id: TaskId { step: Name::parse("build").unwrap(), item }, attempt: 2 };
    let name = |item| path(Path::new("logs"), &attempt(item));
    assert_eq!(name(None), Path::new("logs/build.2.log"));
    assert_eq!(name(Some(7)), Path::new("logs/build.7.2.log"));
    assert_eq!(target::index(&name(None)), Path::new("logs/build.2.idx"));
    let [older, newer] = target::end_paths(&name(Some(7)));
    assert_eq!(older, Path::new("logs/build.7.2.older.log"));
    assert_eq!(target::index(&newer), Path::new("logs/build.7.2.newer.idx"));
}

#[test]
fn streams_and_times_are_read_back() {
    let (_dir, path) = temporary();
    let mut log = writer(&path, 1000);
    log.on_bytes(LogStream::Out, b"one\n");
    log.on_bytes(LogStream::Out, b"two\nthr");
    log.on_bytes(LogStream::Err, b"oops\n");
    log.on_bytes(LogStream::Out, b"ee\n");
    log.on_bytes(LogStream::Note, b"note\n");
    assert_eq!(log.finish().logged, Ok(24));
    assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\noops\nthree\nnote\n");
    assert_eq!(
        all(&path),
        [
            chunk(LogStream::Out, "one\ntwo\n"),
            chunk(LogStream::Err, "oops\n"),
            chunk(LogStream::Out, "three\n"),
            chunk(LogStream::Note, "note\n"),
        ]
    );
    assert_eq!(tail(&path, 2), "three\nnote");
}

#[test]
fn no_log_is_an_empty_log() {
    let (_dir, path) = temporary();
    assert_eq!(all(&path), []);
    assert_eq!(tail(&path, 5), "");
    assert_eq!(follow(&path).next_chunks().unwrap(), []);
}

#[test]
fn a_follower_sees_everything_once() {
    let (_dir, path) = temporary();
    let mut log = writer(&path, 1000);
    let mut follower = follow(&path);
    assert_eq!(follower.next_chunks().unwrap(), []);
    log.on_bytes(LogStream::Out, b"one\n");
    assert!(log.has_pending());
    log.on_idle();
    assert!(!log.has_pending());
    assert_eq!(follower.next_chunks().unwrap(), [chunk(LogStream::Out, "one\n")]);
    assert_eq!(follower.next_chunks().unwrap(), []);
    log.on_bytes(LogStream::Out, b"two\n");
    log.on_bytes(LogStream::Err, b"three\n");
    log.on_idle();
    let came = [chunk(LogStream::Out, "two\n"), chunk(LogStream::Err, "three\n")];
    assert_eq!(follower.next_chunks().unwrap(), came);
    log.on_bytes(LogStream::Out, b"four");
    assert_eq!(follower.next_chunks().unwrap(), []);
    log.finish().logged.unwrap();
    assert_eq!(follower.next_chunks().unwrap(), [chunk(LogStream::Out, "four")]);
}

#[test]
fn the_first_and_the_last_are_kept() {
    let (_dir, path) = temporary();
    let mut log = writer(&path, 40);
    for number in 10..40 {
        log.on_bytes(LogStream::Out, format!("{number}\n").as_bytes());
    }
    // While it is written, the missing middle is shown as missing.
    let text = String::from_utf8(bytes(&path)).unwrap();
    assert!(text.starts_with("10\n11\n") && text.contains("the middle omitted"), "{text}");
    assert_eq!(tail(&path, 1), "39");
    log.finish().logged.unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "10\n11\n12\n13\n14\n15\n16\n… 50 bytes omitted …\n3\n34\n35\n36\n37\n38\n39\n"
    );
    let notes: Vec<LogChunk> = all(&path).into_iter().filter(|c| c.stream == LogStream::Note).collect();
    assert_eq!(notes, [chunk(LogStream::Note, "\n… 50 bytes omitted …\n")]);
}

/// Returns the output of a follower as text.
fn followed(follower: &mut LogFollower) -> String {
    let chunks = std::iter::from_fn(|| Some(follower.next_chunks().unwrap()).filter(|c| !c.is_empty()));
    let bytes = chunks.flatten().flat_map(|chunk| chunk.bytes);
    String::from_utf8(bytes.collect()).unwrap()
}

#[test]
fn a_long_log_is_followed_to_its_end() {
    let (_dir, path) = temporary();
    let mut log = writer(&path, 40);
    let mut follower = follow(&path);
    let mut seen = String::new();
    for number in 10..40 {
        log.on_bytes(LogStream::Out, format!("{number}\n").as_bytes());
        log.on_idle();
        seen += &followed(&mut follower);
    }
    let all: String = (10..40).map(|number| format!("{number}\n")).collect();
    assert_eq!(seen, all);
    // One that comes late misses the middle, and one that rests misses some of it.
    let mut late = follow(&path);
    let note = "\n… the middle omitted …\n";
    let end = format!("10\n11\n12\n13\n14\n15\n16{note}3\n34\n35\n36\n37\n38\n39\n");
    assert_eq!(followed(&mut late), end);
    for number in 40..60 {
        log.on_bytes(LogStream::Out, format!("{number}\n").as_bytes());
    }
    log.on_bytes(LogStream::Out, b"the end");
    log.finish().logged.unwrap();
    // The last seen part is gone from the log, so all of the remaining log follows.
    let missed = followed(&mut follower);
    assert!(missed.ends_with("57\n58\n59\nthe end"), "{missed}");
    assert_eq!(followed(&mut late), missed);
    assert_eq!(followed(&mut late), "");
}

#[test]
fn the_last_line_is_followed_though_the_parts_are_one_by_then() {
    for length in 41..80 {
        let (_dir, path) = temporary();
        let mut log = writer(&path, 80);
        let text: String = (0..length).map(|at| char::from(b'0' + at)).collect();
        let (first, last) = text.split_at(text.len() - 7);
        log.on_bytes(LogStream::Out, first.as_bytes());
        log.on_idle();
        let mut follower = follow(&path);
        let mut seen = followed(&mut follower);
        log.on_bytes(LogStream::Err, last.as_bytes());
        log.finish().logged.unwrap();
        seen += &followed(&mut follower);
        assert_eq!(seen.replace("\n… the middle omitted …\n", ""), text, "{length}");
    }
}

#[test]
fn bytes_that_the_index_does_not_know_are_shown() {
    let (_dir, path) = temporary();
    let mut log = writer(&path, 1000);
    log.on_bytes(LogStream::Err, b"known\n");
    log.finish().logged.unwrap();
    let index = target::index(&path);
    std::fs::write(&index, &std::fs::read(&index).unwrap()[..7]).unwrap();
    assert_eq!(bytes(&path), b"known\n");
    std::fs::remove_file(&index).unwrap();
    assert_eq!(bytes(&path), b"known\n");
    std::fs::write(&index, [0xff; 600]).unwrap();
    assert_eq!(bytes(&path), b"known\n");
}

#[test]
fn a_drizzle_has_a_small_index() {
    let (_dir, path) = temporary();
    let mut log = writer(&path, 64_000);
    for _ in 0..10_000 {
        log.on_bytes(LogStream::Out, b"\n");
        log.on_bytes(LogStream::Err, b"\n");
    }
    log.finish().logged.unwrap();
    let size = std::fs::metadata(target::index(&path)).unwrap().len();
    assert!(size <= 12 * (4096 + 64_000 / 64), "{size}");
    assert_eq!(bytes(&path).len(), 20_000);
}

#[test]
fn a_tail_is_bounded_and_harmless() {
    let (_dir, path) = temporary();
    let mut log = writer(&path, 1_000_000);
    log.on_bytes(LogStream::Out, &vec![b'x'; 300_000]);
    log.on_bytes(LogStream::Out, b"\n\x1b[31mred\xff\n\n");
    log.finish().logged.unwrap();
    assert_eq!(tail(&path, 1), "red\u{fffd}");
    assert_eq!(tail(&path, 2).len(), 64 * 1024 - 10 + 5);
    assert_eq!(tail(&path, 0), "red\u{fffd}");
}

#[test]
fn a_log_that_just_fits_is_kept_whole() {
    for limit in 1..80_u64 {
        let (_dir, path) = temporary();
        let mut log = writer(&path, limit);
        let given: Vec<u8> = (0..limit).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect();
        given.chunks(7).for_each(|part| log.on_bytes(LogStream::Out, part));
        log.finish().logged.unwrap();
        assert_eq!(bytes(&path), given, "{limit}");
    }
}

#[test]
fn the_rest_of_a_log_that_was_killed_is_read_once_it_is_over() {
    let (_dir, path) = temporary();
    let mut log = writer(&path, 1000);
    log.on_bytes(LogStream::Out, b"one\n");
    log.on_idle();
    // The index of what follows is never written.
    log.on_bytes(LogStream::Out, b"two\n");
    let mut follower = follow(&path);
    assert_eq!(followed(&mut follower), "one\n");
    std::mem::forget(log);
    assert_eq!(follower.next_of_ended().unwrap().map(|chunk| chunk.bytes), Some(b"two\n".to_vec()));
    assert_eq!(follower.next_of_ended().unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Below the limit everything is kept; above it, the beginning and the end.
    #[test]
    fn what_is_kept_was_written(
        parts in proptest::collection::vec(
            (any::<bool>(), proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..30)),
            0..30,
        ),
        limit in 1_u64..600) {
        let (_dir, path) = temporary();
        let mut log = writer(&path, limit);
        let mut lines = 0;
        for (err, part) in &parts {
            let stream = if *err { LogStream::Err } else { LogStream::Out };
            log.on_bytes(stream, part);
            lines += part.len();
        }
        let kept = log.finish().logged.unwrap();
        let read = bytes(&path);
        prop_assert_eq!(read.len() as u64, kept);
        let chunks = all(&path);
        let of = |stream| -> Vec<u8> {
            chunks.iter().filter(|c| c.stream == stream).flat_map(|c| c.bytes.clone()).collect()
        };
        let given = |err| -> Vec<u8> {
            parts.iter().filter(|(of, _)| *of == err).flat_map(|(_, part)| part.clone()).collect()
        };
        if lines as u64 <= limit && limit >= 4 {
            prop_assert_eq!(of(LogStream::Out), given(false));
            prop_assert_eq!(of(LogStream::Err), given(true));
        }
        let without_notes = of(LogStream::Out).len() + of(LogStream::Err).len();
        prop_assert!(without_notes as u64 <= limit + 1, "{} of {}", without_notes, limit);
    }
}
