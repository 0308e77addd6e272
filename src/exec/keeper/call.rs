//! One question to a keeper, and its answer.

use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, watch};

use super::frame::{Frame, Frames, send};
use super::message::{Answer, Ask, Told};
use crate::exec::log::Stream;
use crate::exec::supervise::told;
use crate::exec::{OnOutput, Stop};

/// What a keeper answered, and what was printed before, if nobody was shown it.
pub(super) struct Called {
    pub(super) answer: Answer,
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
}

/// How work is told to end, and who is told what of it.
pub struct Wires {
    /// Whether it is told to end.
    pub stop: watch::Receiver<Stop>,
    /// Who is shown its output.
    pub on_output: Option<OnOutput>,
    /// What is done beside it where it is staged.
    pub staged: Option<Staged>,
}

/// How an attempt that is staged is taken back, and who is told if it begins.
pub struct Staged {
    /// Whether it is taken back.
    pub take_back: Arc<Notify>,
    /// Who is told that it began.
    pub on_begin: OnBegin,
}

/// Is told that something began.
pub type OnBegin = Box<dyn FnOnce() + Send>;

impl From<(watch::Receiver<Stop>, Option<OnOutput>)> for Wires {
    fn from((stop, on_output): (watch::Receiver<Stop>, Option<OnOutput>)) -> Self {
        Self {
            stop,
            on_output,
            staged: None,
        }
    }
}

/// A connection to a keeper, for one question after the other.
pub(super) struct Line {
    from: Frames<OwnedReadHalf>,
    to: OwnedWriteHalf,
    /// Whether it can be used again: whoever told an attempt to end may have come too late, and
    /// the word is still on its way.
    pub(super) is_clean: bool,
}

impl Line {
    /// Connects to the keeper at a socket. An error means that there is none.
    pub(super) fn open(socket: &Path) -> io::Result<Self> {
        let connection = at(socket, |path| std::os::unix::net::UnixStream::connect(path))?;
        connection.set_nonblocking(true)?;
        let (from, to) = UnixStream::from_std(connection)?.into_split();
        Ok(Self {
            from: Frames::new(from),
            to,
            is_clean: true,
        })
    }

    /// Asks something. An error means that the keeper died.
    pub(super) async fn ask(&mut self, ask: &Ask, wires: Wires) -> io::Result<Called> {
        converse(self, ask, wires).await
    }
}

/// Where one thing is asked at a time.
pub(super) trait Talk {
    /// Says something.
    async fn say(&mut self, frame: Frame) -> io::Result<()>;

    /// Waits for what is said, and may be dropped while it waits.
    async fn hear(&mut self) -> io::Result<Frame>;
}

impl Talk for Line {
    async fn say(&mut self, frame: Frame) -> io::Result<()> {
        self.is_clean &= !matches!(frame, Frame::Told(_));
        send(&mut self.to, &frame).await
    }

    async fn hear(&mut self) -> io::Result<Frame> {
        let heard = self.from.next().await?;
        Ok(heard.ok_or(io::ErrorKind::UnexpectedEof)?.1)
    }
}

/// Asks something, and listens until it is answered.
pub(super) async fn converse(talk: &mut impl Talk, ask: &Ask, wires: Wires) -> io::Result<Called> {
    let Wires {
        mut stop,
        mut on_output,
        mut staged,
    } = wires;
    talk.say(Frame::word(ask)?).await?;
    let already = *stop.borrow_and_update();
    if already != Stop::No {
        talk.say(Frame::told(Told::End(already))?).await?;
    }
    let take_back = staged.as_ref().map(|staged| Arc::clone(&staged.take_back));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        let frame = tokio::select! {
            frame = talk.hear() => frame?,
            degree = told(&mut stop) => {
                talk.say(Frame::told(Told::End(degree))?).await?;
                continue;
            }
            () = taken_back(take_back.as_deref()) => {
                talk.say(Frame::told(Told::TakeBack)?).await?;
                continue;
            }
        };
        match (frame, &mut on_output) {
            (Frame::Output(stream, bytes), Some(show)) => show(stream, &bytes),
            (Frame::Began, _) => {
                if let Some(staged) = staged.take() {
                    (staged.on_begin)();
                }
            }
            (Frame::Output(Stream::Out, bytes), None) => out.extend(bytes),
            (Frame::Output(_, bytes), None) => err.extend(bytes),
            // It tells nobody to end.
            (Frame::Told(_), _) => return Err(io::ErrorKind::InvalidData.into()),
            (word @ Frame::Word(_), _) => {
                let answer = word.read()?;
                return Ok(Called { answer, out, err });
            }
        }
    }
}

/// Waits until an attempt is taken back; forever, if it is not staged.
async fn taken_back(staged: Option<&Notify>) {
    match staged {
        Some(take_back) => take_back.notified().await,
        None => std::future::pending().await,
    }
}

/// Asks the keeper at a socket one thing. An error means that there is none, or that it died.
pub(super) async fn call(socket: &Path, ask: &Ask, wires: Wires) -> io::Result<Called> {
    Line::open(socket)?.ask(ask, wires).await
}

/// Asks the keeper at a socket to end, and waits until it has; says whether it has, or refused
/// because its engine lives. An error means that there is none.
pub(super) async fn last(socket: &Path) -> io::Result<bool> {
    let connection = at(socket, |path| std::os::unix::net::UnixStream::connect(path))?;
    connection.set_nonblocking(true)?;
    let mut connection = UnixStream::from_std(connection)?;
    send(&mut connection, &Frame::word(&Ask::Conclude)?).await?;
    // Its end may cut the connection in any way; a refusal says something.
    Ok(!matches!(connection.read(&mut [0]).await, Ok(1..)))
}

/// Does something with a socket, whose path the system takes only up to a hundred bytes or so:
/// its folder is named by a number.
pub(super) fn at<T>(socket: &Path, with: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(dir), Some(name)) = (socket.parent(), socket.file_name()) else {
        return with(socket);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(dir, flags, Mode::empty())?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name);
    if short.parent().is_some_and(Path::exists) {
        with(&short)
    } else {
        with(socket)
    }
}
