use std::io;
use std::path::PathBuf;

use super::{Chunk, cursor::Cursor};

/// The most parts that one look gives.
const MOST: usize = 64;

/// Reads a log while it is written.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    cursor: Option<Cursor>,
}

impl Follower {
    /// From the beginning of a log that need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, cursor: None }
    }

    /// What has come since the last call, as far as memory allows; empty if nothing.
    pub fn more(&mut self) -> io::Result<Vec<Chunk>> {
        if self.cursor.is_none() {
            self.cursor = Cursor::open(&self.path)?;
        }
        let mut came = Vec::new();
        if let Some(cursor) = &mut self.cursor {
            while came.len() < MOST {
                let Some(chunk) = cursor.indexed()? else {
                    break;
                };
                came.push(chunk);
            }
        }
        Ok(came)
    }
}
