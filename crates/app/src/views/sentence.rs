//! Sentences about what happened, from the facts in the log. Pure: a fact and the names of its run give a sentence.

use wf_base::{
    digest::Sha256Digest,
    units::{elapsed, first_line, plural},
};
use wf_core::{
    goal::ReconciliationHealth,
    machine::{ApprovalOutcome, ApprovalSigner, EventKind, RequestDecision, RunOutcome},
};
use wf_store::{StateFact, WithdrawnApproval};

/// A sentence about something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivitySentence {
    /// The word for its kind.
    pub kind: &'static str,
    pub text: String,
    /// The people in it, by the names of their keys.
    pub people: Vec<String>,
}

/// The facts about a run for a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldRun<'a> {
    /// The id of its plan.
    pub plan: &'a str,
    /// True if it is part of another run.
    pub is_nested: bool,
    /// The time in which it was worked on, if it has ended.
    pub took: Option<std::time::Duration>,
}

impl ActivitySentence {
    pub(super) fn of(kind: &'static str, text: String) -> Self {
        Self { kind, text, people: Vec::new() }
    }

    fn by(kind: &'static str, text: String, signers: &[ApprovalSigner]) -> Self {
        Self { kind, text, people: signers.iter().map(|signer| signer.name.clone()).collect() }
    }
}

/// Returns the sentence about an event of a run; `None`: people need not hear of it.
pub fn run_sentence(kind: &EventKind, run: &ToldRun<'_>) -> Option<ActivitySentence> {
    let plan = run.plan;
    match kind {
        EventKind::RunStarted { .. } if !run.is_nested => {
            Some(ActivitySentence::of("started", format!("`{plan}` began")))
        }
        EventKind::RunApproved(approved) if !approved.by.is_empty() => {
            let text = format!("{} signed for a run of `{plan}`", signers(&approved.by));
            Some(ActivitySentence::by("signed", text, &approved.by))
        }
        EventKind::ApprovalRequested(request) => {
            let place = request.task_id.as_ref().map_or("the run".to_owned(), |place| format!("`{place}`"));
            let text = format!("{place} of `{plan}` asked people: {}", first_line(&request.message));
            Some(ActivitySentence::of("asked", text))
        }
        EventKind::ApprovalResolved { task_id, given, .. } => {
            let place = task_id.as_ref().map_or("the run".to_owned(), |place| format!("`{place}`"));
            Some(decision_sentence(&format!("{place} of `{plan}`"), given))
        }
        EventKind::CancelRequested { reason, .. } => {
            Some(ActivitySentence::of("cancelled", with_reason(&format!("`{plan}` was told to end"), reason)))
        }
        EventKind::RunEnded { outcome, reason, .. } if !run.is_nested => {
            let after = run.took.map_or(String::new(), |took| format!(" after {}", elapsed(took)));
            let end = match outcome {
                RunOutcome::Succeeded => "succeeded",
                RunOutcome::Failed => "failed",
                RunOutcome::Cancelled => "was cancelled",
                RunOutcome::Abandoned => "was abandoned",
            };
            let text = with_reason(&format!("`{plan}` {end}{after}"), reason);
            Some(ActivitySentence::of(outcome.as_str(), text))
        }
        _ => None,
    }
}

/// Returns the sentence about the end of a request.
fn decision_sentence(place: &str, outcome: &ApprovalOutcome) -> ActivitySentence {
    let who = if outcome.by.is_empty() { "nobody".to_owned() } else { signers(&outcome.by) };
    let text = match outcome.decision {
        RequestDecision::Approved => format!("{who} approved {place}"),
        RequestDecision::Answered => format!("{who} answered {place}"),
        RequestDecision::Denied => format!("{who} declined {place}"),
        RequestDecision::Expired => format!("the request of {place} expired without an answer"),
        RequestDecision::Void => format!("the request of {place} is void: its subject has changed"),
        RequestDecision::Withdrawn => format!("the request of {place} was withdrawn"),
    };
    ActivitySentence::by(outcome.decision.as_str(), with_reason(&text, &outcome.reason), &outcome.by)
}

