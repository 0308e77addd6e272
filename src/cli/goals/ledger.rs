use std::borrow::Cow;
use std::sync::Arc;

use crate::cli::execute::store;
use crate::cli::load::Ready;
use crate::cli::{Failure, Ui};
use crate::goal::{Decision, Entry, Known, Ledger};
use crate::model::Goal;
use crate::name::PlanId;
use crate::store::{GoalNote, Reader, Store, StoreError, Ticket};
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

    fn known(&self, goal: &PlanId) -> Result<Option<Cow<'_, Known>>, StoreError> {
        Ok(self.reader.known(goal)?.map(Cow::Owned))
    }

    fn record(
        &mut self,
        goal: &Goal,
        after: Option<Moment>,
        decision: &Decision,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let decision = decision.clone();
        self.send(goal, Entry { after, decision }, now).wait()
    }
}

impl StoreLedger<'_> {
    /// Sends what is to be written down of a goal; the answer says whether it was.
    pub fn send(&self, goal: &Goal, entry: Entry, now: Moment) -> Ticket<bool> {
        let Entry { after, decision } = entry;
        self.store
            .decided(note(goal), after, decision, (self.token, now))
    }
}

/// A goal with the schedule that the ledger has of it: only a daemon, which may read goals from a
/// branch, takes up another one.
pub fn as_kept(goal: &Arc<Goal>, reader: &Reader) -> Result<Arc<Goal>, Failure> {
    let known = reader.known(&goal.id)?;
    let timing = known.and_then(|known| known.timing);
    Ok(timing.map_or_else(
        || Arc::clone(goal),
        |timing| {
            let kept = Goal {
                timing,
                ..Goal::clone(goal)
            };
            Arc::new(kept)
        },
    ))
}

/// Opens the ledger of a workspace.
pub fn ledger_of(ui: &Ui, ready: &Ready) -> Result<(Store, Reader), Failure> {
    let store = store(ui, ready)?;
    let reader = store.reader()?;
    Ok((store, reader))
}

/// A goal as the ledger names it.
fn note(goal: &Goal) -> GoalNote {
    GoalNote {
        id: goal.id.clone(),
        path: goal.path.clone(),
        timing: goal.timing.clone(),
    }
}
