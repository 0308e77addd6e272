//! The network between a worker and the server: a way through this process, which can be cut.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// A cable. While it is cut nothing gets through, in either direction, and neither end is told; later all of it arrives, as
/// with a network that lost packets.
pub struct Cable {
    near: SocketAddr,
    is_cut: Arc<AtomicBool>,
}

impl Cable {
    /// Lays a cable to an address.
    pub fn to(far: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (near, is_cut) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let cut = Arc::clone(&is_cut);
        thread(move || {
            for one in listener.incoming().map_while(Result::ok) {
                let Ok(other) = TcpStream::connect(far) else { continue };
                for (from, to) in [(&one, &other), (&other, &one)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let cut = Arc::clone(&cut);
                    thread(move || carry(from, to, &cut));
                }
            }
        });
        Self { near, is_cut }
    }

    /// Returns the address of the near end, as `wf.yaml` has it.
    pub fn address(&self) -> String {
        format!("http://{}", self.near)
    }

    /// Cuts the cable, or mends it.
    pub fn set_cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has threads of its own")]
fn thread(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

/// Carries what comes from one end to the other.
fn carry(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        while cut.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
