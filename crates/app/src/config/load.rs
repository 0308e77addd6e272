use super::{ConfigFile, WorkspaceConfig};
use wf_base::{
    diag::{Code, Diagnostic},
    source::{SourceText, Span},
};
use wf_lang::{
    decode::{DecodeSpec, DiagnosticList, SpecDecoder},
    yaml::{self, YamlNode, YamlValue},
};

/// Reads `wf.yaml`: the configuration as far as it is usable, and all diagnostics. An empty file is
/// valid.
pub fn load(source: &SourceText) -> (WorkspaceConfig, Vec<Diagnostic>) {
    let (tree, mut decoder) = open(source);
    let file = tree
        .filter(|tree| tree.value != YamlValue::Null)
        .and_then(|tree| ConfigFile::decode(&tree, &mut decoder));
    if let Some(file) = &file {
        for pattern in &file.env_pass {
            if globset::Glob::new(pattern).is_err() {
                let message = format!("invalid name pattern `{}`", pattern.value);
                decoder.emit(Diagnostic::new(Code::ValueWrong, pattern.span, message));
            }
        }
    }
    if let Some(file) = &file {
        super::models::check_names(&file.models, &file.roles, &mut decoder);
        super::mcp::check_tool_names(&file.mcp, &mut decoder);
        for (at, id) in file.gates.iter().enumerate() {
            let mut before = file.gates.iter().take(at);
            if let Some(first) = before.find(|other| other.value == id.value) {
                let message = format!("the gate `{}` is listed twice", id.value);
                let mistake = Diagnostic::new(Code::DuplicateId, id.span, message);
                decoder.emit(mistake.with_related(first.span, "the other one is here"));
            }
        }
    }
    let config = file.map(WorkspaceConfig::from).unwrap_or_default();
    let mut mistakes = decoder.into_mistakes().into_diagnostics();
    mistakes.sort_by_key(|mistake| mistake.span);
    (config, mistakes)
}

/// Reads a file of settings as a tree, with its mistakes noted in the decoder for its declarations.
pub(super) fn open(source: &SourceText) -> (Option<YamlNode<'_>>, SpecDecoder<'_>) {
    let text = source.text();
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut mistakes = DiagnosticList::default();
    let tree = yaml::read_yaml(text, Span::new(start, text.len()), &mut mistakes);
    (tree, SpecDecoder::new(text, mistakes))
}

#[cfg(test)]
mod tests {
    use super::load;
    use crate::config::{DurabilitySetting, WorkspaceConfig};
    use std::time::Duration;
    use wf_base::source::SourceText;
    use wf_model::{FailureClass, OnStepFailure, ReplanSettings};

    fn check(text: &str, wrong: &[&str]) -> WorkspaceConfig {
        let source = SourceText::new("wf.yaml", text);
        let (config, mistakes) = load(&source);
        let messages: Vec<_> = mistakes
            .iter()
            .map(|mistake| format!("{} {}", source.slice(mistake.span), mistake.code.as_str()))
            .collect();
        assert_eq!(messages, wrong, "{text}");
        config
    }

    #[test]
    fn nothing_said_is_the_default() {
        for text in ["", "# a comment\n", "{}", "\u{feff}"] {
            let config = check(text, &[]);
            assert_eq!(config.logs.max_bytes, 64 << 20);
            assert_eq!(config.durability, DurabilitySetting::Full);
            assert!(config.defaults.policy.max_parallel > 0);
        }
    }

