//! The order of locks: tickets, deaths, cancellations and resumptions, against a model of one queue for each lock.

use std::path::Path;

use rusqlite::Connection;

use crate::{
    LockAcquisition, Store,
    tests::fixture::{first, lock, name, new_run, open, run_ended, run_id, stranger},
};
use wf_base::name::RunId;
use wf_core::machine::{TaskId, TaskLocks};
use wf_model::LockBusyPolicy::{Newest, Queue, Refuse};

const TASKS: usize = 300;
const LOCKS: [&str; 3] = ["prod", "stage", "test"];

/// A generator of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskState {
    Waits,
    Holds,
    Over,
}

/// A task of a run of its own, as the model has it. Its number is that of its ticket.
#[derive(Clone, Copy, Debug)]
struct ModelTask {
    lock: usize,
    state: TaskState,
    lives: bool,
}

struct World {
    stores: [Store; 2],
    outside: Connection,
    numbers: Numbers,
    tasks: Vec<ModelTask>,
    served: usize,
    cancelled: usize,
}

fn run(number: usize) -> RunId {
    let mut bytes = [0; 16];
    // Later runs sort first: nothing but the tickets gives the order.
    bytes[..8].copy_from_slice(&(u64::MAX - number as u64).to_be_bytes());
    RunId::from_bytes(bytes)
}

impl World {
    fn new(dir: &Path, seed: u64) -> Self {
        let stores = [open(dir), open(dir)];
        let outside = stranger(dir);
        Self { stores, outside, numbers: Numbers(seed), tasks: Vec::new(), served: 0, cancelled: 0 }
    }

    /// The task that has a lock, or gets it next.
    fn first(&self, lock: usize) -> Option<usize> {
        let of = |state| {
            let is = move |task: &ModelTask| task.lock == lock && task.state == state && task.lives;
            self.tasks.iter().position(is)
        };
        of(TaskState::Holds).or_else(|| of(TaskState::Waits))
    }

    /// Asks for the lock of a task, which lives again if its process was dead, and compares.
    fn ask(&mut self, number: usize) {
        self.tasks[number].lives = true;
        let task = self.tasks[number];
        let place = TaskId::of_step(&name("d"));
        let store = &self.stores[number % 2];
        let answer = store.try_lock(&lock(LOCKS[task.lock]), &run(number), &place).wait().unwrap();
        let first = self.first(task.lock).unwrap();
        match answer {
            LockAcquisition::Held(found) => {
                assert_ne!(first, number, "it is the turn of {number}");
                assert_eq!(found.holder.run, run(first), "{number} waits");
            }
            LockAcquisition::Refused(_) | LockAcquisition::Replaced(_) => panic!("{number} waits"),
            LockAcquisition::Acquired | LockAcquisition::TakenOver(_) => {
                assert_eq!(first, number, "{number} went before its turn");
                for gone in self.tasks.iter_mut().filter(|gone| gone.state == TaskState::Holds) {
                    if gone.lock == task.lock {
                        assert!(!gone.lives, "two have a lock");
                        gone.state = TaskState::Over;
                    }
                }
                self.tasks[number].state = TaskState::Holds;
                self.served += 1;
            }
        }
    }

    /// Ends a task, or its wait.
    fn end(&mut self, number: usize) {
        let place = TaskId::of_step(&name("d"));
        self.stores[number % 2].unlock(&run(number), &place).wait().unwrap();
        self.cancelled += usize::from(self.tasks[number].state == TaskState::Waits);
        self.tasks[number].state = TaskState::Over;
    }

    fn kill(&mut self, number: usize) {
        self.tasks[number].lives = false;
        let sql = "UPDATE locks SET boot_id = 'before' WHERE run = ?1";
        self.outside.execute(sql, [run(number).as_str()]).unwrap();
    }

    /// One of the tasks that are so; none, if there is none.
    fn any(&mut self, is: impl Fn(&ModelTask) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.tasks.len()).filter(|at| is(&self.tasks[*at])).collect();
        (!all.is_empty()).then(|| all[self.numbers.below(all.len())])
    }

    fn step(&mut self) {
        let waits = |task: &ModelTask| task.state == TaskState::Waits;
        let chosen = match self.numbers.below(20) {
            0..=5 if self.tasks.len() < TASKS => {
                let lock = self.numbers.below(LOCKS.len());
                self.tasks.push(ModelTask { lock, state: TaskState::Waits, lives: true });
                return self.ask(self.tasks.len() - 1);
            }
            6 => (self.any(|task| waits(task) && task.lives), Self::end as fn(&mut Self, usize)),
            7 => (self.any(|task| task.state != TaskState::Over && task.lives), Self::kill as _),
            8..=11 => (self.any(|task| task.state == TaskState::Holds && task.lives), Self::end as _),
            _ => (self.any(waits), Self::ask as _),
        };
        if let (Some(number), act) = chosen {
            act(self, number);
        }
    }
}

