//! Reads the output of a process from a pipe.

use std::os::fd::AsFd as _;

use tokio::{io::AsyncReadExt as _, net::unix::pipe::Receiver};

use super::{supervise::OutputSink, tails::LogStream};

/// The size of one read: the capacity of a pipe.
const BUFFER: usize = 64 * 1024;

/// The size of the first read: most processes print little or nothing.
const FIRST_READ_BYTES: usize = 2 * 1024;

/// A pipe from a process.
pub(super) struct OutputPipe {
    reader: Option<Receiver>,
    bytes: Vec<u8>,
    prints: bool,
}

impl OutputPipe {
    /// Wraps a pipe; `None`: a closed one.
    pub(super) fn new(reader: Option<Receiver>) -> Self {
        Self { reader, bytes: Vec::new(), prints: false }
    }

    /// True if no more output can come.
    pub(super) fn is_closed(&self) -> bool {
        self.reader.is_none()
    }

    /// Reads the available bytes; cancel-safe. An ended or failed pipe is closed.
    pub(super) async fn fill(&mut self) {
        if let Some(reader) = &mut self.reader {
            self.bytes.reserve(if self.prints { BUFFER } else { FIRST_READ_BYTES });
            if !matches!(reader.read_buf(&mut self.bytes).await, Ok(1..)) {
                self.reader = None;
            }
        }
    }

    /// Passes on the remaining output of a process that has exited, as far as available now;
    /// returns its length. Closes the pipe if no other process holds it.
    pub(super) fn drain_available(&mut self, stream: LogStream, sink: &mut dyn OutputSink) -> usize {
        let mut length = 0;
        while let Some(reader) = &self.reader {
            let mut some = [0; FIRST_READ_BYTES];
            match rustix::io::read(reader.as_fd(), &mut some) {
                Ok(0) => self.reader = None,
                Ok(read) => {
                    sink.on_bytes(stream, some.get(..read).unwrap_or_default());
                    length += read;
                }
                // A later read waits for more, or finds the same error.
                Err(_) => break,
            }
            if length >= BUFFER {
                break;
            }
        }
        length
    }

    /// Passes on the bytes read; returns their number.
    pub(super) fn drain(&mut self, stream: LogStream, sink: &mut dyn OutputSink) -> usize {
        let length = self.bytes.len();
        if length > 0 {
            self.prints = true;
            sink.on_bytes(stream, &self.bytes);
            self.bytes.clear();
        }
        length
    }
}
