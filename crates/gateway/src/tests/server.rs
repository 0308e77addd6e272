use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// The pause between two pieces, so that they arrive apart.
const PAUSE: Duration = Duration::from_millis(5);

/// A reply that a test wrote by hand.
#[derive(Clone, Debug)]
pub(crate) struct CannedReply {
    /// The pieces, head included; after each the server waits a moment.
    pub(crate) pieces: Vec<Vec<u8>>,
    /// The last piece is sent so often.
    pub(crate) repeat: usize,
    /// True if the connection stays open and silent after the pieces.
    pub(crate) hangs: bool,
}

impl CannedReply {
    /// Makes a reply with a body of known length.
    pub(crate) fn whole(status: &str, headers: &str, body: &str) -> Self {
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
        Self { pieces: vec![[head.as_bytes(), body.as_bytes()].concat()], repeat: 1, hangs: false }
    }

    /// Makes a stream of events that ends with the connection.
    pub(crate) fn stream(pieces: &[&[u8]]) -> Self {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n";
        let all = std::iter::once(head.to_vec()).chain(pieces.iter().map(|piece| piece.to_vec()));
        Self { pieces: all.collect(), repeat: 1, hangs: false }
    }
}

/// A server on this machine. Each connection gets one request and the next reply; the last reply is given again.
pub(crate) struct TestServer {
    /// Its address.
    pub(crate) base_url: String,
    requests: Arc<Mutex<Vec<String>>>,
    /// The server ends with this.
    _task: JoinSet<()>,
}

impl TestServer {
    pub(crate) async fn start(replies: Vec<CannedReply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut replies = VecDeque::from(replies);
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let reply = replies.front().cloned().unwrap();
                if replies.len() > 1 {
                    replies.pop_front();
                }
                open.spawn(serve(stream, reply, Arc::clone(&seen)));
            }
        });
        Self { base_url, requests, _task: task }
    }

    /// Returns the requests so far, heads and bodies.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, reply: CannedReply, seen: Arc<Mutex<Vec<String>>>) {
    let Some(request) = read_request(&mut stream).await else {
        return;
    };
    seen.lock().unwrap().push(request);
    let last = reply.pieces.len() - 1;
    for (at, piece) in reply.pieces.iter().enumerate() {
        let times = if at == last { reply.repeat } else { 1 };
        for _ in 0..times {
            // A client that has enough closes the connection.
            if stream.write_all(piece).await.is_err() {
                return;
            }
        }
        if at != last {
            tokio::time::sleep(PAUSE).await;
        }
    }
    if reply.hangs {
        std::future::pending::<()>().await;
    }
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.ok()?;
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        if count == 0 {
            return None;
        }
    }
}