/// Returns the sentence about an event of the state as a whole; `None`: people need not hear of it.
pub fn state_sentence(fact: &StateFact) -> Option<ActivitySentence> {
    match fact {
        StateFact::ApprovalWithdrawn(WithdrawnApproval { goal, who, .. }) => {
            let text = format!(
                "{} withdrew the standing approval of the goal `{goal}`",
                who.as_deref().unwrap_or("somebody without a key")
            );
            Some(ActivitySentence { kind: "withdrawn", text, people: who.iter().cloned().collect() })
        }
        StateFact::ConnectionApproved(used) => {
            let name = used.run.strip_prefix("connection:").unwrap_or(&used.run);
            Some(ActivitySentence::of("signed", format!("an approval was used for the connection `{name}`")))
        }
        StateFact::RunsPruned { runs, .. } => {
            let text = format!("the retention rules removed {}", plural(runs.len(), "run"));
            Some(ActivitySentence::of("pruned", text))
        }
        StateFact::ArtifactsPruned { runs } => {
            let text = format!("the retention rules removed the artifacts of {}", plural(runs.len(), "run"));
            Some(ActivitySentence::of("pruned", text))
        }
        StateFact::StateMigrated { from, to, wf } => {
            let text = format!("wf {wf} brought the state from schema {from} to {to}");
            Some(ActivitySentence::of("upgraded", text))
        }
        _ => None,
    }
}

/// Returns the sentence about the end of a reconciliation, after one that ended with another health; `None`: the goal is as it was.
pub fn health_sentence(
    goal: &str,
    health: ReconciliationHealth,
    before: Option<ReconciliationHealth>,
    reason: &str,
) -> Option<ActivitySentence> {
    if before == Some(health) && health != ReconciliationHealth::Repaired {
        return None;
    }
    let text = match health {
        ReconciliationHealth::Healthy => format!("the goal `{goal}` is healthy"),
        ReconciliationHealth::Repaired => format!("the goal `{goal}` was repaired"),
        ReconciliationHealth::Reported => format!("a job of the goal `{goal}` reported success"),
        ReconciliationHealth::Failed => format!("the goal `{goal}` is not healthy"),
        ReconciliationHealth::Waiting => format!("a repair of the goal `{goal}` waits for an approval"),
        ReconciliationHealth::Unknown => format!("the health of the goal `{goal}` is unknown"),
        ReconciliationHealth::Cancelled => format!("a reconciliation of the goal `{goal}` was cancelled"),
    };
    Some(ActivitySentence::of(health.as_str(), with_reason(&text, reason)))
}

/// Returns the sentence about the beginning or the end of a pause.
pub fn pause_sentence(goal: &str, reason: Option<&str>) -> ActivitySentence {
    match reason {
        Some(reason) => {
            ActivitySentence::of("paused", with_reason(&format!("the goal `{goal}` was paused"), reason))
        }
        None => ActivitySentence::of("resumed", format!("the goal `{goal}` was resumed")),
    }
}

/// Names people and their keys.
fn signers(signers: &[ApprovalSigner]) -> String {
    let signer_text =
        |signer: &ApprovalSigner| format!("{} (key {})", signer.name, Sha256Digest::short(&signer.key_id));
    signers.iter().map(signer_text).collect::<Vec<_>>().join(" and ")
}

