//! A flood of requests: most are refused or answered late, and what matters goes through.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{ASKS, Pages, event_number, last_run, version_numbers};
use crate::support::{Sandbox, until};
use wf_sign::Signer;

/// More browsers than the server makes pages for, or lets wait.
const BROWSERS: usize = 200;

/// The least number of requests of a flood.
const MIN_REQUESTS: usize = 3_000;

/// The most memory of the server, in megabytes. It takes some 80.
const MAX_MEMORY: u64 = 200;

/// What a flood got for answers.
#[derive(Default)]
struct Flood {
    answered: AtomicUsize,
    refused: AtomicUsize,
    is_over: AtomicBool,
    /// Answers that there should not be.
    wrong: Mutex<Vec<String>>,
}

impl Flood {
    fn count(&self) -> usize {
        self.answered.load(Ordering::Relaxed) + self.refused.load(Ordering::Relaxed)
    }

    /// Asks for pages from one connection until the flood is over.
    fn ask(&self, pages: &Pages, paths: &[String]) {
        let mut stream = BufReader::new(TcpStream::connect(&pages.host).unwrap());
        stream.get_ref().set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        for path in paths.iter().cycle() {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let head = exchange(pages, &mut stream, path);
            match head.get(..13) {
                Some("HTTP/1.1 200 ") => self.answered.fetch_add(1, Ordering::Relaxed),
                Some("HTTP/1.1 503 ") if head.contains("retry-after: 1\r\n") => {
                    self.refused.fetch_add(1, Ordering::Relaxed)
                }
                _ => {
                    self.wrong.lock().unwrap().push(format!("{path}: {head:?}"));
                    return;
                }
            };
        }
    }
}

/// Asks for a page on a connection that stays open, and returns the head of the answer.
fn exchange(pages: &Pages, stream: &mut BufReader<TcpStream>, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{}\r\n", pages.host, pages.cookie);
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap() > 0 {}
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    head
}

/// Returns the most memory that the server had, in megabytes.
fn peak_memory(pages: &Pages) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pages.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1_000
}

#[test]
fn an_answer_and_every_event_go_through_a_flood() {
    let sandbox = Sandbox::new();
    sandbox.file("release.md", ASKS);
    let phone = Signer::from_bytes(&[7; 32]);
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    sandbox.wf(&["run", "release.md"]).exits(5);
    let run = last_run(&sandbox);
    let pages = Pages::open(&sandbox);
    let paths = ["/", "/inbox", "/style.css", "/activity"].map(str::to_owned);
    let paths = [&paths[..], &[format!("/runs/{run}"), format!("/runs/{run}/steps/build")]].concat();
    let (flood, heard) = (Flood::default(), Mutex::new(Vec::new()));
    let events = pages.connect("/events");
    let hang_up = events.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let lines = BufReader::new(events).lines().map_while(Result::ok);
            let ids = lines.filter_map(|line| Some(version_numbers(line.strip_prefix("id: ")?)));
            ids.for_each(|id| heard.lock().unwrap().push(id));
        });
        for _ in 0..BROWSERS {
            scope.spawn(|| flood.ask(&pages, &paths));
        }
        until("the flood is high", || {
            flood.refused.load(Ordering::Relaxed) > 0 || flood.count() > MIN_REQUESTS
        });

        // A person answers, and the run goes on.
        let card = format!("/inbox/{run}/1");
        let yes = pages.signed(&card, r#"{"yes": true}"#, &phone);
        let recorded = pages.own_post(&format!("{card}/answer"), &yes);
        assert!(recorded.starts_with("HTTP/1.1 200 "), "{recorded}");
        sandbox.until_runs_end();
        let end: i64 =
            sandbox.database().query_row("SELECT max(seq) FROM events", [], |row| row.get(0)).unwrap();
        until("the stream hears of the end", || {
            heard.lock().unwrap().last().is_some_and(|(events, _)| *events == end.unsigned_abs())
        });
        until("there were enough requests", || flood.count() > MIN_REQUESTS);
        flood.is_over.store(true, Ordering::Relaxed);
        hang_up.shutdown(std::net::Shutdown::Both).unwrap();
    });
    assert_eq!(*flood.wrong.lock().unwrap(), [""; 0]);
    let [answered, refused] = [&flood.answered, &flood.refused].map(|count| count.load(Ordering::Relaxed));
    assert!(answered > 0 && refused > 0, "{answered} answered, {refused} refused");
    let heard = heard.into_inner().unwrap();
    assert!(heard.is_sorted_by(|one, next| one < next), "each event is heard once: {heard:?}");
    let memory = peak_memory(&pages);
    assert!(memory < MAX_MEMORY, "{memory} MB");
    pages.shows(&format!("/runs/{run}?tab=about"), &["approved", "by phone", "succeeded"]);
}

#[test]
fn a_state_that_is_removed_and_made_anew_is_shown() {
    let sandbox = Sandbox::new();
    sandbox.file("release.md", ASKS);
    let pages = Pages::open(&sandbox);
    for _ in 0..2 {
        pages.shows("/runs", &["No run matches"]);
        sandbox.wf(&["run", "release.md"]).exits(5);
        let run = last_run(&sandbox);
        pages.shows("/runs", &[&run]);
        pages.shows(&format!("/runs/{run}"), &["<svg"]);
        let mut events = BufReader::new(pages.connect("/events")).lines().map(Result::unwrap);
        let mut next = || events.find_map(|line| Some(event_number(line.strip_prefix("id: ")?)));
        until("the stream knows the state", || next().is_some_and(|id| id > 0));
        std::fs::remove_dir_all(sandbox.at(".wf")).unwrap();
        assert_eq!(next(), Some(0), "there is no state");
    }
}
