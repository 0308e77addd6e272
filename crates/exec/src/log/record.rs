use wf_base::time::Moment;

use super::LogStream;

/// A run of bytes in a log, as recorded in its index. Runs follow each other without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogIndexRecord {
    pub(super) at: Moment,
    pub(super) stream: LogStream,
    pub(super) length: u32,
}

impl LogIndexRecord {
    /// The longest run: two bits of the length hold the stream.
    pub(super) const MAX: u32 = (1 << 30) - 1;

    /// The size of a written record.
    pub(super) const SIZE: usize = 12;

    pub(super) fn to_bytes(self) -> [u8; Self::SIZE] {
        let stream: u32 = match self.stream {
            LogStream::Out => 0,
            LogStream::Err => 1,
            LogStream::Note => 2,
        };
        let word = (stream << 30) | self.length.min(Self::MAX);
        let mut bytes = [0; Self::SIZE];
        let (time, rest) = bytes.split_at_mut(8);
        time.copy_from_slice(&self.at.millis().to_le_bytes());
        rest.copy_from_slice(&word.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        let (time, word) = bytes.split_at(8);
        let word = u32::from_le_bytes(word.try_into().unwrap_or_default());
        let duration_ms = i64::from_le_bytes(time.try_into().unwrap_or_default());
        Self {
            at: Moment::from_millis(duration_ms),
            stream: match word >> 30 {
                0 => LogStream::Out,
                1 => LogStream::Err,
                _ => LogStream::Note,
            },
            length: word & Self::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LogIndexRecord, LogStream};
    use wf_base::time::Moment;

    #[test]
    fn what_is_written_is_read_back() {
        for stream in [LogStream::Out, LogStream::Err, LogStream::Note] {
            for length in [0, 1, 65_536, LogIndexRecord::MAX] {
                let at = Moment::from_millis(1_700_000_000_123);
                let record = LogIndexRecord { at, stream, length };
                assert_eq!(LogIndexRecord::from_bytes(record.to_bytes()), record);
            }
        }
    }
}