/// Adds the reason, if there is one.
fn with_reason(text: &str, reason: &str) -> String {
    if reason.is_empty() { text.to_owned() } else { format!("{text}: {}", first_line(reason)) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use wf_core::machine::{RunOffers, Standing, StepCounts};

    fn told(kind: &EventKind, is_nested: bool) -> Option<String> {
        let run = ToldRun { plan: "deploy", is_nested, took: Some(Duration::from_secs(192)) };
        run_sentence(kind, &run).map(|sentence| sentence.text)
    }

    fn ended(outcome: RunOutcome, reason: &str) -> EventKind {
        EventKind::RunEnded {
            outcome,
            reason: reason.into(),
            failed_step: None,
            standing: Standing::Unchecked,
            counts: StepCounts::default(),
            failures: wf_core::machine::FailureTally::default(),
            stale: Vec::new(),
            outputs: wf_model::JsonObject::default(),
            accepted: None,
            offers: RunOffers::default(),
        }
    }

    fn resolved(decision: RequestDecision, names: &[&str]) -> EventKind {
        let by = names.iter().map(|name| ApprovalSigner {
            key_id: Sha256Digest::of_bytes(name.as_bytes()),
            name: (*name).into(),
        });
        EventKind::ApprovalResolved {
            request: 1,
            task_id: Some("agree[2]".parse().unwrap()),
            given: ApprovalOutcome {
                decision,
                by: by.collect(),
                tokens: Vec::new(),
                reason: "read it\ntwice".into(),
                answer: None,
            },
        }
    }

    #[test]
    fn the_end_of_a_run_has_its_time_and_its_reason() {
        let told_end = |outcome, reason: &str| told(&ended(outcome, reason), false).unwrap();
        assert_eq!(told_end(RunOutcome::Succeeded, ""), "`deploy` succeeded after 3m 12s");
        assert_eq!(
            told_end(RunOutcome::Cancelled, "interrupted"),
            "`deploy` was cancelled after 3m 12s: interrupted"
        );
        assert_eq!(told(&ended(RunOutcome::Failed, "x"), true), None, "the run that it is part of ends, too");
    }

    #[test]
    fn a_decision_names_people_and_keys() {
        let key = Sha256Digest::of_bytes(b"robin").short();
        assert_eq!(
            told(&resolved(RequestDecision::Approved, &["robin"]), true).unwrap(),
            format!("robin (key {key}) approved `agree[2]` of `deploy`: read it")
        );
        assert_eq!(
            told(&resolved(RequestDecision::Expired, &[]), false).unwrap(),
            "the request of `agree[2]` of `deploy` expired without an answer: read it"
        );
        let run = ToldRun { plan: "deploy", is_nested: false, took: None };
        let sentence = run_sentence(&resolved(RequestDecision::Denied, &["robin", "sam"]), &run).unwrap();
        assert_eq!((sentence.kind, sentence.people), ("denied", vec!["robin".to_owned(), "sam".to_owned()]));
    }

    #[test]
    fn a_goal_is_told_of_when_it_changes() {
        use ReconciliationHealth::{Failed, Healthy, Repaired};
        let text =
            |health, before| health_sentence("mirror", health, before, "").map(|sentence| sentence.text);
        assert_eq!(text(Healthy, None).unwrap(), "the goal `mirror` is healthy");
        assert_eq!(text(Healthy, Some(Healthy)), None);
        assert_eq!(text(Failed, Some(Healthy)).unwrap(), "the goal `mirror` is not healthy");
        assert_eq!(text(Failed, Some(Failed)), None);
        assert_eq!(text(Repaired, Some(Repaired)).unwrap(), "the goal `mirror` was repaired");
        assert_eq!(pause_sentence("mirror", Some("rain")).text, "the goal `mirror` was paused: rain");
    }

    #[test]
    fn a_withdrawal_names_who_withdrew() {
        let withdrawn = |who: Option<&str>| {
            let goal = wf_base::name::PlanId::parse("mirror").unwrap();
            let since = wf_base::time::Moment::default();
            let who = who.map(str::to_owned);
            let fact =
                StateFact::ApprovalWithdrawn(WithdrawnApproval { nonce: "1".into(), goal, who, since });
            state_sentence(&fact).unwrap()
        };
        assert_eq!(
            withdrawn(Some("robin")).text,
            "robin withdrew the standing approval of the goal `mirror`"
        );
        assert_eq!(withdrawn(Some("robin")).people, ["robin"]);
        assert!(withdrawn(None).people.is_empty());
    }
}
