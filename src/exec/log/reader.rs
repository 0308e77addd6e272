use std::collections::VecDeque;
use std::io;
use std::path::Path;

use super::{Chunk, Stream, cursor::Cursor, target, writer};
use crate::time::Moment;

/// The parts of a log in order; none if there is no log. Memory is bounded. A log that is being
/// written, or whose writer died, is read as far as it goes.
pub fn read(path: &Path) -> io::Result<Chunks> {
    let [older, newer] = target::ends(path);
    let older = Cursor::open(&older)?;
    let skips = older.is_some();
    let pieces = [Cursor::open(path)?, older, Cursor::open(&newer)?];
    Ok(Chunks {
        pieces: pieces.into_iter().flatten().collect(),
        skips,
        at: Moment::from_millis(0),
    })
}

/// The parts of a log.
#[derive(Debug)]
pub struct Chunks {
    pieces: VecDeque<Cursor>,
    /// Whether something may be missing behind the piece that is read.
    skips: bool,
    at: Moment,
}

impl Chunks {
    fn advance(&mut self) -> io::Result<Option<Chunk>> {
        while let Some(piece) = self.pieces.front_mut() {
            if let Some(chunk) = piece.any()? {
                self.at = chunk.at;
                return Ok(Some(chunk));
            }
            self.pieces.pop_front();
            if std::mem::take(&mut self.skips) && !self.pieces.is_empty() {
                return Ok(Some(Chunk {
                    stream: Stream::Note,
                    at: self.at,
                    bytes: writer::left_out("the middle").into_bytes(),
                }));
            }
        }
        Ok(None)
    }
}

impl Iterator for Chunks {
    type Item = io::Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            self.pieces.clear();
        }
        next.transpose()
    }
}
