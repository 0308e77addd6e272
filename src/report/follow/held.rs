use super::News;
use crate::engine::RunRef;
use crate::gate::{Action, GateResult};
use crate::machine::{Decision, Fact, Given, Place};
use crate::report::Names;

/// What gates and people say of runs; `None` if an event is not of that, or there is nothing to
/// tell.
pub(super) fn held(run: &RunRef, fact: &Fact, names: &Names) -> Option<News> {
    let named = |place: Option<&Place>| named(run, place, names);
    let (verb, text) = match fact {
        Fact::GateJudged { place, result } => gate(&named(place.as_ref()), result)?,
        Fact::Escalated {
            place,
            gate,
            action,
            message,
            ..
        } => {
            let name = named(place.as_ref());
            let said = if message.is_empty() { "" } else { ": " };
            let text = format!(
                "{name} · gate `{gate}` · {}{said}{message}",
                action.as_str()
            );
            ("escalates", text)
        }
        Fact::ApprovalAsked(ask) => {
            let name = named(ask.place.as_ref());
            ("asking", format!("{name} · {}", ask.message))
        }
        Fact::ApprovalAnswered { place, given, .. } => answer(&named(place.as_ref()), given),
        _ => return None,
    };
    Some(News::Noted { verb, text })
}

/// What is asked about: a place, with those above it, or the run.
fn named(run: &RunRef, place: Option<&Place>, names: &Names) -> String {
    match place {
        Some(place) => names.subject(&run.path, place),
        None if run.path.is_empty() => "the run".into(),
        None => names.path(&run.path).join("/"),
    }
}

/// What a gate said, unless it lets pass in silence or asks people, which is told next.
fn gate(name: &str, result: &GateResult) -> Option<(&'static str, String)> {
    let (id, reason) = (&result.gate, &result.reason);
    if result.action == Action::Block {
        return Some(("blocked", format!("{name} · gate `{id}`: {reason}")));
    }
    let rejected = result
        .rejected
        .iter()
        .map(|key| format!("may not rewrite {key}"));
    let ignored = result
        .ignored
        .map(|action| format!("may not say {}", action.as_str()));
    let all: Vec<String> = (result.flags.iter().cloned())
        .chain(rejected)
        .chain(ignored)
        .collect();
    let text = format!("{name} · gate `{id}`: {}", all.join(", "));
    (!all.is_empty()).then_some(("flagged", text))
}

fn answer(name: &str, given: &Given) -> (&'static str, String) {
    let names: Vec<&str> = given.by.iter().map(|by| by.name.as_str()).collect();
    let by = if names.is_empty() {
        String::new()
    } else {
        format!(" · by {}", names.join(", "))
    };
    let said = if given.reason.is_empty() { "" } else { ": " };
    let verb = match given.decision {
        Decision::Approved => "approved",
        Decision::Denied => "denied",
        Decision::Expired => "expired",
        Decision::Void => "void",
        Decision::Withdrawn => "withdrawn",
    };
    (verb, format!("{name}{by}{said}{}", given.reason))
}
