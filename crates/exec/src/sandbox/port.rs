//! The port of the gateway in a separate network namespace.
//!
//! ```text
//! engine: GatewayPort ◀── the listening socket, over a Unix socket ── outer stage, in the new namespace
//!    └─ accepts what programs in the sandbox connect to
//! ```
//!
//! A socket belongs to the namespace where it was created, whoever holds it: so the engine serves programs that can
//! reach nothing else, and nothing has to be forwarded.

use std::{
    fs::Permissions,
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    net::{Ipv4Addr, TcpListener},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{fs::PermissionsExt as _, net::UnixStream},
    },
    path::{Path, PathBuf},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use tempfile::TempDir;
use tokio::net::UnixListener;

use super::inner;

/// The receiver of a listening socket a sandbox without network opens.
#[derive(Debug)]
pub struct GatewayPort {
    /// A folder of this user alone. Sandboxes do not see it.
    folder: TempDir,
    socket: UnixListener,
}

impl GatewayPort {
    /// The port inside the sandbox, on the loopback address. Nothing else listens in its namespace.
    pub const NUMBER: u16 = 4319;

    /// Creates the receiver.
    pub fn open() -> io::Result<Self> {
        let only_owner = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("wf-").permissions(only_owner).tempdir()?;
        let socket = UnixListener::bind(folder.path().join("port"))?;
        Ok(Self { folder, socket })
    }

    /// Returns the path for [`SandboxSpec::gateway`](super::SandboxSpec::gateway).
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("port")
    }

    /// Waits for the sandbox, and returns the socket on which its programs are accepted.
    pub async fn listener(&self) -> io::Result<tokio::net::TcpListener> {
        let (stream, _) = self.socket.accept().await?;
        let stream = stream.into_std()?;
        let listener = tokio::task::spawn_blocking(move || {
            stream.set_nonblocking(false)?;
            receive(&stream)
        });
        let listener = TcpListener::from(listener.await.map_err(io::Error::other)??);
        listener.set_nonblocking(true)?;
        tokio::net::TcpListener::from_std(listener)
    }
}

/// Listens in the network namespace of this process, and sends the socket to the engine.
pub(super) fn send_listener(path: &Path) -> io::Result<()> {
    inner::bring_up_loopback()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, GatewayPort::NUMBER))?;
    let stream = UnixStream::connect(path)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let sockets = [listener.as_fd()];
    if !rights.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    rustix::net::sendmsg(&stream, &[IoSlice::new(&[1])], &mut rights, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive(stream: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::net::recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut rights, RecvFlags::CMSG_CLOEXEC)?;
    let sent = rights.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    sent.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
