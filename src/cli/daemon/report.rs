use std::collections::BTreeMap;

use super::daemon::Daemon;
use super::look::Look;
use crate::name::PlanId;
use crate::report::plural;
use crate::service::health::GoalHealth;
use crate::time::Moment;

/// What is counted of one goal: how many slots became what, and how many cycles ended how.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    slots: BTreeMap<&'static str, u64>,
    cycles: BTreeMap<&'static str, u64>,
}

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

    /// Tells whoever asks how it goes. Only what was looked at is counted anew.
    pub(super) fn report(&mut self, looked: &Look) {
        if self.service.health.is_none() {
            return;
        }
        let trouble = looked.trouble.as_ref().map(ToString::to_string);
        let problem = trouble.or_else(|| self.goals.broken());
        let running = self.children.len() as u64;
        let mut seen = Vec::new();
        for (goal, _) in &looked.turns {
            let last = self.lead.reader.cycles(&goal.id, 5).unwrap_or_default();
            let last = last.into_iter().find_map(|cycle| cycle.ended);
            let health = GoalHealth {
                next: self.agenda.wake_of(&goal.id),
                holds: last.map(|(_, health, _)| health.is_good()),
            };
            let now = self.account(&goal.id);
            let before = self.accounts.insert(goal.id.clone(), now.clone());
            seen.push((goal.id.to_string(), health, before.unwrap_or_default(), now));
        }
        self.health.send_modify(|health| {
            (health.problem, health.running) = (problem, running);
            for (goal, one, before, now) in seen {
                health.goals.insert(goal, one);
                count(&mut health.slots, &before.slots, &now.slots);
                count(&mut health.cycles, &before.cycles, &now.cycles);
            }
        });
    }

    fn account(&self, goal: &PlanId) -> Account {
        let reader = &self.lead.reader;
        let slots = reader.slot_counts(goal).unwrap_or_default().into_iter();
        let cycles = reader.cycle_counts(goal).unwrap_or_default().into_iter();
        Account {
            slots: slots
                .map(|(state, count)| (state.as_str(), count))
                .collect(),
            cycles: cycles
                .map(|(health, count)| (health.as_str(), count))
                .collect(),
        }
    }

    /// Forgets what was counted of goals that are there no more.
    pub(super) fn forget_gone(&mut self) {
        let goals = self.goals.goals();
        let gone = self
            .accounts
            .extract_if(.., |goal, _| !goals.contains_key(goal));
        let gone: Vec<(PlanId, Account)> = gone.collect();
        self.health.send_modify(|health| {
            for (goal, before) in &gone {
                health.goals.remove(goal.as_str());
                count(&mut health.slots, &before.slots, &BTreeMap::new());
                count(&mut health.cycles, &before.cycles, &BTreeMap::new());
            }
        });
    }
}

/// Puts what is counted of a goal now in the place of what was before.
fn count(
    all: &mut BTreeMap<String, u64>,
    before: &BTreeMap<&'static str, u64>,
    now: &BTreeMap<&'static str, u64>,
) {
    for (word, count) in before {
        if let Some(sum) = all.get_mut(*word) {
            *sum = sum.saturating_sub(*count);
        }
    }
    for (word, count) in now {
        *all.entry((*word).to_owned()).or_default() += count;
    }
    all.retain(|_, count| *count > 0);
}
