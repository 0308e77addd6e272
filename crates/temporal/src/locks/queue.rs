//! The queue of a named lock: one task has it, others wait in the order in which they asked.
//!
//! **Invariant:** messages may come twice, late, or in another order than they were sent in. A task without use for its
//! lock gives it back, so a message that is out of date costs time and nothing else.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use wf_base::name::RunId;
use wf_core::machine::TaskId;

/// A task's place in the queue of a lock. A task asking again has another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockTicket {
    /// The run of the task, whose workflow hears of it.
    pub run: RunId,
    #[serde(rename = "place")]
    pub task_id: TaskId,
    /// The number no other ticket of the run has.
    pub number: u64,
}

/// A message to a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockMessage {
    /// A task wants the lock.
    Acquire(LockTicket),
    /// A task does not want it, or does not want it any more.
    Release(LockTicket),
}

/// A message from a lock to the run of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockNotice {
    pub lock: String,
    /// The ticket of the task.
    pub ticket: LockTicket,
    /// The task with the lock; `None`: it is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<LockTicket>,
}

/// The tasks that have a lock or wait for it, of all runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockQueue {
    lock: String,
    /// The holder is the first.
    tickets: VecDeque<LockTicket>,
}

impl LockQueue {
    /// Creates the queue of a lock nobody has.
    pub fn new(lock: String) -> Self {
        Self { lock, tickets: VecDeque::new() }
    }

    /// Returns the name of the lock.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// Takes a message. Returns what has to be said to a run.
    pub fn take_message(&mut self, message: LockMessage) -> Option<LockNotice> {
        match message {
            LockMessage::Acquire(ticket) if self.tickets.contains(&ticket) => None,
            LockMessage::Acquire(ticket) => {
                self.tickets.push_back(ticket);
                let (holder, ticket) = (self.tickets.front()?, self.tickets.back()?);
                let holder = (self.tickets.len() > 1).then_some(holder);
                Some(self.notice(ticket, holder))
            }
            LockMessage::Release(ticket) => self.retain(|other| *other != ticket),
        }
    }

    /// Removes the tasks of an ended run. Returns what has to be said to another run.
    pub fn remove(&mut self, run: &RunId) -> Option<LockNotice> {
        self.retain(|ticket| ticket.run != *run)
    }

    /// True if no task has the lock or waits for it.
    pub fn is_idle(&self) -> bool {
        self.tickets.is_empty()
    }

    /// Returns the run with the lock, if others wait for it.
    pub fn awaited(&self) -> Option<&RunId> {
        self.tickets.front().filter(|_| self.tickets.len() > 1).map(|holder| &holder.run)
    }

    fn retain(&mut self, keeps: impl FnMut(&LockTicket) -> bool) -> Option<LockNotice> {
        let before = self.tickets.front().cloned();
        self.tickets.retain(keeps);
        let next = self.tickets.front().filter(|next| before.as_ref() != Some(*next));
        next.map(|next| self.notice(next, None))
    }

    fn notice(&self, ticket: &LockTicket, holder: Option<&LockTicket>) -> LockNotice {
        LockNotice { lock: self.lock.clone(), ticket: ticket.clone(), holder: holder.cloned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LockMessage::{Acquire, Release};
    use wf_base::name::Name;

    fn ticket(run: u8, number: u64) -> LockTicket {
        let task_id = TaskId::of_step(&Name::parse("a").unwrap());
        LockTicket { run: RunId::from_bytes([run; 16]), task_id, number }
    }

    fn queue(tickets: &[LockTicket]) -> LockQueue {
        let mut queue = LockQueue::new("db".into());
        for ticket in tickets {
            queue.take_message(Acquire(ticket.clone()));
        }
        queue
    }

    /// The ticket that is given the lock.
    fn granted(notice: Option<LockNotice>) -> Option<LockTicket> {
        notice.filter(|notice| notice.holder.is_none()).map(|notice| notice.ticket)
    }

    #[test]
    fn the_first_has_it_and_the_others_hear_who_that_is() {
        let [first, second] = [ticket(1, 0), ticket(2, 0)];
        let mut queue = queue(&[]);
        assert_eq!(granted(queue.take_message(Acquire(first.clone()))), Some(first.clone()));
        assert_eq!(queue.awaited(), None);
        let held = queue.take_message(Acquire(second.clone())).unwrap();
        assert_eq!((held.ticket, held.holder), (second, Some(first.clone())));
        assert_eq!(queue.awaited(), Some(&first.run));
    }

    #[test]
    fn those_who_wait_get_it_in_the_order_in_which_they_asked() {
        let all = [ticket(1, 0), ticket(2, 0), ticket(1, 1), ticket(3, 0)];
        let mut queue = queue(&all);
        let order: Vec<_> = all.iter().map(|one| granted(queue.take_message(Release(one.clone())))).collect();
        assert_eq!(order, [all[1].clone().into(), all[2].clone().into(), all[3].clone().into(), None]);
        assert!(queue.is_idle());
    }

    #[test]
    fn one_who_waits_no_longer_is_passed_over() {
        let all = [ticket(1, 0), ticket(2, 0), ticket(3, 0)];
        let mut queue = queue(&all);
        assert_eq!(queue.take_message(Release(all[1].clone())), None);
        assert_eq!(granted(queue.take_message(Release(all[0].clone()))), Some(all[2].clone()));
    }

    #[test]
    fn messages_that_come_twice_change_nothing() {
        let all = [ticket(1, 0), ticket(2, 0)];
        let mut queue = queue(&all);
        assert_eq!(queue.take_message(Acquire(all[0].clone())), None);
        assert_eq!(queue.take_message(Acquire(all[1].clone())), None);
        assert!(queue.take_message(Release(all[0].clone())).is_some());
        assert_eq!(queue.take_message(Release(all[0].clone())), None);
        assert_eq!(queue.take_message(Release(ticket(9, 9))), None);
        assert_eq!(queue, self::queue(&all[1..]));
    }

    #[test]
    fn a_run_that_is_over_loses_it_and_all_its_places() {
        let all = [ticket(1, 0), ticket(1, 1), ticket(2, 0), ticket(1, 2)];
        let mut queue = queue(&all);
        assert_eq!(granted(queue.remove(&all[0].run)), Some(all[2].clone()));
        assert_eq!(queue, self::queue(&all[2..3]));
        assert_eq!(queue.remove(&all[0].run), None);
    }
}
