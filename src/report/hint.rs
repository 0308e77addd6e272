use crate::machine::{Guard, Ruling, Verdict};

/// What programs say that find no network.
const NO_NETWORK: [&str; 8] = [
    "resolve host",
    "name resolution",
    "name or service not known",
    "network is unreachable",
    "connection refused",
    "couldn't connect",
    "could not connect",
    "failed to connect",
];

/// What is said where a program is not there.
const NO_PROGRAM: [&str; 2] = ["exit code 127", "there is no program"];

/// What may help a check that did not pass, if its sandbox seems to be the reason.
pub(super) fn hint(verdict: &Verdict) -> Option<&'static str> {
    if verdict.ruling == Ruling::Pass {
        return None;
    }
    if verdict.found.starts_with("check was altered") {
        return Some(
            "what a step makes for its check is named in `artifacts` or `cache.outputs` of the step",
        );
    }
    let guards = verdict.guards.as_ref()?;
    let said = format!("{}\n{}", verdict.found, verdict.evidence).to_lowercase();
    let has = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    if guards.contains(&Guard::Network) && has(&NO_NETWORK) {
        return Some("a check has a network only with `network: true`");
    }
    if guards.contains(&Guard::Files) && has(&NO_PROGRAM) {
        return Some(
            "a check sees the system, the folders of PATH and what `allow: {read: […]}` names",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mode;
    use crate::name::Name;

    fn verdict(found: &str, evidence: &str, guards: &[Guard]) -> Verdict {
        Verdict {
            phase: crate::model::CheckPhase::default(),
            name: Name::parse("it").unwrap(),
            ruling: Ruling::Fail,
            expected: "exit code 0".into(),
            found: found.into(),
            evidence: evidence.into(),
            class: None,
            millis: 1,
            mode: Mode::default(),
            guards: Some(guards.to_vec()),
        }
    }

    #[test]
    fn only_what_a_sandbox_does_is_hinted_at() {
        let all = [Guard::Files, Guard::Network];
        let web = "curl: (6) Could not resolve host: example.com";
        let told =
            |found: &str, evidence: &str, guards: &[Guard]| hint(&verdict(found, evidence, guards));
        assert!(told("exit code 6", web, &all).unwrap().contains("network"));
        assert_eq!(told("exit code 6", web, &[Guard::Files]), None);
        assert!(
            told("exit code 127: command not found", "", &all)
                .unwrap()
                .contains("allow")
        );
        assert_eq!(told("exit code 127: command not found", "", &[]), None);
        assert_eq!(told("exit code 1", "2 tests failed", &all), None);
        let altered = told("check was altered: check.sh", "", &[]).unwrap();
        assert!(altered.contains("`artifacts`"), "{altered}");
        let passed = Verdict {
            ruling: Ruling::Pass,
            ..verdict("", web, &all)
        };
        assert_eq!(hint(&passed), None);
    }
}
