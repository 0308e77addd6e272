//! Messages on a connection: a kind, the number of what they are about, a length, and that many bytes.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::message::Told;
use crate::exec::log::Stream;

/// The longest message: a job's environment and output are far below it.
const LONGEST: u32 = 64 << 20;

/// How much is read at once.
const ROOM: usize = 16 * 1024;

/// How long what comes before the bytes of a message is.
const HEAD: usize = 9;

/// How many messages wait to be written; whoever has more to say waits.
const WAITING: usize = 64;

/// A message as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A message in JSON: what is asked, or the answer.
    Word(Vec<u8>),
    /// What was asked for is told something: [`Told`] in JSON.
    Told(Vec<u8>),
    /// Something that was printed.
    Output(Stream, Vec<u8>),
    /// What was staged has begun.
    Began,
}

impl Frame {
    /// A message in JSON.
    pub(super) fn word(message: &impl Serialize) -> io::Result<Self> {
        Ok(Self::Word(serde_json::to_vec(message)?))
    }

    /// What something is told.
    pub(super) fn told(told: Told) -> io::Result<Self> {
        Ok(Self::Told(serde_json::to_vec(&told)?))
    }

    /// Reads a message that must be in JSON.
    pub(super) fn read<T: DeserializeOwned>(&self) -> io::Result<T> {
        match self {
            Self::Word(bytes) | Self::Told(bytes) => Ok(serde_json::from_slice(bytes)?),
            Self::Output(..) | Self::Began => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The message as it is written, about something with a number.
    pub(super) fn about(&self, number: u32) -> io::Result<Vec<u8>> {
        let (kind, bytes) = match self {
            Self::Word(bytes) => (0, &bytes[..]),
            Self::Output(Stream::Out, bytes) => (1, &bytes[..]),
            Self::Output(Stream::Err, bytes) => (2, &bytes[..]),
            Self::Output(Stream::Note, bytes) => (3, &bytes[..]),
            Self::Began => (4, &[][..]),
            Self::Told(bytes) => (5, &bytes[..]),
        };
        let length = u32::try_from(bytes.len()).ok();
        let length = length.filter(|length| *length <= LONGEST);
        let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
        let mut message = Vec::with_capacity(bytes.len() + HEAD);
        message.push(kind);
        message.extend(number.to_le_bytes());
        message.extend(length.to_le_bytes());
        message.extend(bytes);
        Ok(message)
    }
}

/// Sends a message on a connection that is about one thing at a time.
pub(super) async fn send(to: &mut (impl AsyncWrite + Unpin), frame: &Frame) -> io::Result<()> {
    to.write_all(&frame.about(0)?).await
}

/// The sending side of a connection that is about many things at once.
pub(super) type Outgoing = mpsc::Sender<Vec<u8>>;

/// A sending side, and what is to be written of it.
pub(super) fn outgoing() -> (Outgoing, mpsc::Receiver<Vec<u8>>) {
    mpsc::channel(WAITING)
}

/// Writes messages, those that wait at once: each write wakes the other process.
pub(super) async fn write(
    mut to: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    let mut waiting = Vec::with_capacity(WAITING);
    while messages.recv_many(&mut waiting, WAITING).await > 0 {
        to.write_all(&waiting.concat()).await?;
        waiting.clear();
    }
    Ok(())
}

/// Messages as they come.
pub(super) struct Frames<R> {
    from: R,
    read: Vec<u8>,
    /// Where the first message begins that was not taken.
    at: usize,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    /// The messages of one side of a connection.
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            read: Vec::new(),
            at: 0,
        }
    }

    /// The side of the connection.
    pub(super) fn into_inner(self) -> R {
        self.from
    }

    /// Waits for a message and the number of what it is about, and may be dropped while it waits;
    /// `None` at the end of the connection.
    pub(super) async fn next(&mut self) -> io::Result<Option<(u32, Frame)>> {
        loop {
            if let Some(message) = self.whole()? {
                return Ok(Some(message));
            }
            self.read.drain(..self.at);
            self.at = 0;
            self.read.reserve(ROOM);
            if self.from.read_buf(&mut self.read).await? == 0 {
                let whole = self.read.is_empty();
                return if whole {
                    Ok(None)
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                };
            }
        }
    }

    /// The first message, if all of it was read.
    fn whole(&mut self) -> io::Result<Option<(u32, Frame)>> {
        let read = self.read.get(self.at..).unwrap_or_default();
        let Some((head, rest)) = read.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let [kind, a, b, c, d, length @ ..] = *head;
        let length = u32::from_le_bytes(length);
        if length > LONGEST || kind > 5 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let Some(bytes) = rest.get(..length as usize) else {
            return Ok(None);
        };
        let bytes = bytes.to_vec();
        self.at += HEAD + bytes.len();
        let frame = match kind {
            0 => Frame::Word(bytes),
            1 => Frame::Output(Stream::Out, bytes),
            2 => Frame::Output(Stream::Err, bytes),
            3 => Frame::Output(Stream::Note, bytes),
            4 => Frame::Began,
            _ => Frame::Told(bytes),
        };
        Ok(Some((u32::from_le_bytes([a, b, c, d]), frame)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::Told;
    use super::{Frame, Frames, outgoing, write};
    use crate::exec::Stop;
    use crate::exec::log::Stream;

    #[tokio::test]
    async fn messages_arrive_as_they_were_sent() {
        let (mut one, other) = tokio::io::duplex(64);
        let mut other = Frames::new(other);
        let frames = [
            Frame::word(&["a", "b"]).unwrap(),
            Frame::Output(Stream::Err, vec![255; 1000]),
            Frame::Output(Stream::Note, Vec::new()),
            Frame::told(Told::End(Stop::Gently)).unwrap(),
            Frame::Began,
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
        assert_eq!(frames[0].read::<Vec<String>>().unwrap(), ["a", "b"]);
    }

    #[tokio::test]
    async fn what_waits_is_written_at_once() {
        let (one, other) = tokio::io::duplex(4096);
        let (to, messages) = outgoing();
        for number in 0..3 {
            to.send(Frame::Began.about(number).unwrap()).await.unwrap();
        }
        drop(to);
        write(one, messages).await.unwrap();
        let mut other = Frames::new(other);
        for number in 0..3 {
            assert_eq!(other.next().await.unwrap(), Some((number, Frame::Began)));
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
            assert!(Frames::new(bytes).next().await.is_err(), "{bytes:?}");
        }
    }
}
