use std::collections::BTreeMap;

use super::daemon::Daemon;
use super::look::Look;
use crate::report::plural;
use crate::service::health::GoalHealth;
use crate::time::Moment;

impl Daemon<'_> {
    pub(super) fn status(&self, wake: Option<Moment>) -> String {
        let goals = plural(self.goals.goals().len(), "goal");
        let next = wake.map_or("never".to_owned(), Moment::to_second);
        let running = match self.children.len() {
            0 => "nothing goes on".to_owned(),
            1 => "1 cycle goes on".to_owned(),
            more => format!("{more} cycles go on"),
        };
        format!("{goals} · next {next} · {running}")
    }

    /// Tells whoever asks how it goes.
    pub(super) fn report(&self, looked: &Look) {
        if self.service.health.is_none() {
            return;
        }
        let trouble = looked.trouble.as_ref().map(ToString::to_string);
        let running = self.children.len() as u64;
        let reader = &self.lead.reader;
        let (mut goals, mut slots, mut cycles) =
            <(BTreeMap<_, _>, BTreeMap<_, _>, BTreeMap<_, _>)>::default();
        for goal in self.goals.goals() {
            let last = reader.cycles(&goal.id, 5).unwrap_or_default();
            let last = last.into_iter().find_map(|cycle| cycle.ended);
            let health = GoalHealth {
                next: looked.next.get(&goal.id).copied(),
                holds: last.map(|(_, health, _)| health.is_good()),
            };
            goals.insert(goal.id.to_string(), health);
            for (state, count) in reader.slot_counts(&goal.id).unwrap_or_default() {
                *slots.entry(state.as_str().to_owned()).or_default() += count;
            }
            for (health, count) in reader.cycle_counts(&goal.id).unwrap_or_default() {
                *cycles.entry(health.as_str().to_owned()).or_default() += count;
            }
        }
        self.health.send_modify(|health| {
            health.problem = trouble.or_else(|| self.goals.broken());
            health.running = running;
            (health.goals, health.slots, health.cycles) = (goals, slots, cycles);
        });
    }
}
