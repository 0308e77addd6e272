//! Messages on a connection: a kind, the number of the request, a length, and that many bytes.

use std::io;

use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
};

use super::message::RequestFollowUp;
use crate::log::LogStream;

/// The longest message: a job's environment and output are far below it.
const MAX_FRAME_BYTES: u32 = 64 << 20;

/// The number of bytes read at once.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// The length of a message header.
const HEADER_BYTES: usize = 9;

/// The number of messages queued for writing; further senders wait.
const WRITE_QUEUE_LENGTH: usize = 64;

/// A message in transit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SupervisorFrame {
    /// A message in JSON: a request or its answer.
    Message(Vec<u8>),
    /// A follow-up message to a request: in JSON.
    FollowUp(Vec<u8>),
    /// Output of a process.
    Output(LogStream, Vec<u8>),
}

impl SupervisorFrame {
    /// Encodes a message in JSON.
    pub(super) fn message(message: &impl Serialize) -> io::Result<Self> {
        Ok(Self::Message(serde_json::to_vec(message)?))
    }

    /// Encodes a follow-up message.
    pub(super) fn follow_up(follow_up: RequestFollowUp) -> io::Result<Self> {
        Ok(Self::FollowUp(serde_json::to_vec(&follow_up)?))
    }

    /// Decodes a message in JSON.
    pub(super) fn decode<T: DeserializeOwned>(&self) -> io::Result<T> {
        match self {
            Self::Message(bytes) | Self::FollowUp(bytes) => Ok(serde_json::from_slice(bytes)?),
            Self::Output(..) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Returns the bytes of the message for a numbered request.
    pub(super) fn about(&self, number: u32) -> io::Result<Vec<u8>> {
        let (kind, bytes) = match self {
            Self::Message(bytes) => (0, &bytes[..]),
            Self::Output(LogStream::Out, bytes) => (1, &bytes[..]),
            Self::Output(LogStream::Err, bytes) => (2, &bytes[..]),
            Self::Output(LogStream::Note, bytes) => (3, &bytes[..]),
            Self::FollowUp(bytes) => (4, &bytes[..]),
        };
        let length = u32::try_from(bytes.len()).ok();
        let length = length.filter(|length| *length <= MAX_FRAME_BYTES);
        let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
        let mut message = Vec::with_capacity(bytes.len() + HEADER_BYTES);
        message.push(kind);
        message.extend(number.to_le_bytes());
        message.extend(length.to_le_bytes());
        message.extend(bytes);
        Ok(message)
    }
}

/// Sends a message on a connection with one request at a time.
pub(super) async fn send(to: &mut (impl AsyncWrite + Unpin), frame: &SupervisorFrame) -> io::Result<()> {
    to.write_all(&frame.about(0)?).await
}

/// The sending side of a connection with many requests at once.
pub(super) type FrameSender = mpsc::Sender<Vec<u8>>;

/// Creates a sending side and the queue of its messages.
pub(super) fn outgoing() -> (FrameSender, mpsc::Receiver<Vec<u8>>) {
    mpsc::channel(WRITE_QUEUE_LENGTH)
}

/// Writes messages, all queued ones in one call: each write wakes the other process.
pub(super) async fn write(
    mut to: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    let mut waiting = Vec::with_capacity(WRITE_QUEUE_LENGTH);
    while messages.recv_many(&mut waiting, WRITE_QUEUE_LENGTH).await > 0 {
        to.write_all(&waiting.concat()).await?;
        waiting.clear();
    }
    Ok(())
}

/// The messages read from a connection.
pub(super) struct FrameReader<R> {
    from: R,
    read: Vec<u8>,
    /// The start of the first message not taken yet.
    at: usize,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads the messages of one side of a connection.
    pub(super) fn new(from: R) -> Self {
        Self { from, read: Vec::new(), at: 0 }
    }

    /// Returns the side of the connection.
    pub(super) fn into_inner(self) -> R {
        self.from
    }

    /// Waits for a message and its request number; cancel-safe. `None` at the end of the
    /// connection.
    pub(super) async fn next(&mut self) -> io::Result<Option<(u32, SupervisorFrame)>> {
        loop {
            if let Some(message) = self.complete_frame()? {
                return Ok(Some(message));
            }
            self.read.drain(..self.at);
            self.at = 0;
            self.read.reserve(READ_BUFFER_BYTES);
            if self.from.read_buf(&mut self.read).await? == 0 {
                let whole = self.read.is_empty();
                return if whole { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        }
    }

    /// Returns the first message if it was read completely.
    fn complete_frame(&mut self) -> io::Result<Option<(u32, SupervisorFrame)>> {
        let read = self.read.get(self.at..).unwrap_or_default();
        let Some((head, rest)) = read.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let [kind, a, b, c, d, length @ ..] = *head;
        let length = u32::from_le_bytes(length);
        if length > MAX_FRAME_BYTES || kind > 4 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let Some(bytes) = rest.get(..length as usize) else {
            return Ok(None);
        };
        let bytes = bytes.to_vec();
        self.at += HEADER_BYTES + bytes.len();
        let frame = match kind {
            0 => SupervisorFrame::Message(bytes),
            1 => SupervisorFrame::Output(LogStream::Out, bytes),
            2 => SupervisorFrame::Output(LogStream::Err, bytes),
            3 => SupervisorFrame::Output(LogStream::Note, bytes),
            _ => SupervisorFrame::FollowUp(bytes),
        };
        Ok(Some((u32::from_le_bytes([a, b, c, d]), frame)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::{FrameReader, RequestFollowUp, SupervisorFrame, outgoing, write};
    use crate::{log::LogStream, work_error::StopLevel};

    #[tokio::test]
    async fn messages_arrive_as_they_were_sent() {
        let (mut one, other) = tokio::io::duplex(64);
        let mut other = FrameReader::new(other);
        let frames = [
            SupervisorFrame::message(&["a", "b"]).unwrap(),
            SupervisorFrame::Output(LogStream::Err, vec![255; 1000]),
            SupervisorFrame::Output(LogStream::Note, Vec::new()),
            SupervisorFrame::follow_up(RequestFollowUp::End(StopLevel::Gently)).unwrap(),
        ];
        let sending = async {
            for (number, frame) in (1..).zip(&frames) {
                one.write_all(&frame.about(number).unwrap()).await.unwrap();
            }
            drop(one);
        };
        let receiving = async {
            for (number, frame) in (1..).zip(&frames) {
                assert_eq!(other.next().await.unwrap(), Some((number, frame.clone())));
            }
            assert_eq!(other.next().await.unwrap(), None);
        };
        tokio::join!(sending, receiving);
        assert_eq!(frames[0].decode::<Vec<String>>().unwrap(), ["a", "b"]);
    }

    #[tokio::test]
    async fn what_waits_is_written_at_once() {
        let (one, other) = tokio::io::duplex(4096);
        let (to, messages) = outgoing();
        let follow_up = SupervisorFrame::follow_up(RequestFollowUp::End(StopLevel::Gently)).unwrap();
        for number in 0..3 {
            to.send(follow_up.about(number).unwrap()).await.unwrap();
        }
        drop(to);
        write(one, messages).await.unwrap();
        let mut other = FrameReader::new(other);
        for number in 0..3 {
            assert_eq!(other.next().await.unwrap(), Some((number, follow_up.clone())));
        }
        assert_eq!(other.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn nonsense_is_refused() {
        for bytes in [
            &[9, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &[0, 0, 0, 0, 0, 255, 255, 255, 255],
            &[0, 0, 0, 0, 0, 9, 0, 0, 0, 1],
        ] {
            assert!(FrameReader::new(bytes).next().await.is_err(), "{bytes:?}");
        }
    }
}
