//! One request to a supervisor and its answer.

use std::{
    io,
    os::{fd::AsRawFd as _, unix::net::UnixStream as StdStream},
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};
use tokio::{
    io::AsyncReadExt as _,
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

use super::{
    frame::{FrameReader, SupervisorFrame, send},
    message::{RequestFollowUp, SupervisorReply, SupervisorRequest},
};
use crate::{OnOutput, log::LogStream, processes::supervise::next_stop, work_error::StopLevel};

/// The answer of a supervisor, and the output before it unless a callback received that.
pub(super) struct CallResult {
    pub(super) reply: SupervisorReply,
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
}

/// The caller's channels to a piece of work.
pub struct JobHooks {
    /// The stop request, if any.
    pub stop: watch::Receiver<StopLevel>,
    /// Receives the output.
    pub on_output: Option<OnOutput>,
}

impl JobHooks {
    /// Creates hooks that leave the output to the result.
    pub fn without_output(stop: watch::Receiver<StopLevel>) -> Self {
        Self { stop, on_output: None }
    }
}

/// A connection to a supervisor for one request at a time.
pub(super) struct SerialConnection {
    reader: FrameReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
    /// True if the connection can be reused: a request to terminate may have come too late and
    /// still be in transit.
    pub(super) is_clean: bool,
}

impl SerialConnection {
    /// Connects to the supervisor at a socket. An error means an absent supervisor.
    pub(super) fn open(socket: &Path) -> io::Result<Self> {
        let (from, to) = UnixStream::from_std(connect(socket)?)?.into_split();
        Ok(Self { reader: FrameReader::new(from), to, is_clean: true })
    }
}

/// A connection with one request at a time.
pub(super) trait FrameExchange {
    /// Sends a message.
    async fn send_frame(&mut self, frame: SupervisorFrame) -> io::Result<()>;

    /// Waits for a message; cancel-safe.
    async fn receive_frame(&mut self) -> io::Result<SupervisorFrame>;
}

impl FrameExchange for SerialConnection {
    async fn send_frame(&mut self, frame: SupervisorFrame) -> io::Result<()> {
        self.is_clean &= !matches!(frame, SupervisorFrame::FollowUp(_));
        send(&mut self.to, &frame).await
    }

    async fn receive_frame(&mut self) -> io::Result<SupervisorFrame> {
        let heard = self.reader.next().await?;
        Ok(heard.ok_or(io::ErrorKind::UnexpectedEof)?.1)
    }
}

/// Sends a request and listens until it is answered. An error means the supervisor died.
pub(super) async fn converse(
    exchange: &mut impl FrameExchange,
    request: &SupervisorRequest,
    hooks: JobHooks,
) -> io::Result<CallResult> {
    let JobHooks { mut stop, mut on_output } = hooks;
    exchange.send_frame(SupervisorFrame::message(request)?).await?;
    let already = *stop.borrow_and_update();
    if already != StopLevel::No {
        exchange.send_frame(SupervisorFrame::follow_up(RequestFollowUp::End(already))?).await?;
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        let frame = tokio::select! {
            frame = exchange.receive_frame() => frame?,
            degree = next_stop(&mut stop) => {
                exchange.send_frame(SupervisorFrame::follow_up(RequestFollowUp::End(degree))?).await?;
                continue;
            }
        };
        match (frame, &mut on_output) {
            (SupervisorFrame::Output(stream, bytes), Some(show)) => show(stream, &bytes),
            (SupervisorFrame::Output(LogStream::Out, bytes), None) => out.extend(bytes),
            (SupervisorFrame::Output(_, bytes), None) => err.extend(bytes),
            // A supervisor never sends a follow-up.
            (SupervisorFrame::FollowUp(_), _) => return Err(io::ErrorKind::InvalidData.into()),
            (word @ SupervisorFrame::Message(_), _) => {
                let answer = word.decode()?;
                return Ok(CallResult { reply: answer, out, err });
            }
        }
    }
}

/// Sends one request to the supervisor at a socket. An error means an absent or dead supervisor.
pub(super) async fn call(
    socket: &Path,
    request: &SupervisorRequest,
    hooks: JobHooks,
) -> io::Result<CallResult> {
    converse(&mut SerialConnection::open(socket)?, request, hooks).await
}

/// Asks the supervisor at a socket to terminate and waits for that; false if it refuses because its engine lives. An
/// error means an absent supervisor.
pub(super) async fn request_shutdown(socket: &Path) -> io::Result<bool> {
    let mut connection = UnixStream::from_std(connect(socket)?)?;
    send(&mut connection, &SupervisorFrame::message(&SupervisorRequest::Conclude)?).await?;
    // Its exit may cut the connection in any way; a refusal sends an answer.
    Ok(!matches!(connection.read(&mut [0]).await, Ok(1..)))
}

/// Connects to the supervisor at a socket, for use by tokio. An error means an absent supervisor.
pub(super) fn connect(socket: &Path) -> io::Result<StdStream> {
    let connection = with_short_path(socket, |path| StdStream::connect(path))?;
    connection.set_nonblocking(true)?;
    Ok(connection)
}

/// Uses a socket by a short path through a descriptor of its folder: the system limits socket paths
/// to about a hundred bytes.
pub(super) fn with_short_path<T>(socket: &Path, with: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(dir), Some(name)) = (socket.parent(), socket.file_name()) else {
        return with(socket);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(dir, flags, Mode::empty())?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name);
    if short.parent().is_some_and(Path::exists) { with(&short) } else { with(socket) }
}
