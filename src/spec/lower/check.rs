use std::time::Duration;

use crate::expr::Template;
use crate::model::{Check, EnvVar, Expect, JsonExpect, Probe, Script};
use crate::name::EnvName;
use crate::spec::ast;
use crate::spec::decode::Entries;

/// The longest a check may take if it does not say.
const TIMEOUT: Duration = Duration::from_mins(1);

pub(super) fn checks(checks: &[ast::Check]) -> Vec<Check> {
    checks.iter().map(check).collect()
}

fn check(check: &ast::Check) -> Check {
    let probe = match (&check.run, &check.exec) {
        (Some(text), _) => Some(Probe::Run(script(&text.value, check.shell.as_deref()))),
        (None, Some(argv)) => Some(Probe::Exec(argv.value.clone())),
        (None, None) => None,
    };
    Check {
        name: check.name.value.clone(),
        probe,
        expect: check.expect.as_deref().map(expect).unwrap_or_default(),
        env: env(&check.env),
        cwd: check.cwd.as_ref().map(|path| path.value.0.clone()),
        timeout: check
            .timeout
            .as_ref()
            .map_or(TIMEOUT, |period| period.value.0),
    }
}

fn expect(expect: &ast::Expect) -> Expect {
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

fn json(expect: &ast::JsonExpect) -> JsonExpect {
    JsonExpect {
        path: expect.path.value.0.clone(),
        equals: expect.equals.clone(),
        lt: expect.lt,
        gt: expect.gt,
        exists: expect.exists,
        count: expect.count.and_then(|count| usize::try_from(count).ok()),
    }
}

pub(super) fn script(text: &str, shell: Option<&crate::source::Spanned<ast::Shell>>) -> Script {
    let shell = shell.map(|shell| shell.value.clone()).unwrap_or_default();
    Script {
        shell: shell.argv(),
        text: text.to_owned(),
    }
}

pub(super) fn env(env: &Entries<EnvName, Template>) -> Vec<EnvVar> {
    let variable = |(name, value): &(crate::source::Spanned<EnvName>, Template)| EnvVar {
        name: name.value.clone(),
        value: value.clone(),
    };
    env.iter().map(variable).collect()
}
