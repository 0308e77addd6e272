use wf_model::{Escalation, EscalationAction, Gate};

/// An escalation found, or its substitute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedEscalation {
    pub escalation: Escalation,
    /// The fault in its name, for the record.
    pub warning: Option<String>,
}

/// Resolves the escalation of a gate's block. A name means the gate's own escalation, else the
/// plan's, else the built-in one; an unknown name falls back to `report` (Silas 5.1.1). `None`
/// means the gate's default; a gate without one falls back to `report`.
pub fn escalation(name: Option<&str>, gate: &Gate, plan_escalations: &[Escalation]) -> ResolvedEscalation {
    let Some(name) = name.or(gate.on_block.as_deref()) else {
        return without_warning(report());
    };
    let mut known = gate.escalations.iter().chain(plan_escalations);
    match known.find(|known| known.name == name).cloned().or_else(|| built_in(name)) {
        Some(escalation) => without_warning(escalation),
        None => report_with_warning(&format!("unknown escalation `{name}`")),
    }
}

/// Returns the next escalation, for when one has nothing left to do; `tried` are the names of those tried,
/// including this one. `None` if none follows. Instead of one that would be tried twice, `report` follows.
pub fn next_escalation(
    done_escalation: &Escalation,
    tried: &[&str],
    gate: &Gate,
    plan_escalations: &[Escalation],
) -> Option<ResolvedEscalation> {
    let next = done_escalation.fallback.as_deref()?;
    if next == done_escalation.name || tried.contains(&next) {
        let reason = format!("the escalation `{next}` falls back on itself");
        return Some(report_with_warning(&reason));
    }
    Some(escalation(Some(next), gate, plan_escalations))
}

/// Returns an escalation and all that would follow it, each once.
pub fn chain(gate: &Gate, plan_escalations: &[Escalation]) -> Vec<ResolvedEscalation> {
    let mut all = vec![escalation(None, gate, plan_escalations)];
    loop {
        let tried: Vec<&str> = all.iter().map(|one| one.escalation.name.as_str()).collect();
        let last = all.last().map(|last| &last.escalation);
        match last.and_then(|last| next_escalation(last, &tried, gate, plan_escalations)) {
            Some(next) => all.push(next),
            None => return all,
        }
    }
}

/// The names of the built-in escalations.
pub const BUILT_IN: [&str; 2] = ["polite_redirect", "report"];

fn built_in(name: &str) -> Option<Escalation> {
    match name {
        "polite_redirect" => Some(Escalation {
            action: EscalationAction::Respond,
            message: Some("This request cannot be handled here. What else can I do for you?".into()),
            ..named(name)
        }),
        "report" => Some(report()),
        _ => None,
    }
}

fn report() -> Escalation {
    named("report")
}

fn named(name: &str) -> Escalation {
    Escalation {
        name: name.to_owned(),
        action: EscalationAction::Report,
        message: None,
        max_retries: 0,
        fallback: None,
        queue: None,
        rephrase: None,
        plan: None,
    }
}

fn without_warning(escalation: Escalation) -> ResolvedEscalation {
    ResolvedEscalation { escalation, warning: None }
}

fn report_with_warning(reason: &str) -> ResolvedEscalation {
    ResolvedEscalation { escalation: report(), warning: Some(format!("{reason}; using `report` instead")) }
}

#[cfg(test)]
mod tests {
    use super::{chain, escalation, next_escalation};
    use crate::gate::tests::sample;
    use proptest::prelude::*;
    use wf_model::{Escalation, EscalationAction, Gate};

    fn one(name: &str, fallback: Option<&str>, message: &str) -> Escalation {
        Escalation {
            fallback: fallback.map(str::to_owned),
            message: Some(message.to_owned()),
            action: EscalationAction::Respond,
            ..super::named(name)
        }
    }

    fn gate(on_block: Option<&str>, own: Vec<Escalation>) -> Gate {
        Gate { on_block: on_block.map(str::to_owned), escalations: own, ..sample::gate("it") }
    }

    fn said(name: Option<&str>, gate: &Gate, plan: &[Escalation]) -> Option<String> {
        escalation(name, gate, plan).escalation.message
    }

    #[test]
    fn the_gates_own_comes_before_the_plans_before_the_built_in() {
        let plan = [one("support", None, "plan"), one("polite_redirect", None, "plan")];
        let own = gate(Some("support"), vec![one("support", None, "own")]);
        let none = gate(Some("support"), Vec::new());
        assert_eq!(said(None, &own, &plan).as_deref(), Some("own"));
        assert_eq!(said(None, &none, &plan).as_deref(), Some("plan"));
        let polite = Some("polite_redirect");
        assert_eq!(said(polite, &none, &plan).as_deref(), Some("plan"));
        let built_in = escalation(polite, &none, &[]);
        assert_eq!(built_in.escalation.action, EscalationAction::Respond);
        assert_eq!(built_in.warning, None);
        let report = escalation(Some("report"), &none, &[]);
        assert_eq!(report.escalation.action, EscalationAction::Report);
        assert_eq!(report.warning, None);
    }

    #[test]
    fn an_unknown_name_is_reported_with_a_warning() {
        let found = escalation(Some("nobody"), &gate(None, Vec::new()), &[]);
        assert_eq!(found.escalation.action, EscalationAction::Report);
        let warning = "unknown escalation `nobody`; using `report` instead";
        assert_eq!(found.warning.as_deref(), Some(warning));
    }

    #[test]
    fn a_gate_that_names_none_is_reported() {
        let found = escalation(None, &gate(None, Vec::new()), &[]);
        assert_eq!(found.escalation.action, EscalationAction::Report);
        assert_eq!(found.warning, None);
    }

    #[test]
    fn fallbacks_are_followed() {
        let own = vec![one("a", Some("b"), ""), one("b", Some("polite_redirect"), "")];
        let names = |gate: &Gate| -> Vec<String> {
            let all = chain(gate, &[]).into_iter();
            all.map(|one| one.escalation.name).collect()
        };
        let gate = gate(Some("a"), own);
        assert_eq!(names(&gate), ["a", "b", "polite_redirect"]);
    }

    #[test]
    fn a_circle_of_fallbacks_is_reported() {
        let own = vec![one("a", Some("b"), ""), one("b", Some("a"), "")];
        let circle = gate(Some("a"), own);
        let last = chain(&circle, &[]).pop().unwrap();
        assert_eq!(last.escalation.action, EscalationAction::Report);
        let warning = "the escalation `a` falls back on itself; using `report` instead";
        assert_eq!(last.warning.as_deref(), Some(warning));
        let own = one("a", Some("a"), "");
        let found = next_escalation(&own, &[], &circle, &[]).unwrap();
        assert_eq!(found.warning.as_deref(), Some(warning));
    }

    proptest! {
        #[test]
        fn every_chain_ends(links in prop::collection::vec((0..6usize, 0..8usize), 0..8)) {
            let name = |at: usize| ["a", "b", "c", "d", "e", "f", "report", "nobody"][at];
            let all: Vec<Escalation> = links
                .iter()
                .map(|(from, to)| one(name(*from), Some(name(*to)), ""))
                .collect();
            let gate = gate(Some("a"), all);
            let found = chain(&gate, &[]);
            prop_assert!(found.len() <= 8);
            // Only the last one, where a chain is cut off, may have a warning.
            let (last, before) = found.split_last().unwrap();
            prop_assert!(before.iter().all(|one| one.warning.is_none()));
            prop_assert!(last.escalation.fallback.is_none());
        }
    }
}
