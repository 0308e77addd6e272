//! The same plan and the same fates, in worlds that have more or less room.

use wf_core::machine::Round;
use wf_model::{OnStepFailure, Plan, PlanParts, PlanPolicy, ReplanSettings};

use super::{
    dice::Dice,
    faults::Faults,
    look::Broken,
    world::{Options, World},
};

/// How many attempts run at once, and what a failure does to others.
const ROOMS: [(u32, OnStepFailure); 4] = [
    (1, OnStepFailure::Stop),
    (2, OnStepFailure::Cancel),
    (3, OnStepFailure::Continue),
    (64, OnStepFailure::Stop),
];

/// What a failure does to other steps.
pub fn on_failure(dice: &mut Dice) -> OnStepFailure {
    *dice.pick(&[OnStepFailure::Stop, OnStepFailure::Cancel, OnStepFailure::Continue])
}

/// A plan that does anything on a failure where it has rounds: there it means nothing, so it makes
/// nothing unsteady.
pub fn of_plan(dice: &mut Dice, mut parts: PlanParts) -> PlanParts {
    if parts.replan.is_some() {
        parts.policy.on_failure = on_failure(dice);
    }
    parts
}

impl World {
    /// Lives once more without trouble in each of the rooms, and compares what the rounds came to.
    pub fn compare_rooms(&mut self) -> Result<(), Broken> {
        if self.runs[0].plan.parts().replan.is_none() {
            return Ok(());
        }
        let mut first: Option<Vec<Round>> = None;
        for room in ROOMS {
            let Some(rounds) = self.rounds_in(room)? else {
                return Ok(());
            };
            let expected = first.get_or_insert_with(|| rounds.clone());
            if *expected != rounds {
                let reason =
                    format!("in {room:?} the rounds are {rounds:#?}, and in {:?} {expected:#?}", ROOMS[0]);
                let law = "same_rounds";
                return Err(Broken { law, reason });
            }
        }
        let more = first.is_some_and(|rounds| rounds.len() > 1);
        self.coverage.count("world", "compared in other rooms");
        if more {
            self.coverage.count("world", "rounds in other rooms");
        }
        Ok(())
    }

    /// The rounds of the first run in a calm world with this room; `None` where they do not follow
    /// from the fates alone.
    fn rounds_in(
        &self,
        (max_parallel, on_failure): (u32, OnStepFailure),
    ) -> Result<Option<Vec<Round>>, Broken> {
        let options = Options { faults: Faults::NONE, ..self.options };
        let mut calm = Self::new(&options);
        calm.runs.truncate(1);
        let run = &mut calm.runs[0];
        let parts = run.plan.parts();
        let policy = PlanPolicy { max_parallel, on_failure, ..parts.policy.clone() };
        // With less room, a run takes longer; its share of Ω is left out.
        let replan = parts.replan.clone().map(|replan| ReplanSettings { w2: 0.0, ..replan });
        let parts = PlanParts { policy, replan, ..parts.clone() };
        run.plan = Plan::new(parts).expect("it is the plan that it was");
        calm.live()?;
        let run = &calm.runs[0];
        Ok(run.steady.then(|| run.durable.rounds.clone()))
    }
}
