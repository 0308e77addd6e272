//! What a process prints, as it comes through a pipe.

use std::os::fd::AsFd as _;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

use super::log::Stream;
use super::supervise::Sink;

/// What is read at once from a pipe: as much as it holds.
const BUFFER: usize = 64 * 1024;

/// What is read at first: most processes print little or nothing.
const LITTLE: usize = 2 * 1024;

/// A pipe from a process.
pub(super) struct Pipe {
    reader: Option<Receiver>,
    bytes: Vec<u8>,
    /// Whether anything came yet.
    prints: bool,
}

impl Pipe {
    /// A pipe; `None`: one that is closed.
    pub(super) fn new(reader: Option<Receiver>) -> Self {
        Self {
            reader,
            bytes: Vec::new(),
            prints: false,
        }
    }

    /// Whether nothing more can come.
    pub(super) fn is_closed(&self) -> bool {
        self.reader.is_none()
    }

    /// Reads what there is; may be dropped while it waits. A pipe that ends or fails is closed.
    pub(super) async fn fill(&mut self) {
        if let Some(reader) = &mut self.reader {
            self.bytes
                .reserve(if self.prints { BUFFER } else { LITTLE });
            if !matches!(reader.read_buf(&mut self.bytes).await, Ok(1..)) {
                self.reader = None;
            }
        }
    }

    /// Passes on what is left of what a process printed that has ended, as far as one look tells;
    /// says how much that is. If nobody else holds the pipe, it is closed.
    pub(super) fn rest(&mut self, stream: Stream, sink: &mut dyn Sink) -> usize {
        let mut length = 0;
        while let Some(reader) = &self.reader {
            let mut some = [0; LITTLE];
            match rustix::io::read(reader.as_fd(), &mut some) {
                Ok(0) => self.reader = None,
                Ok(read) => {
                    sink.take(stream, some.get(..read).unwrap_or_default());
                    length += read;
                }
                // Whoever goes on with it waits until there is more, or finds the same error.
                Err(_) => break,
            }
            if length >= BUFFER {
                break;
            }
        }
        length
    }

    /// Passes on what was read; says how much that is.
    pub(super) fn drain(&mut self, stream: Stream, sink: &mut dyn Sink) -> usize {
        let length = self.bytes.len();
        if length > 0 {
            self.prints = true;
            sink.take(stream, &self.bytes);
            self.bytes.clear();
        }
        length
    }
}
