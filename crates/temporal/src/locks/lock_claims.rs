//! The named locks the tasks of a run have, or wait for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use wf_base::name::RunId;
use wf_core::machine::TaskId;

use crate::locks::{
    file_claims::FamilyClaim,
    queue::{LockNotice, LockTicket},
};

/// The claims of a run by the numbers of their tickets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LockClaims(BTreeMap<u64, LockClaim>);

/// The claim of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockClaim {
    /// The task, with the files it needs besides.
    pub task: FamilyClaim,
    pub lock: String,
    /// True once the task has the lock.
    pub is_granted: bool,
    /// The task that had the lock when this one began to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<LockTicket>,
}

impl LockClaim {
    fn is_of(&self, run: &RunId, task_id: Option<&TaskId>) -> bool {
        self.task.run == *run && task_id.is_none_or(|place| self.task.task_id == *place)
    }
}

/// The state of a lock a task asks for.
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
    pub fn claim(&mut self, number: u64, lock: &str, task: &FamilyClaim) -> LockRight {
        match self.0.values().find(|claim| claim.is_of(&task.run, Some(&task.task_id))) {
            Some(claim) if claim.is_granted => LockRight::Granted,
            Some(_) => LockRight::Awaited,
            None => {
                let (task, lock) = (task.clone(), lock.to_owned());
                self.0.insert(number, LockClaim { task, lock, is_granted: false, holder: None });
                LockRight::New
            }
        }
    }

    /// Takes what a lock says, and returns the task it is about; `None`: it does not want the lock any more.
    pub fn take_notice(&mut self, notice: LockNotice) -> Option<FamilyClaim> {
        let claim = self.0.get_mut(&notice.ticket.number)?;
        claim.is_granted |= notice.holder.is_none();
        claim.holder = notice.holder;
        Some(claim.task.clone())
    }

    pub fn remove(&mut self, run: &RunId, task_id: Option<&TaskId>) -> BTreeMap<u64, LockClaim> {
        let claims = std::mem::take(&mut self.0).into_iter();
        let (removed, rest) = claims.partition(|(_, claim)| claim.is_of(run, task_id));
        self.0 = rest;
        removed
    }

    /// Returns the claims of tasks waiting while another one has the lock.
    pub fn waits(&self) -> Vec<LockClaim> {
        let waits = self.0.values().filter(|claim| !claim.is_granted && claim.holder.is_some());
        waits.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_base::name::Name;

    fn place(step: &str) -> TaskId {
        TaskId::of_step(&Name::parse(step).unwrap())
    }

    fn run() -> RunId {
        RunId::from_bytes([1; 16])
    }

    fn task(step: &str) -> FamilyClaim {
        FamilyClaim { run: run(), task_id: place(step), files: Vec::new() }
    }

    fn notice(number: u64, is_held: bool) -> LockNotice {
        let ticket = LockTicket { run: run(), task_id: place("a"), number };
        LockNotice { lock: "db".into(), holder: is_held.then(|| ticket.clone()), ticket }
    }

    #[test]
    fn a_task_asks_once_and_has_it_until_it_gives_it_up() {
        let mut claims = LockClaims::default();
        let (run, task) = (run(), task("a"));
        assert_eq!(claims.claim(1, "db", &task), LockRight::New);
        assert_eq!(claims.claim(2, "db", &task), LockRight::Awaited);
        assert_eq!(claims.take_notice(notice(1, true)), Some(task.clone()));
        assert_eq!(claims.waits().len(), 1);
        assert_eq!(claims.take_notice(notice(1, false)), Some(task.clone()));
        assert_eq!(claims.take_notice(notice(1, false)), Some(task.clone()));
        assert_eq!(claims.waits(), []);
        assert_eq!(claims.claim(3, "db", &task), LockRight::Granted);
        assert_eq!(claims.remove(&run, Some(&place("b"))).len(), 0);
        assert_eq!(claims.remove(&RunId::from_bytes([2; 16]), None).len(), 0, "another run");
        assert_eq!(claims.remove(&run, Some(&task.task_id)).into_keys().collect::<Vec<_>>(), [1]);
        assert_eq!(claims.claim(4, "db", &task), LockRight::New);
    }

    #[test]
    fn what_nobody_wants_any_more_is_not_taken() {
        let mut claims = LockClaims::default();
        claims.claim(1, "db", &task("a"));
        claims.remove(&run(), None);
        assert_eq!(claims.take_notice(notice(1, false)), None);
    }
}
