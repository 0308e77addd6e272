use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use serde_json::Value;

/// A relay between `wf` and a server, which keeps what passes.
pub struct Relay {
    address: SocketAddr,
    kept: Arc<Mutex<Traffic>>,
}

#[derive(Default)]
struct Traffic {
    sent: Vec<u8>,
    /// What came back, in the pieces in which it arrived.
    received: Vec<Vec<u8>>,
}

impl Relay {
    /// Creates a relay to a host and a port.
    pub fn to(authority: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let kept = Arc::new(Mutex::new(Traffic::default()));
        let keeper = Arc::clone(&kept);
        spawn(move || {
            for client in listener.incoming().flatten() {
                // Who connects to a dead server finds its connection closed.
                let Ok(server) = TcpStream::connect(&authority) else { continue };
                let copy = |stream: &TcpStream| stream.try_clone().expect("a connection can be shared");
                let (up, down) = (Arc::clone(&keeper), Arc::clone(&keeper));
                let (from, to) = (copy(&client), copy(&server));
                spawn(move || pass(from, to, |piece| up.lock().unwrap().sent.extend(piece)));
                spawn(move || {
                    pass(server, client, |piece| down.lock().unwrap().received.push(piece.to_vec()));
                });
            }
        });
        Self { address, kept }
    }

    /// The base of its address.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Everything that `wf` sent.
    pub fn sent(&self) -> String {
        String::from_utf8_lossy(&self.kept.lock().unwrap().sent).into_owned()
    }

    /// The events that came back, but the marks of their ends.
    pub fn events(&self) -> Vec<Value> {
        let all = self.kept.lock().unwrap().received.concat();
        let text = String::from_utf8_lossy(&all);
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).expect("an event is JSON"))
            .collect()
    }

    /// Waits, a bounded time, until some pieces brought events.
    pub fn wait_for_events(&self, pieces: usize) {
        for _ in 0..1200 {
            if self.pieces_of_events() >= pieces {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("no reply began within a minute");
    }

    /// The number of pieces that brought events.
    pub fn pieces_of_events(&self) -> usize {
        let kept = self.kept.lock().unwrap();
        kept.received.iter().filter(|piece| String::from_utf8_lossy(piece).contains("data: {")).count()
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    #[expect(clippy::disallowed_methods, reason = "a relay passes on both directions at once")]
    std::thread::spawn(work)
}

/// Passes on what arrives, until there is no more.
fn pass(mut from: TcpStream, mut to: TcpStream, mut keep: impl FnMut(&[u8])) {
    let mut buffer = [0; 8 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        keep(&buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
