//! Laws of rounds: how many there are, what they change, what they leave.

use std::collections::BTreeSet;

use wf_core::machine::{EventKind, PlannerRejection, Round, StepState, TaskId};

use super::{
    super::{
        ledger::step_of,
        look::{Look, Seen},
    },
    ensure,
};

fn round<'a>(look: &Look<'a>) -> Option<&'a Round> {
    let Seen::Event(event) = look.seen else {
        return None;
    };
    match &event.fact {
        EventKind::RoundCompleted(round) => Some(round),
        _ => None,
    }
}

pub fn bounded(look: &Look<'_>) -> Result<(), String> {
    let Some(round) = round(look) else {
        return Ok(());
    };
    let (known, replan) = (look.decided(), &look.plan().parts().replan);
    let Some(replan) = replan else {
        return Err("the plan has no rounds".into());
    };
    let count = u32::try_from(known.rounds.len()).expect("rounds are few");
    let next = round.round == count + 1 && known.rounds.iter().all(Round::goes_on);
    let is_planned = |round: &&Round| round.escalated.is_empty();
    let planned = u32::try_from(known.rounds.iter().filter(is_planned).count()).expect("rounds are few");
    let spent = round.goes_on() && is_planned(&round) && planned >= replan.max_replans;
    // People are asked once, where nothing else is left.
    let again = !is_planned(&round) && planned < count;
    let acts = round.solved.directive.acts();
    let late = acts && round.solved.loss.omega >= replan.theta;
    let idle = round.goes_on() == (round.changes.is_empty() && is_planned(&round));
    ensure(next && !spent && !again && !late && !idle && !known.ending(), || {
        format!("{round:?} follows {count} others under {replan:?}")
    })
}

pub fn other_ways(look: &Look<'_>) -> Result<(), String> {
    let Some(round) = round(look) else {
        return Ok(());
    };
    let before = look.decided().rounds.last();
    let stays = |old: &[String], new: &[String]| old.iter().all(|word| new.contains(word));
    let grows = before.is_none_or(|before| {
        stays(&before.blocked_tools, &round.blocked_tools)
            && stays(&before.blocked_targets, &round.blocked_targets)
    });
    ensure(grows, || format!("{round:?} unblocks what {before:?} blocked"))?;
    for change in &round.changes {
        let earlier = look.decided().rounds.iter();
        let earlier = earlier.flat_map(|round| &round.changes);
        let mut ways: BTreeSet<_> =
            earlier.filter(|one| one.step == change.step).map(|one| one.to.clone()).collect();
        ways.insert(None);
        let target = change.target.as_ref();
        let blocked = round.blocked_tools.contains(&change.tool)
            || target.is_some_and(|target| round.blocked_targets.contains(target));
        ensure(!ways.contains(&change.to) && !blocked, || {
            format!("{change:?} was tried, or is blocked: {round:?}")
        })?;
    }
    Ok(())
}

pub fn verified_stays(look: &Look<'_>) -> Result<(), String> {
    let Some(round) = round(look).filter(|round| round.goes_on()) else {
        return Ok(());
    };
    let known = look.decided();
    for id in &round.reopened {
        let place = TaskId::of_step(id);
        let state = known.end(&place).map(|end| end.state);
        let well = matches!(state, Some(StepState::Succeeded));
        let changed = round.changes.iter().any(|change| change.step == *id);
        let mut needs = step_of(look.plan(), &place).depends_on.iter();
        let follows = needs.any(|ix| round.reopened.contains(&look.plan().step(*ix).id));
        ensure(!well || changed || follows, || format!("{place} ended well and is done again: {round:?}"))?;
    }
    let steps = look.plan().steps().iter().take(look.plan().parts().main);
    let left = steps.map(|step| TaskId::of_step(&step.id)).find(|place| {
        let end = known.end(place);
        let failed = end.is_some_and(|end| end.state == StepState::Failed && !end.allowed_to_fail);
        failed && !round.reopened.contains(&place.step)
    });
    ensure(left.is_none(), || format!("{left:?} failed, and stays as it is: {round:?}"))
}

pub fn planner(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let known = look.decided();
    let next = u32::try_from(known.rounds.len()).expect("rounds are few") + 1;
    let open = known.planning.filter(|(round, _)| *round == next);
    let right = match &event.fact {
        EventKind::PlannerRequested { round, .. } => {
            let has = look.plan().parts().planner.is_some();
            has && *round == next && open.is_none() && !known.ending()
        }
        EventKind::PlannerAccepted {
            round,
            alternatives: ways,
            parent_digest: parent,
            plan_digest: plan,
            ..
        } => {
            let asked = *round == next && open == Some((next, false));
            asked && !ways.is_empty() && parent != plan && !known.ending()
        }
        // It is asked once more at most.
        EventKind::PlannerRejected(PlannerRejection { round, asked_again, .. }) => {
            let once = !asked_again || known.asked_again != Some(next);
            *round == next && open == Some((next, false)) && once
        }
        // It is asked before a run ends for want of a way, and the round waits for it.
        EventKind::RoundCompleted(round) => {
            open != Some((next, false)) && (open.is_none() || round.solved.directive.acts())
        }
        _ => true,
    };
    ensure(right, || format!("{event:?} after {:?}", known.planning))
}
