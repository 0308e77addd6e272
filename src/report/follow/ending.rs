use super::{Ending, News};
use crate::engine::{Remark, RunRef};
use crate::machine::{Fact, StepState};
use crate::name::Name;
use crate::report::{Names, noticed};
use crate::time::format_duration;

/// How a step ended, by its event alone.
pub(super) fn ending(run: &RunRef, fact: &Fact, names: &Names) -> Option<Ending> {
    let blank = |step: &Name, place: String| Ending {
        step: step.clone(),
        run: RunRef {
            path: names.path(&run.path),
            ..run.clone()
        },
        place,
        state: StepState::Succeeded,
        standing: crate::machine::Standing::Reported,
        why: String::new(),
        class: None,
        tolerated: false,
        cached: false,
        took: None,
        attempts: 0,
        broken: Vec::new(),
        tail: Vec::new(),
        nested: false,
    };
    match fact {
        Fact::StepEnded {
            place,
            state,
            standing,
            why,
            class,
            tolerated,
            cached,
            ..
        } => Some(Ending {
            state: *state,
            standing: *standing,
            why: why.clone(),
            class: *class,
            tolerated: *tolerated,
            cached: cached.is_some(),
            ..blank(&place.step, names.place(&run.path, place))
        }),
        Fact::StepKept {
            step,
            standing,
            from,
            ..
        } => Some(Ending {
            standing: *standing,
            why: format!("kept from run {}", from.short()),
            ..blank(step, step.to_string())
        }),
        _ => None,
    }
}

/// A result that is not what it was.
pub(super) fn differs(run: &RunRef, fact: &Fact, names: &Names) -> Option<News> {
    let (verb, place, why) = match fact {
        Fact::EvidenceStale(stale) => (
            "stale",
            names.place(&run.path, &stale.place),
            format!("{} changed after it was checked", stale.path),
        ),
        Fact::ResultDropped { step, key, why, .. } => {
            let place = match key {
                Some(key) => format!("{step}[{key}]"),
                None => step.to_string(),
            };
            ("not kept", place, why.clone())
        }
        _ => return None,
    };
    let text = format!("{} · {why}", names.text(&run.path, place));
    Some(News::Noted { verb, text })
}

/// What came up about a place, by its name, and is no event.
pub(super) fn remarked(subject: String, remark: &Remark) -> News {
    match remark {
        Remark::LockHeld(lock) => News::Awaits {
            subject,
            lock: lock.clone(),
        },
        Remark::NotStored(why) => News::Noted {
            verb: "not cached",
            text: format!("{subject} · {why}"),
        },
    }
}

/// What happened to the run as a whole.
pub(super) fn noted(fact: &Fact) -> Option<News> {
    let (verb, text) = match fact {
        Fact::RunStopping { step } => (
            "stopping",
            format!("no further steps begin: `{step}` failed"),
        ),
        Fact::CancelRequested { why, force: true } => ("killing", format!("at once: {why}")),
        Fact::CancelRequested { why, force: false } => ("cancelling", why.clone()),
        Fact::MemoryAdvised {
            intent,
            advice,
            changes,
        } => (
            "memory",
            crate::report::rounds::remembered(intent.as_ref(), advice, changes).join(" · "),
        ),
        Fact::RoundClosed(round) => ("round", crate::report::rounds::news(round)),
        Fact::PlannerAsked { .. } | Fact::PlannerAnswered { .. } | Fact::PlannerRefused { .. } => {
            ("planner", crate::report::rounds::planner(fact))
        }
        Fact::RunTimedOut => ("timed out", "the run took longer than it may".to_owned()),
        Fact::BudgetNoticed { spent, percent } => ("budget", noticed(*spent, *percent)),
        Fact::BudgetExtended { limit } => {
            let limit = format_duration(std::time::Duration::from_millis(*limit));
            let text = format!("the run makes progress, so it may take {limit} in all");
            ("budget", text)
        }
        Fact::BudgetSpent { spent, at_once } => {
            let then = if *at_once {
                "what runs is ended"
            } else {
                "no further steps begin"
            };
            ("budget", format!("{then}: {spent}"))
        }
        _ => return None,
    };
    Some(News::Noted { verb, text })
}
