use crate::goal::{Decision, Known, Ledger};
use crate::model::Goal;
use crate::name::PlanId;
use crate::store::{GoalNote, Reader, Store, StoreError};
use crate::time::Moment;

/// The store as a ledger.
pub struct StoreLedger<'a> {
    /// What writes.
    pub store: &'a Store,
    /// What reads.
    pub reader: &'a Reader,
    /// The token of a daemon; `None`: a person decides.
    pub token: Option<u64>,
}

impl Ledger for StoreLedger<'_> {
    type Error = StoreError;

    fn known(&self, goal: &PlanId) -> Result<Option<Known>, StoreError> {
        self.reader.known(goal)
    }

    fn record(
        &mut self,
        goal: &Goal,
        after: Option<Moment>,
        decision: &Decision,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let written =
            self.store
                .decided(note(goal), after, decision.clone(), (self.token, now));
        written.wait()
    }
}

/// A goal as the ledger names it.
pub fn note(goal: &Goal) -> GoalNote {
    GoalNote {
        id: goal.id.clone(),
        path: goal.path.clone(),
        timing: goal.timing.clone(),
    }
}
