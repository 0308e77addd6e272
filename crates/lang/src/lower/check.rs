use std::time::Duration;

use crate::{
    ast,
    decode::{ByteSize, OrderedEntries, PathGlob, ReadablePath},
};
use wf_base::{name::EnvName, source::Spanned};
use wf_model::{
    Check, CheckJudge, CheckPhase, CheckProbe, EnvVar, Expectation, FailureClassRule, JsonExpectation,
    ResourceLimits, ShellScript, TestExpectation, expr::Template,
};

/// The default timeout of a check.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The checks of all phases, in the order of their execution.
pub(super) fn checks(
    inspect: &[ast::CheckSpec],
    test: &[ast::CheckSpec],
    verify: &[ast::CheckSpec],
) -> Vec<Check> {
    let phases = [(CheckPhase::Inspect, inspect), (CheckPhase::Test, test), (CheckPhase::Verify, verify)];
    let checks = phases.into_iter().flat_map(|(phase, own)| {
        let own = own.iter();
        own.map(move |written| check(written, phase))
    });
    checks.collect()
}

fn check(check: &ast::CheckSpec, phase: CheckPhase) -> Check {
    let probe = match (&check.run, &check.exec) {
        (Some(text), _) => Some(CheckProbe::Run(script(&text.value, check.shell.as_deref()))),
        (None, Some(argv)) => Some(CheckProbe::Exec(argv.value.clone())),
        (None, None) => None,
    };
    Check {
        name: check.name.value.clone(),
        phase,
        probe,
        expect: check.expect.as_deref().map(expect).unwrap_or_default(),
        env: env(&check.env),
        cwd: check.cwd.as_ref().map(|path| path.value.0.clone()),
        timeout: check.timeout.as_ref().map_or(TIMEOUT, |period| period.value.0),
        network: check.network,
        mode: check.mode,
        read: (check.allow.as_ref()).map_or_else(Vec::new, |allow| paths(&allow.read)),
        limits: limits(check.limits.as_deref()),
        fixed: globs(&check.fixed),
        classify: rules(&check.classify),
        before: check.before.as_ref().map(|before| before.value),
        judge: check.judge.as_deref().map(judge),
    }
}

fn judge(judge: &ast::JudgeSpec) -> CheckJudge {
    let votes = judge.votes.as_ref().map_or(1, |votes| votes.value);
    CheckJudge {
        role: judge.role.value.clone(),
        criteria: judge.criteria.value.iter().map(|criterion| criterion.value.clone()).collect(),
        votes,
        // A majority.
        required: judge.required.as_ref().map_or(votes / 2 + 1, |required| required.value),
    }
}

pub(super) fn paths(paths: &[Spanned<ReadablePath>]) -> Vec<String> {
    paths.iter().map(|path| path.value.0.clone()).collect()
}

pub(super) fn globs(globs: &[Spanned<PathGlob>]) -> Vec<String> {
    globs.iter().map(|glob| glob.value.0.clone()).collect()
}

pub(super) fn limits(given_limits: Option<&ast::LimitsSpec>) -> ResourceLimits {
    let Some(limits_spec) = given_limits else {
        return ResourceLimits::default();
    };
    let bytes = |size: &Option<Spanned<ByteSize>>| size.as_ref().map(|size| size.value.0);
    ResourceLimits {
        memory: bytes(&limits_spec.memory),
        cpu: limits_spec.cpu.as_ref().map(|period| period.value.0),
        processes: limits_spec.processes.as_ref().map(|count| count.value),
        scratch: bytes(&limits_spec.scratch),
        output: bytes(&limits_spec.output),
    }
}

pub(super) fn rules(rules: &[ast::ClassifyRuleSpec]) -> Vec<FailureClassRule> {
    let rule = |rule: &ast::ClassifyRuleSpec| FailureClassRule {
        exit_code: rule.exit_code.0.iter().map(|code| code.value).collect(),
        signal: rule.signal.as_ref().map(|signal| signal.value),
        output: rule.output.as_ref().map(|pattern| pattern.0.clone()),
        class: rule.class.into(),
    };
    rules.iter().map(rule).collect()
}

pub(super) fn expect(expect: &ast::ExpectationSpec) -> Expectation {
    Expectation {
        exit_code: expect.exit_code,
        equals: expect.equals.clone(),
        contains: expect.contains.clone(),
        regex: expect.regex.as_ref().map(|pattern| pattern.0.clone()),
        output_lt: expect.output_lt,
        output_gt: expect.output_gt,
        file_exists: expect.file_exists.0.iter().map(|path| path.value.0.clone()).collect(),
        not_empty: expect.not_empty,
        json: expect.json.0.iter().map(json).collect(),
        json_schema: expect.json_schema.as_ref().map(|schema| schema.value.clone()),
        tests: expect.tests.as_deref().map(tests),
    }
}

fn tests(expect: &ast::TestExpectationSpec) -> TestExpectation {
    TestExpectation {
        report: expect.report.as_ref().map(|path| path.value.0.clone()),
        at_least: expect.at_least.0,
    }
}

pub(super) fn json(expect: &ast::JsonExpectationSpec) -> JsonExpectation {
    JsonExpectation {
        path: expect.path.value.0.clone(),
        equals: expect.equals.clone(),
        lt: expect.lt,
        gt: expect.gt,
        exists: expect.exists,
        count: expect.count.and_then(|count| usize::try_from(count).ok()),
    }
}

pub(super) fn script(text: &str, shell: Option<&Spanned<ast::ShellSpec>>) -> ShellScript {
    let shell = shell.map(|shell| shell.value.clone()).unwrap_or_default();
    ShellScript { shell: shell.argv(), text: text.to_owned() }
}

pub(super) fn env(env: &OrderedEntries<EnvName, Template>) -> Vec<EnvVar> {
    let variable = |(name, value): &(Spanned<EnvName>, Template)| EnvVar {
        name: name.value.clone(),
        value: value.clone(),
    };
    env.iter().map(variable).collect()
}
