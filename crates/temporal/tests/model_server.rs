//! A model that takes its time: calls that could be made at once are under way at once.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// The time that a reply takes.
const PAUSE: Duration = Duration::from_secs(4);

/// A server of a model that gives all calls the same reply.
pub struct ModelServer {
    address: String,
    calls: Arc<AtomicUsize>,
}

impl ModelServer {
    /// Starts the server, which ends with the test.
    #[expect(clippy::disallowed_methods, reason = "the server of a test has threads of its own")]
    pub fn start(reply: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let calls = Arc::new(AtomicUsize::new(0));
        let message = serde_json::json!({"role": "assistant", "content": reply});
        let body = serde_json::json!({
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 20},
        });
        let (counted, body) = (Arc::clone(&calls), body.to_string());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (counted, body) = (Arc::clone(&counted), body.clone());
                std::thread::spawn(move || answer(stream, &counted, &body));
            }
        });
        Self { address, calls }
    }

    /// Returns its address, as a model has it.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the number of calls since this was asked before.
    pub fn take_calls(&self) -> usize {
        self.calls.swap(0, Ordering::SeqCst)
    }
}

/// Answers the requests of a connection.
fn answer(stream: TcpStream, calls: &AtomicUsize, body: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut request = vec![0; length];
        reader.read_exact(&mut request).unwrap();
        calls.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(PAUSE);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all((head + body).as_bytes()).is_err() {
            return;
        }
    }
}
