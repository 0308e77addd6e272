//! The named locks that the tasks of a run have, or wait for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use wf_core::machine::TaskId;

use crate::lock_queue::{LockNotice, LockTicket};

/// The claims of a run by the numbers of their tickets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LockClaims(BTreeMap<u64, LockClaim>);

/// The claim of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockClaim {
    /// The task.
    pub place: TaskId,
    /// The name of the lock.
    pub lock: String,
    /// True once the task has the lock.
    pub is_granted: bool,
    /// The task that had the lock when this one began to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<LockTicket>,
}

/// The state of a lock that a task asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockRight {
    /// The task has it.
    Granted,
    /// The task waits for it already.
    Awaited,
    /// The lock has to be asked.
    New,
}

impl LockClaims {
    /// Claims a lock for a task, with this number if it has no claim.
    pub fn claim(&mut self, number: u64, place: &TaskId, lock: &str) -> LockRight {
        match self.0.values().find(|claim| claim.place == *place) {
            Some(claim) if claim.is_granted => LockRight::Granted,
            Some(_) => LockRight::Awaited,
            None => {
                let (place, lock) = (place.clone(), lock.to_owned());
                self.0.insert(number, LockClaim { place, lock, is_granted: false, holder: None });
                LockRight::New
            }
        }
    }

    /// Takes what a lock says. Returns false if no task wants the lock any more.
    pub fn note(&mut self, notice: LockNotice) -> bool {
        let Some(claim) = self.0.get_mut(&notice.ticket.number) else {
            return notice.holder.is_some();
        };
        claim.is_granted |= notice.holder.is_none();
        claim.holder = notice.holder;
        true
    }

    /// Removes the claims of a task, or of all, and returns them with their numbers.
    pub fn remove(&mut self, place: Option<&TaskId>) -> BTreeMap<u64, LockClaim> {
        let is_other = |claim: &LockClaim| place.is_some_and(|place| claim.place != *place);
        let (kept, removed) = std::mem::take(&mut self.0).into_iter().partition(|(_, one)| is_other(one));
        self.0 = kept;
        removed
    }

    /// Returns the claims of tasks that wait while another one has the lock.
    pub fn waits(&self) -> Vec<LockClaim> {
        let waits = self.0.values().filter(|claim| !claim.is_granted && claim.holder.is_some());
        waits.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_base::name::{Name, RunId};

    fn place(step: &str) -> TaskId {
        TaskId::of_step(&Name::parse(step).unwrap())
    }

    fn notice(number: u64, is_held: bool) -> LockNotice {
        let ticket = LockTicket { run: RunId::from_bytes([1; 16]), place: place("a"), number };
        LockNotice { lock: "db".into(), holder: is_held.then(|| ticket.clone()), ticket }
    }

    #[test]
    fn a_task_asks_once_and_has_it_until_it_gives_it_up() {
        let mut claims = LockClaims::default();
        assert_eq!(claims.claim(1, &place("a"), "db"), LockRight::New);
        assert_eq!(claims.claim(2, &place("a"), "db"), LockRight::Awaited);
        assert!(claims.note(notice(1, true)));
        assert_eq!(claims.waits().len(), 1);
        assert!(claims.note(notice(1, false)) && claims.note(notice(1, false)));
        assert_eq!(claims.waits(), []);
        assert_eq!(claims.claim(3, &place("a"), "db"), LockRight::Granted);
        assert_eq!(claims.remove(Some(&place("b"))).len(), 0);
        assert_eq!(claims.remove(Some(&place("a"))).into_keys().collect::<Vec<_>>(), [1]);
        assert_eq!(claims.claim(4, &place("a"), "db"), LockRight::New);
    }

    #[test]
    fn what_nobody_wants_any_more_is_not_taken() {
        let mut claims = LockClaims::default();
        claims.claim(1, &place("a"), "db");
        claims.remove(None);
        assert!(!claims.note(notice(1, false)));
        assert!(claims.note(notice(1, true)), "there is nothing to give back");
    }
}
