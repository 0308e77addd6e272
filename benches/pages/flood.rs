//! A flood of requests: many connections that ask for one page again as soon as it is answered.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::client::{PageConnection, PageServer};

/// The time that a flood lasts.
const ASKING: Duration = Duration::from_secs(5);

/// The answers that one or all connections got.
#[derive(Default)]
struct FloodAnswers {
    /// The times of the pages that were answered.
    answered: Vec<Duration>,
    /// The number of requests that were refused because there were too many: statuses 503 and 429.
    refused: usize,
    /// The number of requests with another answer, or none.
    failed: usize,
}

/// Asks for a page from many connections as fast as they are answered, and prints what came of it.
pub fn flood(server: &PageServer, askers: usize, what: &str, path: &str) {
    let (all, is_over) = (Mutex::new(FloodAnswers::default()), AtomicBool::new(false));
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..askers {
            scope.spawn(|| {
                let own = ask_again_and_again(server, path, &is_over);
                let mut all = all.lock().expect("no thread panicked");
                all.answered.extend(own.answered);
                all.refused += own.refused;
                all.failed += own.failed;
            });
        }
        thread::sleep(ASKING);
        is_over.store(true, Ordering::Relaxed);
    });
    let seconds = began.elapsed().as_secs_f64();
    let FloodAnswers { mut answered, refused, failed } = all.into_inner().expect("no thread panicked");
    answered.sort_unstable();
    let at = |share: usize| {
        let place = (answered.len().saturating_sub(1)) * share / 100;
        answered.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    let (each, refused) = (answered.len() as f64 / seconds, refused as f64 / seconds);
    let (middle, late) = (at(50), at(99));
    let memory = server.peak_megabytes();
    println!(
        "{what:<12} {askers:>3} connections: {each:>6.0} answered a second, {refused:>6.0} refused, {failed} failed, \
         p50 {middle:>6.1} ms, p99 {late:>6.1} ms, memory {memory} MB"
    );
}

fn ask_again_and_again(server: &PageServer, path: &str, is_over: &AtomicBool) -> FloodAnswers {
    let mut connection = PageConnection::open(server);
    let mut own = FloodAnswers::default();
    while !is_over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        match connection.status(path) {
            Some(200) => own.answered.push(asked.elapsed()),
            Some(429 | 503) => own.refused += 1,
            _ => {
                own.failed += 1;
                connection = PageConnection::open(server);
            }
        }
    }
    own
}
