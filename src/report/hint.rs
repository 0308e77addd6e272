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

/// What programs say that do not find a file.
const NO_FILE: [&str; 5] = [
    "no such file",
    "not found",
    "cannot open",
    "can't cd",
    "does not exist",
];

/// What is said where a program is not there.
const NO_PROGRAM: [&str; 2] = ["exit code 127", "there is no program"];

/// Whether a text names one of some files.
fn names(paths: &[String], text: &str) -> bool {
    let file = |path: &String| path.rsplit('/').next().unwrap_or_default().to_lowercase();
    paths.iter().any(|path| text.contains(&file(path)))
}

/// What may help a check that did not pass, if its sandbox seems to be the reason.
pub(super) fn hint(verdict: &Verdict) -> Option<&'static str> {
    if verdict.ruling == Ruling::Pass {
        return None;
    }
    let said = format!("{}\n{}", verdict.found, verdict.evidence).to_lowercase();
    let has = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    if !verdict.hidden.is_empty() && (has(&NO_FILE) || names(&verdict.hidden, &said)) {
        return Some(
            "a check sees no new file that nothing declares: name it in `artifacts` or `writes` of the step",
        );
    }
    let guards = verdict.guards.as_ref()?;
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
            hidden: Vec::new(),
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
        let hidden = Verdict {
            hidden: vec!["out.txt".into()],
            ..verdict(
                "exit code 1",
                "cat: out.txt: No such file or directory",
                &all,
            )
        };
        assert!(hint(&hidden).unwrap().contains("`writes`"));
        let passed = Verdict {
            ruling: Ruling::Pass,
            ..verdict("", web, &all)
        };
        assert_eq!(hint(&passed), None);
    }
}
