//! The named locks of a run. Each is a workflow of its own, which runs tell what they want, and which tells them.

use wf_core::machine::{EventKind, InputKind, TaskId, TaskLocks};

use super::RunDriver;
use crate::command::DriverCommand;
use crate::lock_claims::LockRight;
use crate::lock_queue::{LockMessage, LockNotice, LockTicket};
use crate::open_work::OpenWork;

impl RunDriver {
    /// Asks for the lock of a task. No other run works in the files of this one, and the machine keeps its tasks apart, so
    /// files are free.
    pub(super) fn lock(&mut self, place: TaskId, locks: TaskLocks) {
        let number = self.next_key;
        let right = locks.lock.map_or(LockRight::Granted, |lock| {
            let right = self.locks.claim(number, &place, &lock);
            if right == LockRight::New {
                self.tell(lock, LockMessage::Acquire(self.ticket(&place, number)));
            }
            right
        });
        if right == LockRight::Granted {
            self.inputs.push_back(InputKind::Locked { place });
        }
    }

    /// Gives up the lock of a task, or all, whether the run has them or waits.
    pub(super) fn unlock(&mut self, place: Option<&TaskId>) {
        for (number, claim) in self.locks.remove(place) {
            let ticket = self.ticket(&claim.place, number);
            self.tell(claim.lock, LockMessage::Release(ticket));
        }
    }

    /// Gives up the locks of what has ended. After a resume, the machine knows of a lock only once it asked for it again.
    pub(super) fn unlock_ended(&mut self, fact: &EventKind) {
        match fact {
            EventKind::StepEnded { place, .. } => self.unlock(Some(place)),
            EventKind::RunEnded { .. } => self.unlock(None),
            _ => {}
        }
    }

    /// Takes what a lock says. What no task wants any more is given back.
    pub(super) fn on_lock(&mut self, notice: LockNotice) {
        let LockNotice { lock, ticket, holder } = notice.clone();
        if !self.locks.note(notice) {
            self.tell(lock, LockMessage::Release(ticket));
        } else if holder.is_none() {
            self.inputs.push_back(InputKind::Locked { place: ticket.place });
        }
    }

    fn tell(&mut self, lock: String, message: LockMessage) {
        let key = self.next_key;
        self.next_key += 1;
        self.open.insert(key, OpenWork::for_run(&self.machine));
        self.commands.push(DriverCommand::Tell { key, lock, message });
    }

    fn ticket(&self, place: &TaskId, number: u64) -> LockTicket {
        LockTicket { run: self.order.run.clone(), place: place.clone(), number }
    }
}
