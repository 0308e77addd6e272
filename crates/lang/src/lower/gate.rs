use std::{sync::Arc, time::Duration};

use super::{
    check::{env, expect, json, script},
    plan::LoweringError,
};
use crate::{
    LoadedSpec,
    ast::{self, GateProviderConfig, GateRef, PredicateRule},
    decode::OrderedEntries,
};
use wf_base::{name::Name, source::Spanned};
use wf_model::{
    ApprovalRequirement, BoundedJsonPath, CheckProbe, Escalation, Gate, GateLane, GatePredicate,
    GateProvider, GateScript, Guardrail, LlmJudge, PredicateRange,
};

/// The default timeout of a script (Silas 5.5.4).
const TIMEOUT: Duration = Duration::from_secs(30);

/// The gates of the workspace, then those a plan names, each once.
pub(super) fn of_plan(
    loaded: &LoadedSpec,
    file: usize,
    gate_refs: &[GateRef],
) -> Result<Vec<Arc<Gate>>, LoweringError> {
    let mut gates = Vec::new();
    for (file, written) in loaded.system_gates() {
        gates.push(gate(loaded, file, written)?);
    }
    gates.extend(own(loaded, file, gate_refs)?);
    Ok(gates)
}

/// The gates a plan or a step names, without those of the workspace, which apply anyway.
pub(super) fn own(
    loaded: &LoadedSpec,
    file: usize,
    gate_refs: &[GateRef],
) -> Result<Vec<Arc<Gate>>, LoweringError> {
    let mut gates = Vec::new();
    for named in gate_refs {
        let (at, written) = loaded.gate(file, named).ok_or(LoweringError::Broken)?;
        let of_system = matches!(named, GateRef::Named(_)) && loaded.system.contains(&at);
        if !of_system {
            gates.push(gate(loaded, at, written)?);
        }
    }
    Ok(gates)
}

/// The model of a gate's file. Only files without errors have one.
pub fn lower_gate(loaded: &LoadedSpec) -> Result<Arc<Gate>, LoweringError> {
    if loaded.has_errors() {
        return Err(LoweringError::Broken);
    }
    gate(loaded, 0, loaded.gates.get(&0).ok_or(LoweringError::Broken)?)
}

/// The model of a gate in a file.
fn gate(loaded: &LoadedSpec, file: usize, written: &ast::GateSpec) -> Result<Arc<Gate>, LoweringError> {
    let path = loaded
        .gates
        .contains_key(&file)
        .then(|| loaded.sources.get(file).map(|source| source.path().to_owned()))
        .flatten();
    let setting = written.provider_config.as_ref().ok_or(LoweringError::Broken)?;
    let extract = written.extract.as_ref();
    let extract = extract.map(|path| BoundedJsonPath::parse(&path.value.0)).transpose();
    let promoted = written.promote_to_policy.as_ref().is_some_and(|promoted| promoted.value);
    let lane = match (setting, &written.lane) {
        (GateProviderConfig::Llm(_), _) if !promoted => GateLane::Quality,
        (GateProviderConfig::Llm(_), _) | (_, None) => GateLane::Policy,
        (_, Some(lane)) => lane.value,
    };
    Ok(Arc::new(Gate {
        id: written.id.value.clone(),
        title: written.title.clone(),
        on: written.on.value,
        lane,
        provider: provider(setting, written, promoted, path.as_deref())?,
        extract: extract.map_err(|_| LoweringError::Broken)?,
        on_block: written.on_block.as_ref().map(|name| name.value.to_string()),
        escalations: escalations(loaded, file, &written.escalation),
        approval: needs(written.approval.as_ref()),
        path,
    }))
}

