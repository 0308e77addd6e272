use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Task;
use crate::crash;
use crate::exec::attempt::Gone;

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The keeper began.
    Keeps {
        /// Its process.
        pid: i32,
        /// How it finds what its processes start: besides their sessions and marks, whether what
        /// loses its parent comes to it.
        adopts: bool,
        /// The control group that they are in, if there is one.
        group: Option<PathBuf>,
    },
    /// An attempt is about to be started.
    Begins {
        /// Which.
        task: Task,
        /// What its processes bear in their environment.
        mark: String,
    },
    /// Its process was started.
    Runs {
        /// Which.
        task: Task,
        /// The process, which leads a session.
        pid: i32,
        /// When it began, in ticks since the boot.
        start: u64,
    },
    /// Its work ended.
    Ended {
        /// Which.
        task: Task,
        /// How.
        gone: Gone,
    },
}

/// What a journal says of one attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// What its processes bear in their environment.
    pub mark: String,
    /// Its process, and when that began, if it was started.
    pub process: Option<(i32, u64)>,
    /// How its work ended, if it has.
    pub gone: Option<Gone>,
}

/// Where a keeper notes what began and how it ended. Lines are not synced: they are for those
/// who come after the death of a process, not of the machine.
#[derive(Debug)]
pub struct Journal(File);

impl Journal {
    /// Opens a journal for more lines.
    pub fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map(Self)
    }

    /// Adds a line.
    pub fn note(&mut self, note: &Note) -> io::Result<()> {
        let mut line = serde_json::to_vec(note)?;
        line.push(b'\n');
        crash::point("journal.before");
        self.0.write_all(&line)?;
        crash::point("journal.after");
        Ok(())
    }
}

/// Says that the engine lives that a keeper works for, as long as what is given lives: as with all
/// locks of files, its death ends that. Makes the journal, in which the keeper will write.
pub(super) fn claim(path: &Path) -> io::Result<File> {
    let file = Journal::open(path)?.0;
    // Where files cannot be locked, keepers are asked.
    let _ = file.lock();
    Ok(file)
}

/// Whether the engine is gone that a keeper worked for, and the journal is still there.
pub(super) fn is_orphaned(path: &Path) -> bool {
    let lock = |file: File| file.try_lock_shared();
    File::open(path).is_ok_and(|file| !matches!(lock(file), Err(TryLockError::WouldBlock)))
}

/// Reads what a journal says of an attempt; `None`: nothing. A line that is torn, because the
/// keeper died while it wrote, was not yet relied on.
pub fn read(path: &Path, task: &Task) -> io::Result<Option<Entry>> {
    let mut found: Option<Entry> = None;
    for note in notes(path)? {
        match note {
            Note::Begins { task: about, mark } if about == *task => {
                found = Some(Entry {
                    mark,
                    ..Entry::default()
                });
            }
            Note::Runs {
                task: about,
                pid,
                start,
            } if about == *task => {
                found.get_or_insert_default().process = Some((pid, start));
            }
            Note::Ended { task: about, gone } if about == *task => {
                found.get_or_insert_default().gone = Some(gone);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The control group of a keeper's processes.
pub(super) fn group(path: &Path) -> Option<PathBuf> {
    notes(path).ok()?.into_iter().find_map(|note| match note {
        Note::Keeps { group, .. } => group,
        _ => None,
    })
}

/// The attempts that began, and of which no end is noted.
pub(super) fn open(path: &Path) -> io::Result<BTreeSet<Task>> {
    let mut open = BTreeSet::new();
    for note in notes(path)? {
        match note {
            Note::Begins { task, .. } => drop(open.insert(task)),
            Note::Ended { task, .. } => drop(open.remove(&task)),
            Note::Keeps { .. } | Note::Runs { .. } => {}
        }
    }
    Ok(open)
}

/// The lines of a journal that can be read.
fn notes(path: &Path) -> io::Result<Vec<Note>> {
    let text = std::fs::read(path)?;
    let lines = text.split(|byte| *byte == b'\n');
    Ok(lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}

/// The journal of a keeper.
pub(super) fn path(dir: &Path, keeper: &str) -> PathBuf {
    dir.join(format!("{keeper}.journal"))
}

/// The socket of a keeper.
pub(super) fn socket(dir: &Path, keeper: &str) -> PathBuf {
    dir.join(format!("{keeper}.sock"))
}

#[cfg(test)]
mod tests {
    use super::{Journal, Note, Task, claim, is_orphaned, path, read};
    use crate::exec::Ends;
    use crate::exec::attempt::Gone;
    use crate::machine::{Attempt, Exit, Place, Usage};
    use crate::name::{Name, RunId};

    #[test]
    fn a_journal_tells_what_became_of_an_attempt() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path(), "k1");
        let task = |step: &str| Task {
            run: RunId::from_bytes([7; 16]),
            attempt: Attempt {
                place: Place::of(&Name::parse(step).unwrap()),
                attempt: 1,
            },
        };
        let mut journal = Journal::open(&path).unwrap();
        let gone = Gone {
            exit: Exit::Code { code: 3 },
            output: "a=1\n".into(),
            logged: 5,
            ends: Ends {
                out: String::new(),
                err: "no\n".into(),
            },
            usage: Usage {
                tokens: 12,
                ..Usage::default()
            },
            service: false,
        };
        for note in [
            Note::Begins {
                task: task("a"),
                mark: "k1-1".into(),
            },
            Note::Runs {
                task: task("a"),
                pid: 7,
                start: 8,
            },
            Note::Begins {
                task: task("b"),
                mark: "k1-2".into(),
            },
            Note::Ended {
                task: task("a"),
                gone: gone.clone(),
            },
        ] {
            journal.note(&note).unwrap();
        }
        std::io::Write::write_all(&mut journal.0, b"{\"ended\":{\"task\"").unwrap();
        let a = read(&path, &task("a")).unwrap().unwrap();
        assert_eq!(
            (a.mark.as_str(), a.process, a.gone),
            ("k1-1", Some((7, 8)), Some(gone))
        );
        let b = read(&path, &task("b")).unwrap().unwrap();
        assert_eq!((b.mark.as_str(), b.process, b.gone), ("k1-2", None, None));
        assert_eq!(read(&path, &task("c")).unwrap(), None);
    }

    #[test]
    fn a_journal_is_orphaned_once_the_engine_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path(), "k1");
        assert!(!is_orphaned(&path), "nobody left anything");
        let claimed = claim(&path).unwrap();
        let keeper = Journal::open(&path).unwrap();
        assert!(!is_orphaned(&path));
        drop(claimed);
        assert!(
            is_orphaned(&path) && is_orphaned(&path),
            "the keeper claims nothing"
        );
        drop(keeper);
    }
}
