//! The floor that remembers: as the floor, with two rows a step in a database that survives a loss
//! of power. The row that says "started" is durable before the step starts; it is written when the
//! step becomes ready, by a thread that commits at once all that came meanwhile.

use std::{
    collections::VecDeque,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    sync::mpsc::{Receiver, Sender, channel},
};

use rusqlite::Connection;
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd, poll},
    process::{Pid, PidfdFlags, WaitOptions, pidfd_open, waitpid},
};

use super::floor::Graph;

/// What is to be written of a step.
#[derive(Clone, Copy, PartialEq)]
enum Row {
    Started(usize),
    Finished(usize),
}

/// A step that runs.
struct Child {
    pid: Pid,
    fd: OwnedFd,
    step: usize,
}

/// Runs a list, so many steps at once, and records it in a new database. Did all succeed?
pub fn run(path: &Path, jobs: usize, database: &Path) -> bool {
    let graph = Graph::read(path);
    let store = opened(database);
    let (rows, to_write) = channel();
    let (durable, may_start) = channel();
    let bell = eventfd(0, EventfdFlags::empty()).expect("there is an event");
    std::thread::scope(|scope| {
        let rung = &bell;
        scope.spawn(move || write(store, &to_write, &durable, rung));
        let well = schedule(&graph, jobs, &rows, &may_start, &bell);
        // Now the writer ends, once all is durable.
        drop(rows);
        well
    })
}

fn opened(database: &Path) -> Connection {
    let store = Connection::open(database).expect("the database opens");
    let set = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
               CREATE TABLE event (id INTEGER PRIMARY KEY, step INTEGER, what TEXT);";
    store.execute_batch(set).expect("the database can be made");
    store
}

/// Commits rows, as many at once as there are.
fn write(mut store: Connection, rows: &Receiver<Vec<Row>>, durable: &Sender<usize>, bell: &OwnedFd) {
    while let Ok(first) = rows.recv() {
        let turns = std::iter::once(first).chain(rows.try_iter());
        let rows: Vec<Row> = turns.flatten().collect();
        let together = store.transaction().expect("a transaction begins");
        {
            let insert = "INSERT INTO event (step, what) VALUES (?1, ?2)";
            let mut insert = together.prepare_cached(insert).expect("the table is there");
            for row in &rows {
                let (step, what) = match row {
                    Row::Started(step) => (*step, "started"),
                    Row::Finished(step) => (*step, "finished"),
                };
                let step = i64::try_from(step).expect("steps are few");
                insert.execute((step, what)).expect("a row is written");
            }
        }
        together.commit().expect("the rows are committed");
        for row in rows {
            if let Row::Started(step) = row {
                // Nobody listens once a step has failed.
                let _ = durable.send(step);
            }
        }
        rustix::io::write(bell, &1_u64.to_ne_bytes()).expect("the event can be told");
    }
}

fn schedule(
    graph: &Graph,
    jobs: usize,
    rows: &Sender<Vec<Row>>,
    may_start: &Receiver<usize>,
    bell: &OwnedFd,
) -> bool {
    let mut left = graph.left();
    // What follows from one turn is written together.
    let mut turn: Vec<Row> = left.first().map(Row::Started).collect();
    let mut ready: VecDeque<usize> = VecDeque::new();
    let mut running: Vec<Child> = Vec::with_capacity(jobs);
    while !left.nothing() {
        if !turn.is_empty() {
            let rows = rows.send(std::mem::take(&mut turn));
            rows.expect("the writer listens");
        }
        while running.len() < jobs
            && let Some(step) = ready.pop_front()
        {
            running.push(started(graph, step));
        }
        wait(&running, bell);
        ready.extend(may_start.try_iter());
        let mut at = 0;
        while at < running.len() {
            let status = waitpid(Some(running[at].pid), WaitOptions::NOHANG);
            let Some((_, status)) = status.expect("it is a child") else {
                at += 1;
                continue;
            };
            let step = running.swap_remove(at).step;
            if status.exit_status() != Some(0) {
                return false;
            }
            turn.push(Row::Finished(step));
            turn.extend(left.done(step).map(Row::Started));
        }
    }
    let rows = rows.send(turn);
    rows.expect("the writer listens");
    true
}

fn started(graph: &Graph, step: usize) -> Child {
    let pid = Pid::from_raw(graph.start(step)).expect("a child has an id");
    let fd = pidfd_open(pid, PidfdFlags::empty()).expect("a child can be watched");
    Child { pid, fd, step }
}

/// Waits until a child has ended or rows are durable.
fn wait(running: &[Child], bell: &OwnedFd) {
    let watch = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
    let mut watched: Vec<PollFd<'_>> = running.iter().map(|child| watch(child.fd.as_fd())).collect();
    watched.push(watch(bell.as_fd()));
    poll(&mut watched, None).expect("children can be waited for");
    let rung = watched.last().is_some_and(|bell| !bell.revents().is_empty());
    if rung {
        let mut count = [0; 8];
        rustix::io::read(bell, &mut count).expect("the event can be read");
    }
}
