//! What a run that was replayed knows, for those who look at its results again.

use super::scope::{self, View};
use super::{Item, Machine, Place};
use crate::model::Object;

impl Machine {
    /// The item of a place, and what its checks read. Without a place: what the plan's own checks
    /// read. `None` if a value is missing, or there is no such place.
    pub fn read_by_checks(&self, place: Option<&Place>) -> Option<(Option<Item>, Object)> {
        let spot = match place {
            Some(place) => Some(self.spot(place)?),
            None => None,
        };
        let view = View {
            plan: &self.plan,
            state: &self.state,
            spot,
        };
        let checks = match spot {
            Some(spot) => &self.plan.step(spot.ix()).verify,
            None => &self.plan.parts().verify,
        };
        let reads = scope::check_reads(&view, checks).ok()?;
        let item = spot.and_then(|spot| self.state.item(spot).cloned());
        Some((item, reads))
    }
}
