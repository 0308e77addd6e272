use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Health;
use super::answer::answer;

/// How long a request may take to come, and an answer to be taken.
pub const LIMIT: Duration = Duration::from_secs(5);

/// How many connections there are at once; more wait.
pub const MOST: usize = 16;

/// The longest head of a request, in bytes, and the most headers in it.
const HEAD: usize = 8 * 1024;
const HEADERS: usize = 64;

/// How long it waits where no connection can be taken, as without free descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// Listens for requests.
#[derive(Debug)]
pub struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
}

impl Endpoint {
    /// Begins to listen at an address that [`super::address()`] gave; needs a runtime of tokio with
    /// I/O and time.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            let why = format!("cannot listen at {address}: {error}");
            io::Error::new(error.kind(), why)
        })?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers, for ever. Dropped, it ends all connections.
    pub async fn serve(&self, health: watch::Receiver<Health>) -> Infallible {
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                _ = open.join_next(), if !open.is_empty() => {}
                taken = self.listener.accept(), if open.len() < MOST => match taken {
                    Ok((stream, _)) => {
                        open.spawn(converse(stream, health.clone()));
                    }
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
            }
        }
    }
}

/// One request and its answer; who breaks off, or takes too long, has gone.
async fn converse(stream: TcpStream, health: watch::Receiver<Health>) {
    let answers = service_fn(move |request: Request<Incoming>| {
        let answered = answer(&request, &health.borrow());
        async move { Ok::<Response<String>, Infallible>(answered) }
    });
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LIMIT)
        .keep_alive(false)
        .max_buf_size(HEAD)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), answers);
    let _ = tokio::time::timeout(LIMIT * 2, conversation).await;
}