    #[test]
    fn everything_can_be_said() {
        let text = "policy: {max_parallel: 2, on_failure: continue, grace: 1s}\n\
                    retry: {max: 3, on: [environmental]}\ndurability: normal\nsandbox: off\n\
                    logs: {max_bytes: 1MiB}\nretention: {max_age: 30d, max_runs: 7, max_artifact_bytes: 1GiB}\n\
                    planning: {max_tokens: 9000, max_cost_usd: 0.5}\nenv_pass: [CI, GITHUB_*]\n\
                    limits: {max_parallel: 8, max_parallel_per_session: 4, max_parallel_per_run: 2}\n";
        let config = check(text, &[]);
        let limits = config.limits;
        assert_eq!([limits.in_workspace, limits.in_session, limits.in_run], [Some(8), Some(4), Some(2)]);
        let policy = &config.defaults.policy;
        assert_eq!(policy.max_parallel, 2);
        assert_eq!(policy.on_failure, OnStepFailure::Continue);
        assert_eq!(policy.grace, Duration::from_secs(1));
        assert_eq!(config.defaults.retry.max, 3);
        assert_eq!(config.defaults.retry.on, [FailureClass::Environmental]);
        assert_eq!(config.durability, DurabilitySetting::Normal);
        assert_eq!(config.logs.max_bytes, 1 << 20);
        assert_eq!(config.retention.max_age, Some(Duration::from_hours(30 * 24)));
        assert_eq!(config.retention.max_runs, Some(7));
        assert_eq!(config.retention.max_artifact_bytes, Some(1 << 30));
        assert_eq!(config.planning.max_tokens, Some(9000));
        assert_eq!(config.planning.max_cost.map(wf_model::Money::micros), Some(500_000));
        assert_eq!(config.env_pass, ["CI", "GITHUB_*"]);
    }

    #[test]
    fn to_keep_no_run_is_refused() {
        check("retention: {max_runs: 0}\n", &["0 spec/wrong-value"]);
        assert_eq!(check("retention: {max_runs: 1}\n", &[]).retention.max_runs, Some(1));
    }

    #[test]
    fn what_a_run_begins_in_is_strict_where_nobody_says() {
        for (text, calm, strict) in [
            ("", false, true),
            ("replan: {delta: 0.1}\n", false, true),
            ("replan: {strict: false}\n", false, false),
            ("replan: {strict: true}\n", true, true),
        ] {
            let config = check(text, &[]);
            let is_strict = |ci| config.clone().with_strictness(ci).defaults.replan.strict;
            assert_eq!((is_strict(false), is_strict(true)), (calm, strict), "{text}");
        }
        let settings = ReplanSettings { delta: 0.1, max_replans: 9, ..ReplanSettings::default() };
        let config = check("replan: {delta: 0.1, max_replans: 9}\n", &[]);
        assert_eq!(config.defaults.replan, settings);
    }

    #[test]
    fn the_sandbox_is_on_unless_it_is_said_to_be_off() {
        for (text, on, read) in [
            ("", true, &[][..]),
            ("sandbox: on\n", true, &[]),
            ("sandbox: off\n", false, &[]),
            ("sandbox: {read: [/opt, ~/.cargo]}\n", true, &["/opt", "~/.cargo"]),
        ] {
            let sandbox = check(text, &[]).sandbox;
            assert_eq!(
                (sandbox.on, sandbox.read.as_slice()),
                (on, &read.iter().map(ToString::to_string).collect::<Vec<_>>()[..])
            );
        }
        check(
            "sandbox: {read: [../x, ''], reed: 1}\n",
            &["../x spec/wrong-value", " spec/wrong-value", "reed spec/unknown-key"],
        );
    }

    #[test]
    fn every_mistake_is_told() {
        let text = "polcy: {}\ndurability: ful\nsandbox: of\nlogs: {max_bytes: lots}\n\
                    env_pass: ['[']\nretry: {backoff: 1s}\nretention: {max_age: 30}\n\
                    replan: {delta: 1.5}\nplanning: {max_tokens: 0, max_cost_usd: -1.0, cost: 1}\n\
                    limits: {max_parallel: 2, max_parallel_per_session: 3, max_parallel_per_run: 0}\n";
        check(
            text,
            &[
                "polcy spec/unknown-key",
                "ful spec/wrong-value",
                "of spec/wrong-value",
                "lots spec/wrong-value",
                "[ spec/wrong-value",
                "backoff spec/missing-key",
                "30 spec/wrong-type",
                "1.5 spec/wrong-value",
                "0 spec/wrong-value",
                "-1.0 spec/wrong-value",
                "cost spec/unknown-key",
                "3 spec/wrong-value",
                "0 spec/wrong-value",
            ],
        );
        check("- a\n", &["- a spec/wrong-type"]);
        check("a: [", &["[ yaml/syntax"]);
    }
}
