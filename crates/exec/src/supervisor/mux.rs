//! One connection for all concurrent requests of an engine to its supervisor.

use std::{
    collections::BTreeMap,
    io,
    net::Shutdown,
    os::unix::net::UnixStream as StdStream,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use tokio::{
    net::{UnixStream, unix::OwnedReadHalf},
    sync::mpsc,
    task::JoinSet,
};

use super::{
    frame::{FrameReader, FrameSender, SupervisorFrame, outgoing, write},
    message::SupervisorRequest,
    request::{self, CallResult, FrameExchange, JobHooks, converse},
};
use crate::runtime::lock_mutex;

/// The number of messages queued for one request before the whole connection waits.
const REPLY_QUEUE_LENGTH: usize = 64;

/// A connection with many requests at once.
pub(super) struct MuxConnection {
    connection: StdStream,
    to: FrameSender,
    last: AtomicU32,
    open_requests: OpenRequests,
    /// The reader and the writer, which end with this.
    _tasks: JoinSet<()>,
}

/// The channels of open requests by number; `None` once the connection has ended.
type OpenRequests = Arc<Mutex<Option<BTreeMap<u32, mpsc::Sender<SupervisorFrame>>>>>;

impl MuxConnection {
    /// Connects to the supervisor at a socket. An error means an absent supervisor.
    pub(super) fn open(socket: &Path) -> io::Result<Self> {
        let connection = request::connect(socket)?;
        let (from, into) = UnixStream::from_std(connection.try_clone()?)?.into_split();
        let (to, messages) = outgoing();
        let open_requests: OpenRequests = Arc::new(Mutex::new(Some(BTreeMap::new())));
        let mut tasks = JoinSet::new();
        let writing = write(into, messages);
        tasks.spawn(async { drop(writing.await) });
        tasks.spawn(hand_out(FrameReader::new(from), Arc::clone(&open_requests)));
        Ok(Self { connection, to, last: AtomicU32::new(0), open_requests, _tasks: tasks })
    }

    /// Sends a request and waits for the answer. An error means the supervisor died.
    pub(super) async fn ask(&self, request: &SupervisorRequest, hooks: JobHooks) -> io::Result<CallResult> {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let (tell, heard) = mpsc::channel(REPLY_QUEUE_LENGTH);
        let is_new = lock_mutex(&self.open_requests).as_mut().map(|requests| requests.insert(number, tell));
        is_new.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut call = OpenRequest { mux: self, number, replies: heard };
        converse(&mut call, request, hooks).await
    }

    /// Closes the connection, which ends all open requests.
    pub(super) fn close(&self) {
        let _ = self.connection.shutdown(Shutdown::Both);
    }
}

impl Drop for MuxConnection {
    fn drop(&mut self) {
        self.close();
    }
}

/// An open request, until it is answered or dropped.
struct OpenRequest<'a> {
    mux: &'a MuxConnection,
    number: u32,
    replies: mpsc::Receiver<SupervisorFrame>,
}

impl FrameExchange for OpenRequest<'_> {
    async fn send_frame(&mut self, frame: SupervisorFrame) -> io::Result<()> {
        let sent = self.mux.to.send(frame.about(self.number)?).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    async fn receive_frame(&mut self) -> io::Result<SupervisorFrame> {
        let heard = self.replies.recv().await;
        heard.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        if let Some(requests) = lock_mutex(&self.mux.open_requests).as_mut() {
            requests.remove(&self.number);
        }
    }
}

/// Dispatches incoming messages; the end of the connection ends all open requests.
async fn hand_out(mut reader: FrameReader<OwnedReadHalf>, requests: OpenRequests) {
    while let Ok(Some((number, frame))) = reader.next().await {
        let tell = lock_mutex(&requests).as_ref().and_then(|requests| requests.get(&number).cloned());
        if let Some(tell) = tell {
            let _ = tell.send(frame).await;
        }
    }
    lock_mutex(&requests).take();
}
