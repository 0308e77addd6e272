use std::sync::Arc;
use std::time::Duration;

use super::check::{env, expect, json, script};
use super::plan::NotLowered;
use crate::model::{
    Escalation, Gate, GateScript, Guardrail, JsonPath, Lane, Llm, Needs, Predicate, Probe,
    Provider, Range,
};
use crate::name::Name;
use crate::source::Spanned;
use crate::spec::Loaded;
use crate::spec::ast::{self, GateRef, Rule, Setting};
use crate::spec::decode::Entries;

/// The longest a script may take if it does not say (Silas 5.5.4).
const TIMEOUT: Duration = Duration::from_secs(30);

/// The gates of the workspace, then those that a plan names, each once.
pub(super) fn of_plan(
    loaded: &Loaded,
    file: usize,
    named: &[GateRef],
) -> Result<Vec<Arc<Gate>>, NotLowered> {
    let mut gates = Vec::new();
    for (file, written) in loaded.system_gates() {
        gates.push(gate(loaded, file, written)?);
    }
    gates.extend(own(loaded, file, named)?);
    Ok(gates)
}

/// The gates that a plan or a step names, without those of the workspace, which hold anyway.
pub(super) fn own(
    loaded: &Loaded,
    file: usize,
    named: &[GateRef],
) -> Result<Vec<Arc<Gate>>, NotLowered> {
    let mut gates = Vec::new();
    for named in named {
        let (at, written) = loaded.gate(file, named).ok_or(NotLowered::Broken)?;
        let of_system = matches!(named, GateRef::Named(_)) && loaded.system.contains(&at);
        if !of_system {
            gates.push(gate(loaded, at, written)?);
        }
    }
    Ok(gates)
}

/// The model of the gate that a file is. Only files without errors have one.
pub fn lower_gate(loaded: &Loaded) -> Result<Arc<Gate>, NotLowered> {
    if loaded.has_errors() {
        return Err(NotLowered::Broken);
    }
    gate(loaded, 0, loaded.gates.get(&0).ok_or(NotLowered::Broken)?)
}

/// The model of a gate that is written in a file.
fn gate(loaded: &Loaded, file: usize, written: &ast::Gate) -> Result<Arc<Gate>, NotLowered> {
    let path = loaded
        .gates
        .contains_key(&file)
        .then(|| {
            loaded
                .sources
                .get(file)
                .map(|source| source.path().to_owned())
        })
        .flatten();
    let setting = written.setting.as_ref().ok_or(NotLowered::Broken)?;
    let extract = written.extract.as_ref();
    let extract = extract
        .map(|path| JsonPath::parse(&path.value.0))
        .transpose();
    let promoted = written
        .promote_to_policy
        .as_ref()
        .is_some_and(|promoted| promoted.value);
    let lane = match (setting, &written.lane) {
        (Setting::Llm(_), _) if !promoted => Lane::Quality,
        (Setting::Llm(_), _) | (_, None) => Lane::Policy,
        (_, Some(lane)) => lane.value,
    };
    Ok(Arc::new(Gate {
        id: written.id.value.clone(),
        title: written.title.clone(),
        on: written.on.value,
        lane,
        provider: provider(setting, written, promoted, path.as_deref())?,
        extract: extract.map_err(|_| NotLowered::Broken)?,
        on_block: written.on_block.as_ref().map(|name| name.value.to_string()),
        escalations: escalations(loaded, file, &written.escalation),
        approval: needs(written.approval.as_ref()),
        path,
    }))
}

fn provider(
    setting: &Setting,
    written: &ast::Gate,
    promoted: bool,
    path: Option<&str>,
) -> Result<Provider, NotLowered> {
    Ok(match setting {
        Setting::Predicate(rule) => Provider::Predicate(predicate(rule)),
        Setting::Guardrail(config) => Provider::Guardrail(Guardrail {
            detect: config
                .detect
                .iter()
                .map(|name| name.value.clone())
                .collect(),
            on_find: config.on_find,
        }),
        Setting::Llm(prompt) => Provider::Llm(Llm {
            prompt: prompt.clone().unwrap_or_else(|| written.prose.clone()),
            promote_to_policy: promoted,
        }),
        Setting::Script(then) => Provider::Script(Box::new(GateScript {
            probe: match (&written.run, &written.exec) {
                (Some(text), _) => Probe::Run(script(&text.value, written.shell.as_deref())),
                (None, Some(argv)) => Probe::Exec(argv.value.clone()),
                (None, None) => return Err(NotLowered::Broken),
            },
            expect: written.expect.as_deref().map(expect).unwrap_or_default(),
            then: then.as_ref().map(predicate),
            env: env(&written.env),
            cwd: path
                .and_then(|path| path.rsplit_once('/'))
                .map(|(folder, _)| folder.to_owned()),
            timeout: (written.timeout.as_ref()).map_or(TIMEOUT, |period| period.value.0),
        })),
    })
}

fn predicate(rule: &Rule) -> Predicate {
    match rule {
        Rule::NumericRange(config) => Predicate::NumericRange {
            block_outside: config.block_outside.as_ref().map(range),
            auto_approve: config.auto_approve.as_ref().map(range),
            require_approval: config.require_approval.as_ref().map(range),
            clamp: config.clamp.as_ref().map(range),
        },
        Rule::StringMatch(config) => Predicate::StringMatch {
            allowed: config.allowed_values.clone(),
            approval: config.approval_values.clone(),
        },
        Rule::Regex(config) => Predicate::Regex(config.pattern.0.clone()),
        Rule::FileValid(config) => Predicate::FileValid {
            permitted: config
                .permitted
                .iter()
                .map(|path| path.value.0.clone())
                .collect(),
            max_size_bytes: config.max_size.as_ref().map(|size| size.0),
        },
        Rule::ApprovalAlways => Predicate::ApprovalAlways,
        Rule::JsonPath(config) => Predicate::JsonPath(config.json.0.iter().map(json).collect()),
    }
}

fn range(written: &ast::RangeOf) -> Range {
    Range {
        min: written.min,
        max: written.max,
    }
}

/// What blocks lead to, by name, as a file says it.
pub(super) fn escalations(
    loaded: &Loaded,
    file: usize,
    written: &Entries<Name, ast::Escalation>,
) -> Vec<Escalation> {
    let one = |(name, said): &(Spanned<Name>, ast::Escalation)| Escalation {
        name: name.value.to_string(),
        action: said.action.value,
        message: said.message.clone(),
        max_retries: said.max_retries.as_ref().map_or(1, |most| most.value),
        fallback: said.fallback.as_ref().map(|name| name.value.to_string()),
        queue: said.queue.clone(),
        rephrase: said.rephrase.clone(),
        plan: (said.plan.as_ref()).and_then(|plan| loaded.resolve(file, &plan.value)),
    };
    written.iter().map(one).collect()
}

pub(super) fn needs(written: Option<&ast::Needs>) -> Needs {
    let Some(written) = written else {
        return Needs::default();
    };
    Needs {
        required: written.required.as_ref().map(|count| count.value),
        approvers: names(&written.approvers),
        timeout: written.timeout.as_ref().map(|period| period.value.0),
        escalate_to: names(&written.escalate_to),
    }
}

fn names(written: &[Spanned<String>]) -> Vec<String> {
    written.iter().map(|name| name.value.clone()).collect()
}
