//! A cursor in a log: it reads the bytes and their index side by side.

use std::{io, path::Path};

use wf_base::time::Moment;

use super::{LogArrival, LogChunk, LogStream, file::LogFile, record::LogIndexRecord, target};
use crate::disk::files::FileIdentity;

/// The maximum number of bytes read at once.
const MAX_READ_BYTES: u64 = 64 * 1024;

/// The number of index records read at once.
const MAX_READ_RECORDS: usize = 4096;

/// A position in one log file and its index. Both may grow meanwhile.
#[derive(Debug)]
pub(super) struct LogCursor {
    identity: (FileIdentity, u64),
    log: LogFile,
    index_file: Option<LogFile>,
    position: u64,
    record: u64,
    used: u32,
    last: (LogStream, Moment),
}

impl LogCursor {
    /// Takes a log and its index, at their start.
    pub(super) fn new(log: LogFile, index_file: Option<LogFile>) -> io::Result<Self> {
        let last = (LogStream::Out, Moment::from_millis(0));
        Ok(Self { identity: log.identity()?, log, index_file, position: 0, record: 0, used: 0, last })
    }

    /// Opens a log being written; `None` if there is none.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let index = LogFile::open(&target::index(path))?;
        LogFile::open(path)?.map(|log| Self::new(log, index)).transpose()
    }

    /// True if both are in the same file, even if it was renamed.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.identity == other.identity
    }

    /// Returns the file and the offset in it.
    pub(super) fn identity(&self) -> (FileIdentity, u64) {
        self.identity
    }

    /// Reads bytes from any position on, and returns how many.
    pub(super) fn read_at(&self, bytes: &mut [u8], position: u64) -> io::Result<usize> {
        self.log.read_at(bytes, position)
    }

    /// Returns the length of the file.
    pub(super) fn length(&self) -> io::Result<u64> {
        self.log.length()
    }

    /// Returns the number of bytes read.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the last bytes of the file, or all of it if it is shorter.
    pub(super) fn last_bytes(&self, most: u64) -> io::Result<Vec<u8>> {
        let length = self.length()?;
        let mut bytes = vec![0; usize::try_from(length.min(most)).unwrap_or(0)];
        let from = length - bytes.len() as u64;
        self.log.read_exact_at(&mut bytes, from)?;
        Ok(bytes)
    }

    /// Passes on the arrivals of the file, in order, until one is not wanted. Bytes whose index is not written yet have none.
    pub(super) fn arrivals(&self, mut give: impl FnMut(LogArrival) -> bool) -> io::Result<()> {
        let Some(index) = &self.index_file else {
            return Ok(());
        };
        let mut bytes = vec![0; MAX_READ_RECORDS * LogIndexRecord::SIZE];
        let (mut place, mut offset) = (0, 0);
        loop {
            let count = index.read_at(&mut bytes, place)?;
            let (records, _) = bytes.get(..count).unwrap_or_default().as_chunks::<{ LogIndexRecord::SIZE }>();
            if records.is_empty() {
                return Ok(());
            }
            for record in records {
                let LogIndexRecord { at, length, .. } = LogIndexRecord::from_bytes(*record);
                if !give(LogArrival { offset, length: length.into(), at }) {
                    return Ok(());
                }
                offset += u64::from(length);
            }
            place += (records.len() * LogIndexRecord::SIZE) as u64;
        }
    }

    /// Returns the next indexed part.
    pub(super) fn next_indexed(&mut self) -> io::Result<Option<LogChunk>> {
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

    /// Returns the next part, indexed or not.
    pub(super) fn any(&mut self) -> io::Result<Option<LogChunk>> {
        match self.next_indexed()? {
            None => self.bytes(MAX_READ_BYTES),
            known => Ok(known),
        }
    }

    fn at_record(&self) -> io::Result<Option<LogIndexRecord>> {
        let Some(index) = &self.index_file else {
            return Ok(None);
        };
        let mut bytes = [0; LogIndexRecord::SIZE];
        match index.read_exact_at(&mut bytes, self.record * LogIndexRecord::SIZE as u64) {
            Ok(()) => Ok(Some(LogIndexRecord::from_bytes(bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn bytes(&mut self, most: u64) -> io::Result<Option<LogChunk>> {
        let mut bytes = vec![0; usize::try_from(most.min(MAX_READ_BYTES)).unwrap_or(0)];
        let length = self.log.read_at(&mut bytes, self.position)?;
        bytes.truncate(length);
        self.position += length as u64;
        let (stream, at) = self.last;
        Ok((length > 0).then_some(LogChunk { stream, at, bytes }))
    }
}
