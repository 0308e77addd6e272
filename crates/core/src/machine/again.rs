//! The data of a replayed run that is needed to check its results again.

use super::scope::{self, TaskScope};
use super::{Machine, StepItem, TaskId};
use wf_model::JsonObject;

impl Machine {
    /// Returns the item of a task and the values that its checks read. Without a task: the values
    /// that the plan's own checks read. `None` if a value is missing, or there is no such task.
    pub fn read_by_checks(&self, place: Option<&TaskId>) -> Option<(Option<StepItem>, JsonObject)> {
        let spot = match place {
            Some(place) => Some(self.task_ix(place)?),
            None => None,
        };
        let view = TaskScope { plan: &self.plan, state: &self.state, spot };
        let checks = match spot {
            Some(spot) => &self.plan.step(spot.ix()).verify,
            None => &self.plan.parts().verify,
        };
        let reads = scope::check_reads(&view, checks).ok()?;
        let item = spot.and_then(|spot| self.state.item(spot).cloned());
        Some((item, reads))
    }
}
