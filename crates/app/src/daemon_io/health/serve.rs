use std::{convert::Infallible, io, net::SocketAddr, time::Duration};

use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use super::{DaemonHealth, answer::answer};

/// The longest time for a request to arrive, and for an answer to be read.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The most connections at once; more wait.
pub const MAX_CONNECTIONS: usize = 16;

/// The longest head of a request, in bytes, and the most headers in it.
const MAX_HEAD_SIZE: usize = 8 * 1024;
const MAX_HEADERS: usize = 64;

/// The pause after a connection could not be accepted, for lack of file descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// An endpoint listening for requests.
#[derive(Debug)]
pub struct HealthEndpoint {
    listener: TcpListener,
    address: SocketAddr,
}

impl HealthEndpoint {
    /// Listens at an address returned by [`super::address()`]; needs a Tokio runtime with I/O and
    /// time.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            let reason = format!("cannot listen on {address}: {error}");
            io::Error::new(error.kind(), reason)
        })?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Returns its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers forever. When dropped, it closes all connections.
    pub async fn serve(&self, health: watch::Receiver<DaemonHealth>) -> Infallible {
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                _ = open.join_next(), if !open.is_empty() => {}
                taken = self.listener.accept(), if open.len() < MAX_CONNECTIONS => match taken {
                    Ok((stream, _)) => {
                        open.spawn(handle_connection(stream, health.clone()));
                    }
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
            }
        }
    }
}

/// Handles one request; a disconnected or slow client is dropped.
async fn handle_connection(stream: TcpStream, health: watch::Receiver<DaemonHealth>) {
    let answers = service_fn(move |request: Request<Incoming>| {
        let answered = answer(&request, &health.borrow());
        async move { Ok::<Response<String>, Infallible>(answered) }
    });
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .keep_alive(false)
        .max_buf_size(MAX_HEAD_SIZE)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), answers);
    let _ = tokio::time::timeout(REQUEST_TIMEOUT * 2, conversation).await;
}
