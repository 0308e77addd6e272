use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt as _};
use std::path::Path;

use super::{Chunk, Stream, record::Record, target};
use crate::time::Moment;

/// The most that is read at once.
const MOST: u64 = 64 * 1024;

/// A place in one log file and its index. Both may grow while it moves.
#[derive(Debug)]
pub(super) struct Cursor {
    /// The device and the number of the file.
    identity: (u64, u64),
    log: File,
    index: Option<File>,
    position: u64,
    record: u64,
    used: u32,
    last: (Stream, Moment),
}

impl Cursor {
    /// Opens a log at its beginning; `None` if there is none.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let Some(log) = open(path)? else {
            return Ok(None);
        };
        let metadata = log.metadata()?;
        Ok(Some(Self {
            identity: (metadata.dev(), metadata.ino()),
            log,
            index: open(&target::index(path))?,
            position: 0,
            record: 0,
            used: 0,
            last: (Stream::Out, Moment::from_millis(0)),
        }))
    }

    /// Whether it is in the same file as another, whatever that is called by now.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.identity == other.identity
    }

    /// How long the file is.
    pub(super) fn length(&self) -> io::Result<u64> {
        Ok(self.log.metadata()?.len())
    }

    /// How much of the file was read.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The end of the file, or all of it if it is shorter.
    pub(super) fn last_bytes(&self, most: u64) -> io::Result<Vec<u8>> {
        let length = self.length()?;
        let mut bytes = vec![0; usize::try_from(length.min(most)).unwrap_or(0)];
        let from = length - bytes.len() as u64;
        self.log.read_exact_at(&mut bytes, from)?;
        Ok(bytes)
    }

    /// The next part that the index knows.
    pub(super) fn indexed(&mut self) -> io::Result<Option<Chunk>> {
        while let Some(record) = self.at_record()? {
            self.last = (record.stream, record.at);
            let left = record.length.saturating_sub(self.used);
            if left > 0 {
                let chunk = self.bytes(u64::from(left))?;
                let length = chunk.as_ref().map_or(0, |chunk| chunk.bytes.len());
                self.used += u32::try_from(length).unwrap_or(left);
                return Ok(chunk);
            }
            self.record += 1;
            if self.at_record()?.is_none() {
                self.record -= 1;
                return Ok(None);
            }
            self.used = 0;
        }
        Ok(None)
    }

    /// The next part, known to the index or not.
    pub(super) fn any(&mut self) -> io::Result<Option<Chunk>> {
        match self.indexed()? {
            None => self.bytes(MOST),
            known => Ok(known),
        }
    }

    fn at_record(&self) -> io::Result<Option<Record>> {
        let Some(index) = &self.index else {
            return Ok(None);
        };
        let mut bytes = [0; Record::SIZE];
        match index.read_exact_at(&mut bytes, self.record * Record::SIZE as u64) {
            Ok(()) => Ok(Some(Record::from_bytes(bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn bytes(&mut self, most: u64) -> io::Result<Option<Chunk>> {
        let mut bytes = vec![0; usize::try_from(most.min(MOST)).unwrap_or(0)];
        let length = self.log.read_at(&mut bytes, self.position)?;
        bytes.truncate(length);
        self.position += length as u64;
        let (stream, at) = self.last;
        Ok((length > 0).then_some(Chunk { stream, at, bytes }))
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
