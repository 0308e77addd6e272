use std::time::Duration;

use crate::expr::Template;
use crate::model::{
    Check, CheckPhase, ClassRule, EnvVar, Expect, JsonExpect, Limits, Probe, Script,
};
use crate::name::EnvName;
use crate::source::Spanned;
use crate::spec::ast;
use crate::spec::decode::{Entries, Glob, ReadPath, Size};

/// The longest a check may take if it does not say.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The checks of all phases, in the order in which they are asked.
pub(super) fn checks(
    inspect: &[ast::Check],
    test: &[ast::Check],
    verify: &[ast::Check],
) -> Vec<Check> {
    let phases = [
        (CheckPhase::Inspect, inspect),
        (CheckPhase::Test, test),
        (CheckPhase::Verify, verify),
    ];
    let all = phases.into_iter().flat_map(|(phase, own)| {
        let own = own.iter();
        own.map(move |written| check(written, phase))
    });
    all.collect()
}

fn check(check: &ast::Check, phase: CheckPhase) -> Check {
    let probe = match (&check.run, &check.exec) {
        (Some(text), _) => Some(Probe::Run(script(&text.value, check.shell.as_deref()))),
        (None, Some(argv)) => Some(Probe::Exec(argv.value.clone())),
        (None, None) => None,
    };
    Check {
        name: check.name.value.clone(),
        phase,
        probe,
        expect: check.expect.as_deref().map(expect).unwrap_or_default(),
        env: env(&check.env),
        cwd: check.cwd.as_ref().map(|path| path.value.0.clone()),
        timeout: check
            .timeout
            .as_ref()
            .map_or(TIMEOUT, |period| period.value.0),
        network: check.network,
        mode: check.mode,
        read: (check.allow.as_ref()).map_or_else(Vec::new, |allow| paths(&allow.read)),
        limits: limits(check.limits.as_deref()),
        fixed: globs(&check.fixed),
        classify: rules(&check.classify),
    }
}

pub(super) fn paths(paths: &[Spanned<ReadPath>]) -> Vec<String> {
    paths.iter().map(|path| path.value.0.clone()).collect()
}

pub(super) fn globs(globs: &[Spanned<Glob>]) -> Vec<String> {
    globs.iter().map(|glob| glob.value.0.clone()).collect()
}

pub(super) fn limits(said: Option<&ast::Limits>) -> Limits {
    let Some(said) = said else {
        return Limits::default();
    };
    let bytes = |size: &Option<Spanned<Size>>| size.as_ref().map(|size| size.value.0);
    Limits {
        memory: bytes(&said.memory),
        cpu: said.cpu.as_ref().map(|period| period.value.0),
        processes: said.processes.as_ref().map(|count| count.value),
        scratch: bytes(&said.scratch),
        output: bytes(&said.output),
    }
}

pub(super) fn rules(rules: &[ast::ClassRule]) -> Vec<ClassRule> {
    let rule = |rule: &ast::ClassRule| ClassRule {
        exit_code: rule.exit_code.0.iter().map(|code| code.value).collect(),
        signal: rule.signal.as_ref().map(|signal| signal.value),
        output: rule.output.as_ref().map(|pattern| pattern.0.clone()),
        class: rule.class.0,
    };
    rules.iter().map(rule).collect()
}

pub(super) fn expect(expect: &ast::Expect) -> Expect {
    Expect {
        exit_code: expect.exit_code,
        equals: expect.equals.clone(),
        contains: expect.contains.clone(),
        regex: expect.regex.as_ref().map(|pattern| pattern.0.clone()),
        output_lt: expect.output_lt,
        output_gt: expect.output_gt,
        file_exists: expect
            .file_exists
            .0
            .iter()
            .map(|path| path.value.0.clone())
            .collect(),
        not_empty: expect.not_empty,
        json: expect.json.0.iter().map(json).collect(),
        json_schema: expect
            .json_schema
            .as_ref()
            .map(|schema| schema.value.clone()),
    }
}

pub(super) fn json(expect: &ast::JsonExpect) -> JsonExpect {
    JsonExpect {
        path: expect.path.value.0.clone(),
        equals: expect.equals.clone(),
        lt: expect.lt,
        gt: expect.gt,
        exists: expect.exists,
        count: expect.count.and_then(|count| usize::try_from(count).ok()),
    }
}

pub(super) fn script(text: &str, shell: Option<&Spanned<ast::Shell>>) -> Script {
    let shell = shell.map(|shell| shell.value.clone()).unwrap_or_default();
    Script {
        shell: shell.argv(),
        text: text.to_owned(),
    }
}

pub(super) fn env(env: &Entries<EnvName, Template>) -> Vec<EnvVar> {
    let variable = |(name, value): &(Spanned<EnvName>, Template)| EnvVar {
        name: name.value.clone(),
        value: value.clone(),
    };
    env.iter().map(variable).collect()
}
