//! Messages on a connection: a kind, a length, and that many bytes.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::exec::log::Stream;

/// The longest message: a job's environment and output are far below it.
const LONGEST: u32 = 64 << 20;

/// How much is read at once.
const ROOM: usize = 16 * 1024;

/// A message as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A message in JSON.
    Word(Vec<u8>),
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

    /// Reads a message that must be in JSON.
    pub(super) fn read<T: DeserializeOwned>(&self) -> io::Result<T> {
        match self {
            Self::Word(bytes) => Ok(serde_json::from_slice(bytes)?),
            Self::Output(..) | Self::Began => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Sends a message.
pub(super) async fn send(to: &mut (impl AsyncWrite + Unpin), frame: &Frame) -> io::Result<()> {
    let (kind, bytes) = match frame {
        Frame::Word(bytes) => (0, &bytes[..]),
        Frame::Output(Stream::Out, bytes) => (1, &bytes[..]),
        Frame::Output(Stream::Err, bytes) => (2, &bytes[..]),
        Frame::Output(Stream::Note, bytes) => (3, &bytes[..]),
        Frame::Began => (4, &[][..]),
    };
    let length = u32::try_from(bytes.len())
        .ok()
        .filter(|length| *length <= LONGEST);
    let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
    let mut message = Vec::with_capacity(bytes.len() + 5);
    message.push(kind);
    message.extend(length.to_le_bytes());
    message.extend(bytes);
    to.write_all(&message).await
}

/// Messages as they come.
pub(super) struct Frames<R> {
    from: R,
    read: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    /// The messages of one side of a connection.
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            read: Vec::new(),
        }
    }

    /// The side of the connection.
    pub(super) fn into_inner(self) -> R {
        self.from
    }

    /// Waits for a message, and may be dropped while it waits; `None` at the end of the
    /// connection.
    pub(super) async fn next(&mut self) -> io::Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.whole()? {
                return Ok(Some(frame));
            }
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
    fn whole(&mut self) -> io::Result<Option<Frame>> {
        let Some((head, rest)) = self.read.split_first_chunk::<5>() else {
            return Ok(None);
        };
        let [kind, length @ ..] = *head;
        let length = u32::from_le_bytes(length);
        if length > LONGEST || kind > 4 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let Some(bytes) = rest.get(..length as usize) else {
            return Ok(None);
        };
        let bytes = bytes.to_vec();
        self.read.drain(..5 + bytes.len());
        Ok(Some(match kind {
            0 => Frame::Word(bytes),
            1 => Frame::Output(Stream::Out, bytes),
            2 => Frame::Output(Stream::Err, bytes),
            3 => Frame::Output(Stream::Note, bytes),
            _ => Frame::Began,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, Frames, send};
    use crate::exec::log::Stream;

    #[tokio::test]
    async fn messages_arrive_as_they_were_sent() {
        let (mut one, other) = tokio::io::duplex(64);
        let mut other = Frames::new(other);
        let frames = [
            Frame::word(&["a", "b"]).unwrap(),
            Frame::Output(Stream::Err, vec![255; 1000]),
            Frame::Output(Stream::Note, Vec::new()),
            Frame::Began,
        ];
        let sending = async {
            for frame in &frames {
                send(&mut one, frame).await.unwrap();
            }
            drop(one);
        };
        let receiving = async {
            for frame in &frames {
                assert_eq!(other.next().await.unwrap().as_ref(), Some(frame));
            }
            assert_eq!(other.next().await.unwrap(), None);
        };
        tokio::join!(sending, receiving);
        assert_eq!(frames[0].read::<Vec<String>>().unwrap(), ["a", "b"]);
    }

    #[tokio::test]
    async fn nonsense_is_refused() {
        for bytes in [
            &[9, 0, 0, 0, 0][..],
            &[0, 255, 255, 255, 255],
            &[0, 9, 0, 0, 0, 1],
        ] {
            assert!(Frames::new(bytes).next().await.is_err(), "{bytes:?}");
        }
    }
}