fn provider(
    provider_config: &GateProviderConfig,
    written: &ast::GateSpec,
    promoted: bool,
    path: Option<&str>,
) -> Result<GateProvider, LoweringError> {
    Ok(match provider_config {
        GateProviderConfig::Predicate(rule) => GateProvider::Predicate(predicate(rule)),
        GateProviderConfig::Guardrail(config) => GateProvider::Guardrail(Guardrail {
            detect: config.detect.iter().map(|name| name.value.clone()).collect(),
            on_find: config.on_find,
        }),
        GateProviderConfig::Llm(prompt) => GateProvider::Llm(LlmJudge {
            prompt: prompt.clone().unwrap_or_else(|| written.prose.clone()),
            promote_to_policy: promoted,
        }),
        GateProviderConfig::Script(then) => GateProvider::Script(Box::new(GateScript {
            probe: match (&written.run, &written.exec) {
                (Some(text), _) => CheckProbe::Run(script(&text.value, written.shell.as_deref())),
                (None, Some(argv)) => CheckProbe::Exec(argv.value.clone()),
                (None, None) => return Err(LoweringError::Broken),
            },
            expect: written.expect.as_deref().map(expect).unwrap_or_default(),
            then: then.as_ref().map(predicate),
            env: env(&written.env),
            cwd: path.and_then(|path| path.rsplit_once('/')).map(|(folder, _)| folder.to_owned()),
            timeout: (written.timeout.as_ref()).map_or(TIMEOUT, |period| period.value.0),
        })),
    })
}

fn predicate(rule: &PredicateRule) -> GatePredicate {
    match rule {
        PredicateRule::NumericRange(config) => GatePredicate::NumericRange {
            block_outside: config.block_outside.as_ref().map(range),
            auto_approve: config.auto_approve.as_ref().map(range),
            require_approval: config.require_approval.as_ref().map(range),
            clamp: config.clamp.as_ref().map(|clamp| range(&clamp.value)),
        },
        PredicateRule::StringMatch(config) => GatePredicate::StringMatch {
            allowed: config.allowed_values.clone(),
            approval: config.approval_values.clone(),
        },
        PredicateRule::Regex(config) => GatePredicate::Regex(config.pattern.0.clone()),
        PredicateRule::FileValid(config) => GatePredicate::FileValid {
            permitted: config.permitted.iter().map(|path| path.value.0.clone()).collect(),
            max_size_bytes: config.max_size.as_ref().map(|size| size.0),
        },
        PredicateRule::ApprovalAlways => GatePredicate::ApprovalAlways,
        PredicateRule::JsonPath(config) => GatePredicate::JsonPath(config.json.0.iter().map(json).collect()),
    }
}

fn range(written: &ast::PredicateRangeSpec) -> PredicateRange {
    PredicateRange { min: written.min, max: written.max }
}

/// The escalations for blocks, by name, as a file declares them.
pub(super) fn escalations(
    loaded: &LoadedSpec,
    file: usize,
    entries: &OrderedEntries<Name, ast::EscalationSpec>,
) -> Vec<Escalation> {
    let lowered = |(name, escalation): &(Spanned<Name>, ast::EscalationSpec)| Escalation {
        name: name.value.to_string(),
        action: escalation.action.value,
        message: escalation.message.clone(),
        max_retries: escalation.max_retries.as_ref().map_or(1, |most| most.value),
        fallback: escalation.fallback.as_ref().map(|name| name.value.to_string()),
        queue: escalation.queue.clone(),
        rephrase: escalation.rephrase.clone(),
        plan: (escalation.plan.as_ref()).and_then(|plan| loaded.resolve(file, &plan.value)),
    };
    entries.iter().map(lowered).collect()
}

pub(super) fn needs(written: Option<&ast::ApprovalNeedsSpec>) -> ApprovalRequirement {
    let Some(written) = written else {
        return ApprovalRequirement::default();
    };
    ApprovalRequirement {
        required: written.required.as_ref().map(|count| count.value),
        approvers: names(&written.approvers),
        timeout: written.timeout.as_ref().map(|period| period.value.0),
        escalate_to: names(&written.escalate_to),
    }
}

fn names(written: &[Spanned<String>]) -> Vec<String> {
    written.iter().map(|name| name.value.clone()).collect()
}
