use wf_core::machine::{CheckRuling, CheckVerdict, IsolationKind};

/// The messages of programs that find no network.
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

/// The messages of programs that do not find a file.
const NO_FILE: [&str; 5] = ["no such file", "not found", "cannot open", "can't cd", "does not exist"];

/// The messages for a missing program.
const NO_PROGRAM: [&str; 2] = ["exit code 127", "program `"];

/// True if a text names one of the files.
fn names(paths: &[String], text: &str) -> bool {
    let file = |path: &String| path.rsplit('/').next().unwrap_or_default().to_lowercase();
    paths.iter().any(|path| text.contains(&file(path)))
}

/// A hint for a failed check, if its sandbox seems to be the reason.
pub(super) fn hint(verdict: &CheckVerdict) -> Option<&'static str> {
    if verdict.ruling == CheckRuling::Pass {
        return None;
    }
    let text = format!("{}\n{}", verdict.found, verdict.evidence).to_lowercase();
    let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    let is_said = verdict.found.contains("not declared");
    if !is_said && !verdict.hidden.is_empty() && (has(&NO_FILE) || names(&verdict.hidden, &text)) {
        return Some(
            "a check cannot see undeclared new files: list the file in `artifacts` or `writes` \
             of the step",
        );
    }
    let isolation = verdict.isolation.as_ref()?;
    if isolation.contains(&IsolationKind::Network) && has(&NO_NETWORK) {
        return Some("a check has network access only with `network: true`");
    }
    if isolation.contains(&IsolationKind::Files) && has(&NO_PROGRAM) {
        return Some(
            "a check can read only the system, the folders of PATH and the paths in `allow: \
             {read: […]}`",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_base::name::Name;
    use wf_model::CheckCertainty;

    fn verdict(found: &str, evidence: &str, isolation: &[IsolationKind]) -> CheckVerdict {
        CheckVerdict {
            phase: wf_model::CheckPhase::default(),
            name: Name::parse("it").unwrap(),
            ruling: CheckRuling::Fail,
            expected: "exit code 0".into(),
            found: found.into(),
            evidence: evidence.into(),
            failure_class: None,
            duration_ms: 1,
            certainty: CheckCertainty::default(),
            isolation: Some(isolation.to_vec()),
            hidden: Vec::new(),
            changes: None,
            changed_inputs: Vec::new(),
            foreign_changes: None,
            is_unbounded: false,
            tests: None,
            before: None,
            judgement: None,
        }
    }

    #[test]
    fn only_what_a_sandbox_does_is_hinted_at() {
        let all = [IsolationKind::Files, IsolationKind::Network];
        let web = "curl: (6) Could not resolve host: example.com";
        let told = |found: &str, evidence: &str, isolation: &[IsolationKind]| {
            hint(&verdict(found, evidence, isolation))
        };
        assert!(told("exit code 6", web, &all).unwrap().contains("network"));
        assert_eq!(told("exit code 6", web, &[IsolationKind::Files]), None);
        assert!(told("exit code 127: command not found", "", &all).unwrap().contains("allow"));
        assert_eq!(told("exit code 127: command not found", "", &[]), None);
        assert_eq!(told("exit code 1", "2 tests failed", &all), None);
        let hidden = CheckVerdict {
            hidden: vec!["out.txt".into()],
            ..verdict("exit code 1", "cat: out.txt: No such file or directory", &all)
        };
        assert!(hint(&hidden).unwrap().contains("`writes`"));
        let passed = CheckVerdict { ruling: CheckRuling::Pass, ..verdict("", web, &all) };
        assert_eq!(hint(&passed), None);
    }
}
