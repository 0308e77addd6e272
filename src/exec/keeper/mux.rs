//! One connection for everything that an engine asks a keeper to do beside each other.

use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::call::{self, Called, Talk, Wires, converse};
use super::frame::{Frame, Frames, Outgoing, outgoing, write};
use super::message::Ask;

/// How many messages wait for whoever asked, before nobody is told anything.
const WAITING: usize = 64;

/// A connection on which many things are asked at once.
pub(super) struct Mux {
    connection: StdStream,
    to: Outgoing,
    last: AtomicU32,
    asked: Asked,
    /// What writes and reads. It ends with this.
    _tasks: JoinSet<()>,
}

/// Who waits for messages about what; empty once the connection has ended.
type Asked = Arc<Mutex<Option<BTreeMap<u32, mpsc::Sender<Frame>>>>>;

impl Mux {
    /// Connects to the keeper at a socket. An error means that there is none.
    pub(super) fn open(socket: &Path) -> io::Result<Self> {
        let connection = call::at(socket, |path| StdStream::connect(path))?;
        connection.set_nonblocking(true)?;
        let (from, into) = UnixStream::from_std(connection.try_clone()?)?.into_split();
        let (to, messages) = outgoing();
        let asked: Asked = Arc::new(Mutex::new(Some(BTreeMap::new())));
        let mut tasks = JoinSet::new();
        let writing = write(into, messages);
        tasks.spawn(async { drop(writing.await) });
        tasks.spawn(hand_out(Frames::new(from), Arc::clone(&asked)));
        Ok(Self {
            connection,
            to,
            last: AtomicU32::new(0),
            asked,
            _tasks: tasks,
        })
    }

    /// Asks something. An error means that the keeper died.
    pub(super) async fn ask(&self, ask: &Ask, wires: Wires) -> io::Result<Called> {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let (tell, heard) = mpsc::channel(WAITING);
        let known = lock(&self.asked)
            .as_mut()
            .map(|asked| asked.insert(number, tell));
        known.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut call = Call {
            mux: self,
            number,
            heard,
        };
        converse(&mut call, ask, wires).await
    }

    /// Ends the connection, also for whoever still waits.
    pub(super) fn close(&self) {
        let _ = self.connection.shutdown(Shutdown::Both);
    }
}

impl Drop for Mux {
    fn drop(&mut self) {
        self.close();
    }
}

/// What was asked, until it is answered or nobody waits any more.
struct Call<'a> {
    mux: &'a Mux,
    number: u32,
    heard: mpsc::Receiver<Frame>,
}

impl Talk for Call<'_> {
    async fn say(&mut self, frame: Frame) -> io::Result<()> {
        let sent = self.mux.to.send(frame.about(self.number)?).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    async fn hear(&mut self) -> io::Result<Frame> {
        let heard = self.heard.recv().await;
        heard.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(asked) = lock(&self.mux.asked).as_mut() {
            asked.remove(&self.number);
        }
    }
}

/// Hands out what comes; at the end of the connection nobody waits any longer.
async fn hand_out(mut from: Frames<OwnedReadHalf>, asked: Asked) {
    while let Ok(Some((number, frame))) = from.next().await {
        let tell = lock(&asked)
            .as_ref()
            .and_then(|asked| asked.get(&number).cloned());
        if let Some(tell) = tell {
            let _ = tell.send(frame).await;
        }
    }
    lock(&asked).take();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
