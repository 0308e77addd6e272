//! Models as judges: which checks have them, how they vote, and how late they are.

use std::sync::Arc;

use wf_core::{
    judgement::{Ballot, CriterionVote, FailedVote, Judgement},
    machine::{CheckVerdict, Standing},
};
use wf_model::{Check, CheckCertainty, CheckJudge, FailureClass, Money, PlanParts};

use super::{dice::Dice, plans::name, world::World};

/// Lets models judge some checks of a plan. They are drawn apart, so that what comes after is what it was without them.
pub fn of_plan(dice: &Dice, mut parts: PlanParts) -> PlanParts {
    let mut dice = Dice::of(dice.0, "judges");
    if !dice.one_in(4) {
        return parts;
    }
    let of_steps = parts.steps.iter_mut().flat_map(|step| &mut step.verify);
    for check in of_steps.chain(&mut parts.verify) {
        if dice.one_in(3) {
            continue;
        }
        let votes = 1 + dice.up_to(2);
        let judge = CheckJudge {
            role: name("judge"),
            criteria: vec!["it is clear".into(), "it is short".into()],
            votes,
            required: 1 + dice.up_to(votes - 1),
        };
        (check.mode, check.judge) = (CheckCertainty::Plausible, Some(judge));
    }
    // An alternative is judged by the same checks.
    for step in &mut parts.steps {
        for way in &mut step.alternatives {
            Arc::make_mut(&mut way.step).verify.clone_from(&step.verify);
        }
    }
    parts
}

/// What judges make of a check whose command passed.
pub fn judged(dice: &mut Dice, judge: &CheckJudge, ran: CheckVerdict) -> CheckVerdict {
    let mut ballot = Ballot::new(judge);
    let mut spent = Judgement::default();
    while !ballot.is_decided() {
        spent.calls += 1;
        spent.tokens += u64::from(dice.up_to(20));
        ballot.add(vote(dice, judge));
    }
    spent.cost = Money::of_micros(spent.tokens);
    ballot.conclude(ran, spent)
}

fn vote(dice: &mut Dice, judge: &CheckJudge) -> Result<Vec<CriterionVote>, FailedVote> {
    if dice.one_in(12) {
        let failure_class = FailureClass::Environmental;
        return Err(FailedVote { reason: "no answer".into(), failure_class });
    }
    let one =
        |_: &String| CriterionVote { passes: !dice.one_in(5), quote: "seen".into(), reason: "so".into() };
    Ok(judge.criteria.iter().map(one).collect())
}

/// The standing that checks give by passing.
pub fn standing_of(checks: &[Check]) -> Standing {
    let judged = checks.iter().any(|check| check.mode == CheckCertainty::Plausible);
    if judged { Standing::Plausible } else { Standing::Verified }
}

impl World {
    /// How long checks take: judges are late.
    pub fn judges_for(&self, at: usize, whose: &str, checks: &[Check]) -> i64 {
        let judged = checks.iter().any(|check| check.judge.is_some());
        let took = self.fates.dice(at, &format!("judges of {whose}")).up_to(4000);
        if judged { i64::from(took) } else { 0 }
    }
}
