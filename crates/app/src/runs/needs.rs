//! The unmet needs of a run, found before anything of it starts: an hour of work is not to be lost to an unset variable.
//!
//! Only an unset variable is refused, and only for steps without a condition. A program may be installed by an earlier
//! step, so its absence is a warning.

use std::collections::BTreeSet;

use crate::{CliExitCode, CommandError, Host};
use wf_exec::process;
use wf_model::{
    Plan, SecretDeclaration, SecretSource, Step, StepWork,
    expr::{ExprReference, Template},
};

/// Returns an error if a step without a condition reads a secret from an unset variable.
pub(crate) fn require_secrets(host: &Host, plan: &Plan) -> Result<(), CommandError> {
    let mut missing = BTreeSet::new();
    each_sure_step(plan, &mut |plan, step| {
        let read = templates(plan, step).flat_map(Template::refs).filter_map(|read| match &read.name {
            ExprReference::Secret(name) => Some(name.clone()),
            _ => None,
        });
        let read: BTreeSet<String> = read.collect();
        let declared = plan.parts().secrets.iter().filter(|secret| read.contains(secret.name.as_str()));
        missing.extend(declared.filter_map(|secret| unset_variable(host, secret)).map(
            |(secret, variable)| {
                format!(
                    "secret `{secret}`, which step `{}` reads: environment variable {variable} is not set",
                    step.id
                )
            },
        ));
    });
    if missing.is_empty() {
        return Ok(());
    }
    let text: Vec<String> = missing.into_iter().collect();
    let error = CommandError::new(CliExitCode::Usage, text.join("; "));
    Err(error.hint("set it, and run it again: nothing has started"))
}

/// Returns a warning for each missing program of a step without a condition.
pub(crate) fn missing_programs(host: &Host, plan: &Plan) -> Vec<String> {
    let mut missing = BTreeSet::new();
    each_sure_step(plan, &mut |plan, step| {
        let StepWork::Exec(argv) = &step.work else { return };
        let name = argv.first().and_then(Template::constant);
        let name = name.as_ref().and_then(|name| name.as_str()).filter(|name| !name.contains('/'));
        let mut variables = plan.parts().env.iter().chain(&step.env);
        let searches_elsewhere =
            step.container.is_some() || variables.any(|variable| variable.name.as_str() == "PATH");
        if let Some(name) = name.filter(|_| !searches_elsewhere)
            && let Err(error) = process::find(name, host.var("PATH"), host.cwd())
        {
            missing.insert(format!("step `{}`: {} (yet)", step.id, error.reason));
        }
    });
    missing.into_iter().collect()
}

fn unset_variable<'s>(host: &Host, secret: &'s SecretDeclaration) -> Option<(&'s str, &'s str)> {
    match &secret.source {
        SecretSource::Env(variable) if host.var(variable).is_none() => Some((secret.name.as_str(), variable)),
        _ => None,
    }
}

/// Calls a function with each step without a condition, of a plan and of its nested plans.
fn each_sure_step(plan: &Plan, call: &mut dyn FnMut(&Plan, &Step)) {
    let sure = |step: &&Step| step.when.is_none() && !step.on_escalation && step.cache.is_none();
    for step in plan.steps().iter().filter(sure) {
        call(plan, step);
        if let StepWork::Uses(nested) = &step.work {
            each_sure_step(&nested.plan, call);
        }
    }
}

/// Returns the templates of a step for its secrets.
fn templates<'p>(plan: &'p Plan, step: &'p Step) -> impl Iterator<Item = &'p Template> {
    let variables = plan.parts().env.iter().chain(&step.env).map(|variable| &variable.value);
    let request = match &step.work {
        StepWork::Http(http) => Some(http),
        _ => None,
    };
    let headers = request.into_iter().flat_map(|http| http.headers.iter().map(|(_, value)| value));
    variables.chain(headers).chain(request.and_then(|http| http.body.as_ref()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{missing_programs, require_secrets};
    use crate::{Host, config::WorkspaceConfig};
    use wf_lang::{InMemoryFiles, load, lower};

    fn plan(steps: &str) -> std::sync::Arc<wf_model::Plan> {
        let text = format!(
            "---\nkind: plan\nid: p\nsecrets: {{KEY: {{from: env, name: SOME_KEY}}}}\nsteps:\n\
             \x20 - {{id: first, run: 'true'}}\n{steps}---\n"
        );
        let files = InMemoryFiles([("p.md".to_owned(), text.into_bytes())].into());
        lower(&load(&files, "p.md"), &WorkspaceConfig::default().defaults).unwrap()
    }

    fn host(vars: &[(&str, &str)]) -> Host {
        let vars: BTreeMap<String, String> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Host::new(vars, std::env::temp_dir()).unwrap()
    }

    #[test]
    fn a_secret_of_a_step_that_is_sure_to_run_must_be_there() {
        let reads = plan("  - {id: use, env: {K: '{{ secrets.KEY }}'}, run: 'true'}\n");
        let error = require_secrets(&host(&[]), &reads).unwrap_err();
        assert!(format!("{error:?}").contains("SOME_KEY is not set"), "{error:?}");
        assert!(require_secrets(&host(&[("SOME_KEY", "v")]), &reads).is_ok());
        let may_read =
            plan("  - {id: use, when: failed('first'), env: {K: '{{ secrets.KEY }}'}, run: 'true'}\n");
        assert!(require_secrets(&host(&[]), &may_read).is_ok());
    }

    #[test]
    fn a_program_that_is_not_there_yet_is_named() {
        let needs_of = |step: &str| {
            let reads = plan(&format!("  - {{id: use, env: {{K: '{{{{ secrets.KEY }}}}'}}, {step}}}\n"));
            missing_programs(&host(&[("PATH", "/usr/bin:/bin")]), &reads)
        };
        assert_eq!(
            needs_of("exec: [no-such-tool, x]"),
            ["step `use`: program `no-such-tool` is not in PATH (yet)"]
        );
        for there in ["exec: [sh, -c, x]", "exec: [./made-by-first]", "run: no-such-tool"] {
            assert!(needs_of(there).is_empty(), "{there}");
        }
    }
}
