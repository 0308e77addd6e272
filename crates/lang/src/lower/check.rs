use std::time::Duration;

use crate::{
    ast,
    decode::{LowerSpec, OrderedEntries},
};
use wf_base::{name::EnvName, source::Spanned};
use wf_model::{Check, CheckJudge, CheckPhase, CheckProbe, EnvVar, ShellScript, expr::Template};

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
        name: check.name.lower(),
        phase,
        probe,
        expect: check.expect.lower().unwrap_or_default(),
        env: env(&check.env),
        cwd: check.cwd.lower(),
        timeout: check.timeout.lower().unwrap_or(TIMEOUT),
        network: check.network,
        mode: check.mode,
        read: check.allow.as_ref().map_or_else(Vec::new, |allow| allow.read.lower()),
        limits: check.limits.lower().unwrap_or_default(),
        fixed: check.fixed.lower(),
        classify: check.classify.lower(),
        before: check.before.lower(),
        judge: check.judge.as_deref().map(judge),
    }
}

fn judge(judge: &ast::JudgeSpec) -> CheckJudge {
    let votes = judge.votes.lower().unwrap_or(1);
    CheckJudge {
        role: judge.role.lower(),
        criteria: judge.criteria.lower(),
        votes,
        // A majority.
        required: judge.required.lower().unwrap_or(votes / 2 + 1),
    }
}

pub(super) fn script(text: &str, shell: Option<&Spanned<ast::ShellSpec>>) -> ShellScript {
    let shell = shell.map(|shell| shell.value.clone()).unwrap_or_default();
    ShellScript { shell: shell.argv(), text: text.to_owned() }
}

pub(super) fn env(env: &OrderedEntries<EnvName, Template>) -> Vec<EnvVar> {
    env.lower().into_iter().map(|(name, value)| EnvVar { name, value }).collect()
}
