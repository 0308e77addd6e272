//! The floor: the least that running a graph of commands can cost. It reads a plain list, starts
//! `/bin/sh -c COMMAND` for each step, waits, and keeps no record and no logs.
//!
//! A line of the list is a step: the numbers of the steps it needs, a tab, and its command.

use std::{collections::VecDeque, fs, path::Path, process::Command};

use rustix::process::{WaitOptions, wait};

/// Steps, with what each waits for and who waits for it.
pub struct Graph {
    waits: Vec<usize>,
    then: Vec<Vec<usize>>,
    commands: Vec<String>,
}

/// What is left to do of a graph.
pub struct Left<'a> {
    graph: &'a Graph,
    waits: Vec<usize>,
    done: usize,
}

impl Graph {
    /// Reads a list.
    pub fn read(path: &Path) -> Graph {
        let text = fs::read_to_string(path).expect("the list can be read");
        let count = text.lines().count();
        let mut graph = Graph {
            waits: Vec::with_capacity(count),
            then: vec![Vec::new(); count],
            commands: Vec::with_capacity(count),
        };
        for (at, line) in text.lines().enumerate() {
            let (needs, command) = line.split_once('\t').expect("a list has tabs");
            let mut waits = 0;
            for need in needs.split_ascii_whitespace() {
                let need: usize = need.parse().expect("a need is a number");
                graph.then[need].push(at);
                waits += 1;
            }
            graph.waits.push(waits);
            graph.commands.push(command.to_owned());
        }
        graph
    }

    /// All of it is left.
    pub fn left(&self) -> Left<'_> {
        Left { graph: self, waits: self.waits.clone(), done: 0 }
    }

    /// Starts a step and says which process that is.
    #[expect(clippy::zombie_processes, reason = "whoever asks for it waits for any child")]
    pub fn start(&self, step: usize) -> i32 {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&self.commands[step]);
        let child = command.spawn().expect("sh starts");
        i32::try_from(child.id()).expect("ids of processes are small")
    }
}

impl Left<'_> {
    /// The steps that need nothing.
    pub fn first(&self) -> impl Iterator<Item = usize> {
        let waits = self.waits.iter().enumerate();
        waits.filter(|(_, waits)| **waits == 0).map(|(at, _)| at)
    }

    /// A step is done: what can begin now?
    pub fn done(&mut self, step: usize) -> impl Iterator<Item = usize> {
        self.done += 1;
        let waits = &mut self.waits;
        self.graph.then[step].iter().copied().filter(|then| {
            waits[*then] -= 1;
            waits[*then] == 0
        })
    }

    /// Whether all of it is done.
    pub fn nothing(&self) -> bool {
        self.done == self.waits.len()
    }
}

/// Reads a list and puts it into an order, without running it. Is there one?
pub fn check(path: &Path) -> bool {
    let graph = Graph::read(path);
    let mut left = graph.left();
    let mut ready: Vec<usize> = left.first().collect();
    while let Some(step) = ready.pop() {
        ready.extend(left.done(step));
    }
    left.nothing()
}

/// Runs a list, so many steps at once. Did all of them succeed?
pub fn run(path: &Path, jobs: usize) -> bool {
    let graph = Graph::read(path);
    let mut left = graph.left();
    let mut ready: VecDeque<usize> = left.first().collect();
    let mut running: Vec<(i32, usize)> = Vec::with_capacity(jobs);
    loop {
        while running.len() < jobs
            && let Some(step) = ready.pop_front()
        {
            running.push((graph.start(step), step));
        }
        if running.is_empty() {
            return left.nothing();
        }
        let ended = wait(WaitOptions::empty()).expect("there are children");
        let (pid, status) = ended.expect("wait waits");
        let pid = pid.as_raw_nonzero().get();
        let Some(at) = running.iter().position(|(child, _)| *child == pid) else {
            continue;
        };
        let (_, step) = running.swap_remove(at);
        if status.exit_status() != Some(0) {
            return false;
        }
        ready.extend(left.done(step));
    }
}