#[test]
fn tasks_get_a_lock_in_the_order_of_their_tickets_whoever_dies() {
    for seed in [1, 7, 42] {
        let dir = tempfile::tempdir().unwrap();
        let mut world = World::new(dir.path(), seed);
        while world.tasks.len() < TASKS {
            world.step();
        }
        for _ in 0..200 {
            world.step();
        }
        // Those who wait get it, one after the other, if each goes on.
        for lock in 0..LOCKS.len() {
            while let Some(first) = world.first(lock) {
                if world.tasks[first].state == TaskState::Waits {
                    world.ask(first);
                }
                world.end(first);
            }
        }
        let left = world.tasks.iter().filter(|task| task.lives && task.state != TaskState::Over).count();
        assert_eq!(left, 0, "seed {seed}");
        assert!(world.served > 100 && world.cancelled > 5, "{} and {}", world.served, world.cancelled);
        assert_eq!(world.stores[0].reader().unwrap().leases().lock_waits().unwrap(), []);
    }
}

#[test]
fn a_turn_outlives_the_process_and_ends_with_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let place = TaskId::of_step(&name("d"));
    let [holder, waiter] = [open(dir.path()), open(dir.path())];
    let ask = |store: &Store, run| {
        store.try_lock(&lock("prod"), &run_id(run), &place).wait().unwrap() == LockAcquisition::Acquired
    };
    assert!(ask(&holder, 1));
    let fence = waiter.own_run(&run_id(2), "").wait().unwrap();
    let mut batch = first(&run_id(2), new_run("report"), vec![]);
    batch.token = fence.token();
    waiter.append(batch).wait().unwrap();
    assert!(!ask(&waiter, 2) && !ask(&holder, 3));
    drop((fence, waiter));
    let order = || {
        let waits = holder.reader().unwrap().leases().lock_waits().unwrap();
        waits.into_iter().map(|wait| wait.run).collect::<Vec<_>>()
    };
    assert_eq!(order(), [run_id(3)], "nobody works on run 2");

    let heir = open(dir.path());
    let fence = heir.own_run(&run_id(2), "").wait().unwrap();
    heir.release_run(&run_id(2)).wait().unwrap();
    assert!(!ask(&heir, 2));
    assert_eq!(order(), [run_id(2), run_id(3)], "it waits where it waited");
    holder.unlock(&run_id(1), &place).wait().unwrap();
    assert!(!ask(&holder, 3));
    let mut batch = crate::tests::fixture::next(&run_id(2), vec![run_ended()]);
    batch.token = fence.token();
    heir.append(batch).wait().unwrap();
    assert!(ask(&holder, 3), "run 2 is over");
    drop(fence);
}

#[test]
fn a_newer_run_waits_in_place_of_those_that_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ask = |run, step: &str, when_busy| {
        let locks = TaskLocks { when_busy, ..lock("prod") };
        store.try_lock(&locks, &run_id(run), &TaskId::of_step(&name(step))).wait().unwrap()
    };
    let waits = |answer| matches!(answer, LockAcquisition::Held(_));
    assert_eq!(ask(1, "d", Newest), LockAcquisition::Acquired);
    assert!(waits(ask(1, "e", Newest)), "steps of one run wait for each other");
    assert!(waits(ask(2, "d", Newest)) && waits(ask(3, "d", Queue)));
    // It is replaced also if its process is dead by then.
    let sql = "UPDATE locks SET boot_id = 'before' WHERE run = ?1";
    stranger(dir.path()).execute(sql, [run_id(2).as_str()]).unwrap();
    assert!(waits(ask(4, "d", Newest)) && waits(ask(4, "e", Newest)));
    let all = store.reader().unwrap().leases().lock_waits().unwrap();
    let order: Vec<_> = all.into_iter().map(|wait| (wait.run, wait.place)).collect();
    // Run 1 has the lock, and goes on.
    let expected = [(1, "e"), (3, "d"), (4, "d"), (4, "e")].map(|(run, step)| (run_id(run), step.to_owned()));
    assert_eq!(order, expected);
    assert_eq!(ask(2, "d", Newest), LockAcquisition::Replaced(run_id(4)));
    assert!(waits(ask(2, "d", Queue)), "it may ask anew");
}

#[test]
fn a_task_that_refuses_to_wait_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ask = |run, step: &str, when_busy| {
        let locks = TaskLocks { when_busy, ..lock("prod") };
        store.try_lock(&locks, &run_id(run), &TaskId::of_step(&name(step))).wait().unwrap()
    };
    assert_eq!(ask(1, "d", Refuse), LockAcquisition::Acquired);
    assert!(matches!(ask(1, "e", Refuse), LockAcquisition::Held(_)), "steps of one run wait for each other");
    let LockAcquisition::Refused(found) = ask(2, "d", Refuse) else { panic!("run 1 has the lock") };
    assert!(found.holder.run == run_id(1) && found.holder.place == "d" && !found.holder.waits);
    assert_eq!(store.reader().unwrap().leases().lock_waits().unwrap().len(), 1);
    store.unlock(&run_id(1), &TaskId::of_step(&name("d"))).wait().unwrap();
    let LockAcquisition::Refused(found) = ask(2, "d", Refuse) else { panic!("another step comes first") };
    assert!(found.holder.place == "e" && found.holder.waits);
}
