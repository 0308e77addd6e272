use std::{convert::Infallible, sync::Arc, time::Duration};

use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{ClientCalls, ClientToken, answer::ClientService};

/// The time between two keep-alive events of a stream.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The most connections at once; more wait.
const MAX_CONNECTIONS: usize = 32;

/// The longest time in which a connection may have no request. Agents keep one open while their tools run.
const IDLE_TIMEOUT: Duration = Duration::from_mins(10);

/// The pause after a connection could not be accepted, for lack of file descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Serves clients forever. When dropped, it closes all connections and drops their calls.
pub async fn serve(listener: TcpListener, token: ClientToken, calls: Arc<dyn ClientCalls>) -> Infallible {
    serve_with(listener, ClientService { token, calls, keep_alive: KEEP_ALIVE }).await
}

pub(super) async fn serve_with(listener: TcpListener, service: ClientService) -> Infallible {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            _ = open.join_next(), if !open.is_empty() => {}
            taken = listener.accept(), if open.len() < MAX_CONNECTIONS => match taken {
                Ok((stream, _)) => {
                    open.spawn(handle_connection(stream, service.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

/// Handles the requests of a connection. When the client disconnects, the call for it is dropped.
async fn handle_connection(stream: TcpStream, service: ClientService) {
    let answers = service_fn(move |request: Request<Incoming>| {
        let service = service.clone();
        async move { Ok::<_, Infallible>(service.answer(request).await) }
    });
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .serve_connection(TokioIo::new(stream), answers);
    let _ = conversation.await;
}
