use std::path::{Path, PathBuf};

use super::{super::archive, all, attempt, bytes, chunk, follow, followed, logs, tail, temporary, writer};
use crate::{
    log::{LogStream, target},
    processes::supervise::OutputSink as _,
};
use wf_base::digest::Sha256Digest;
use wf_core::machine::Attempt;

/// Returns the names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_archive_has_the_logs_of_a_run_as_they_were() {
    let (dir, path) = temporary();
    std::fs::write(dir.path().join("baseline"), "of the run").unwrap();
    let mut log = writer(&path, 1000);
    log.on_bytes(LogStream::Out, b"one\n");
    log.on_idle();
    // One follows from before, one begins when the files are gone.
    let (mut early, mut late) = (follow(&path), follow(&path));
    assert_eq!(followed(&mut early), "one\n");
    log.on_bytes(LogStream::Err, b"two\n");
    log.finish().logged.unwrap();
    let mut other = writer(&dir.path().join("b.0.1.log"), 1000);
    other.on_bytes(LogStream::Out, b"of another\n");
    other.finish().logged.unwrap();
    let (whole, end, length) = (all(&path), tail(&path, 1), logs(&path).length(&attempt()).unwrap());
    let digest = logs(&path).digest(&attempt()).unwrap().unwrap();
    assert_eq!((digest.size, digest.digest), (8, Sha256Digest::of_bytes(b"one\ntwo\n")));
    archive(dir.path()).unwrap();
    assert_eq!(names(dir.path()), ["baseline", "logs.tar"]);
    assert_eq!((all(&path), tail(&path, 1), logs(&path).length(&attempt()).unwrap()), (whole, end, length));
    assert_eq!((followed(&mut early).as_str(), followed(&mut late).as_str()), ("two\n", "one\ntwo\n"));
    assert_eq!(logs(&path).digest(&attempt()).unwrap(), Some(digest));
    let none = Attempt { attempt: 2, ..attempt() };
    assert_eq!(logs(&path).digest(&none).unwrap(), None);
    assert_eq!(logs(&path).read_chunks(&none).unwrap().count(), 0);
    let mut members = tar::Archive::new(std::fs::File::open(dir.path().join("logs.tar")).unwrap());
    let members = members.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().into_owned());
    let expected = ["a.1.log", "a.1.idx", "b.0.1.log", "b.0.1.idx"];
    assert_eq!(members.collect::<Vec<_>>(), expected.map(PathBuf::from));
    archive(dir.path()).unwrap();
    assert_eq!(names(dir.path()), ["baseline", "logs.tar"], "a second time nothing is left to do");
}

#[test]
fn an_archive_that_was_begun_hides_no_log() {
    let (dir, path) = temporary();
    let mut log = writer(&path, 1000);
    log.on_bytes(LogStream::Err, b"one\n");
    log.finish().logged.unwrap();
    let (index, content) = (target::index(&path), std::fs::read(&path).unwrap());
    archive(dir.path()).unwrap();
    // The process died before it removed the index, or before it removed both.
    std::fs::write(&index, "").unwrap();
    assert_eq!(all(&path), [chunk(LogStream::Err, "one\n")]);
    std::fs::write(&path, content).unwrap();
    assert_eq!(bytes(&path), b"one\n");
}

#[test]
fn what_is_no_archive_is_an_error_and_hides_no_log() {
    let (dir, path) = temporary();
    let file = dir.path().join("logs.tar");
    let write = || {
        let mut log = writer(&path, 1000);
        log.on_bytes(LogStream::Out, b"one\n");
        log.finish().logged.unwrap();
    };
    write();
    // Somebody was there before.
    std::fs::create_dir(&file).unwrap();
    archive(dir.path()).unwrap_err();
    assert_eq!((names(dir.path()).len(), bytes(&path)), (3, b"one\n".to_vec()));
    std::fs::remove_dir(&file).unwrap();
    let pipe_type = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &file, pipe_type, rustix::fs::Mode::RUSR, 0).unwrap();
    assert_eq!(bytes(&path), b"one\n");
    archive(dir.path()).unwrap();
    assert_eq!((names(dir.path()), bytes(&path)), (vec!["logs.tar".to_owned()], b"one\n".to_vec()));
    // It is damaged afterwards.
    let whole = std::fs::read(&file).unwrap();
    let fails = || logs(&path).read_chunks(&attempt()).unwrap_err().to_string();
    for length in [0, 100, 512, 700, 1024, whole.len() - 1024, whole.len() - 1] {
        std::fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(fails(), "logs.tar is damaged", "{length}");
    }
    std::fs::write(&file, b"root:x:0:0".repeat(100)).unwrap();
    assert_eq!(fails(), "logs.tar is damaged");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
    fails();
}

#[test]
fn a_log_whose_writer_died_stays_as_it_is() {
    let (dir, path) = temporary();
    let mut log = writer(&path, 40);
    for number in 10..40 {
        log.on_bytes(LogStream::Out, format!("{number}\n").as_bytes());
    }
    log.on_idle();
    let before = bytes(&path);
    archive(dir.path()).unwrap();
    assert_eq!((bytes(&path), names(dir.path()).len()), (before, 6));
}
