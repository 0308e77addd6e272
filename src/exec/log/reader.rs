use std::collections::VecDeque;
use std::io;
use std::path::Path;

use super::{Chunk, Stream, cursor::Cursor, target, writer};
use crate::time::Moment;

/// The parts of a log in order; none if there is no log. Memory is bounded. A log that is being
/// written, or whose writer died, is read as far as it goes.
pub fn read(path: &Path) -> io::Result<Chunks> {
    let mut pieces = VecDeque::new();
    for piece in [path.to_path_buf()].into_iter().chain(target::ends(path)) {
        pieces.extend(Cursor::open(&piece)?);
    }
    Ok(Chunks {
        pieces,
        in_head: true,
        at: Moment::from_millis(0),
    })
}

/// The parts of a log.
#[derive(Debug)]
pub struct Chunks {
    pieces: VecDeque<Cursor>,
    in_head: bool,
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
            if std::mem::take(&mut self.in_head) && !self.pieces.is_empty() {
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
