use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use super::{Chunk, Stream, cursor::Cursor, target, writer};
use crate::time::Moment;

/// The most parts that one look gives.
const MOST: usize = 64;

/// How far behind the end of a whole log the place is looked for that was seen last, in bytes.
const BEHIND: u64 = 1024 * 1024;

/// Reads a log while it is written.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    place: Place,
    /// When what was read last came.
    at: Moment,
}

/// Where a follower is.
#[derive(Debug)]
enum Place {
    /// The log need not exist yet.
    Nowhere,
    /// In the first part, which is all in the end.
    Head {
        cursor: Cursor,
        /// Whether the end was put behind it already, as far as that shows.
        whole: bool,
    },
    /// In the last part of a log whose first part is full. It stays open when its file gives
    /// way to the next or goes.
    End(Cursor),
    /// Behind what was seen of a log that is whole by now.
    Rest(VecDeque<Chunk>),
}

impl Follower {
    /// From the beginning of a log that need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            place: Place::Nowhere,
            at: Moment::from_millis(0),
        }
    }

    /// What has come since the last call, as far as memory allows; empty if nothing.
    pub fn more(&mut self) -> io::Result<Vec<Chunk>> {
        let mut came = Vec::new();
        while came.len() < MOST {
            let Some(chunk) = self.next()? else {
                break;
            };
            self.at = chunk.at;
            came.push(chunk);
        }
        Ok(came)
    }

    fn next(&mut self) -> io::Result<Option<Chunk>> {
        match &mut self.place {
            Place::Nowhere => {
                let Some(cursor) = Cursor::open(&self.path)? else {
                    return Ok(None);
                };
                let whole = false;
                self.place = Place::Head { cursor, whole };
                self.next()
            }
            Place::Head { cursor, whole } => {
                if let Some(chunk) = cursor.indexed()? {
                    *whole |= chunk.stream == Stream::Note;
                    return Ok(Some(chunk));
                }
                // The end is opened before the head is looked at again: what is put behind the
                // head is there by then, or in what was opened.
                let [older, newer] = target::ends(&self.path).map(|path| Cursor::open(&path));
                if let Some(chunk) = cursor.indexed()? {
                    *whole |= chunk.stream == Stream::Note;
                    return Ok(Some(chunk));
                }
                match newer? {
                    Some(newer) if !*whole => self.enter(older?, newer),
                    _ => Ok(None),
                }
            }
            Place::End(cursor) => {
                if let Some(chunk) = cursor.indexed()? {
                    return Ok(Some(chunk));
                }
                let [older, newer] = target::ends(&self.path).map(|path| Cursor::open(&path));
                let (older, newer) = (older?, newer?);
                if newer.as_ref().is_some_and(|newer| newer.is_same(cursor)) {
                    return Ok(None);
                }
                // It is complete.
                if let Some(chunk) = cursor.any()? {
                    return Ok(Some(chunk));
                }
                let Some(newer) = newer else {
                    let rest = rest(&self.path, cursor)?;
                    self.place = Place::Rest(rest);
                    return self.next();
                };
                let older = older.filter(|older| !older.is_same(cursor));
                self.enter(older, newer)
            }
            Place::Rest(rest) => Ok(rest.pop_front()),
        }
    }

    /// Goes on in the newest part; if there was something before it, not without saying so.
    fn enter(&mut self, older: Option<Cursor>, newer: Cursor) -> io::Result<Option<Chunk>> {
        let older = older.filter(|older| !older.is_same(&newer));
        let skipped = older.is_some();
        self.place = Place::End(older.unwrap_or(newer));
        if skipped {
            return Ok(Some(Chunk {
                stream: Stream::Note,
                at: self.at,
                bytes: writer::left_out("the middle").into_bytes(),
            }));
        }
        self.next()
    }
}

/// What a whole log has behind the end of a part that was seen to its end: usually nothing.
fn rest(path: &Path, seen: &Cursor) -> io::Result<VecDeque<Chunk>> {
    let Some(mut whole) = Cursor::open(path)? else {
        return Ok(VecDeque::new());
    };
    let (length, last) = (whole.length()?, seen.last_bytes(4096)?);
    let tail = whole.last_bytes(BEHIND.min(length))?;
    let found = memchr::memmem::rfind(&tail, &last).map(|at| at + last.len());
    let unseen = tail.len() - found.unwrap_or(0);
    let mut rest = VecDeque::new();
    while let Some(mut chunk) = whole.any()? {
        let behind = whole.position().saturating_sub(length - unseen as u64);
        let new = usize::try_from(behind)
            .unwrap_or(usize::MAX)
            .min(chunk.bytes.len());
        chunk.bytes.drain(..chunk.bytes.len() - new);
        rest.extend(Some(chunk).filter(|chunk| !chunk.bytes.is_empty()));
    }
    Ok(rest)
}
