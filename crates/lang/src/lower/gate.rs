use std::{sync::Arc, time::Duration};

use super::{
    check::{env, script},
    plan::LoweringError,
};
use crate::{
    LoadedSpec,
    ast::{self, GateProviderConfig, GateRef, PredicateRule},
    decode::{LowerSpec, OrderedEntries},
};
use wf_base::{name::Name, source::Spanned};
use wf_model::{
    BoundedJsonPath, CheckProbe, Escalation, Gate, GateLane, GatePredicate, GateProvider, GateScript,
    LlmJudge,
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

/// The gates a plan or a step names, without those of the workspace: they apply anyway.
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
    let promoted = written.promote_to_policy.lower().unwrap_or_default();
    let lane = match (setting, &written.lane) {
        (GateProviderConfig::Llm(_), _) if !promoted => GateLane::Quality,
        (GateProviderConfig::Llm(_), _) | (_, None) => GateLane::Policy,
        (_, Some(lane)) => lane.value,
    };
    Ok(Arc::new(Gate {
        id: written.id.lower(),
        title: written.title.clone(),
        on: written.on.value,
        lane,
        provider: provider(setting, written, promoted, path.as_deref())?,
        extract: extract.map_err(|_| LoweringError::Broken)?,
        on_block: written.on_block.as_ref().map(|name| name.value.to_string()),
        escalations: escalations(loaded, file, &written.escalation),
        approval: written.approval.lower().unwrap_or_default(),
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
        GateProviderConfig::Guardrail(config) => GateProvider::Guardrail(config.lower()),
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
            expect: written.expect.lower().unwrap_or_default(),
            then: then.as_ref().map(predicate),
            env: env(&written.env),
            cwd: path.and_then(|path| path.rsplit_once('/')).map(|(folder, _)| folder.to_owned()),
            timeout: written.timeout.lower().unwrap_or(TIMEOUT),
        })),
    })
}

fn predicate(rule: &PredicateRule) -> GatePredicate {
    match rule {
        PredicateRule::NumericRange(config) => GatePredicate::NumericRange {
            block_outside: config.block_outside.lower(),
            auto_approve: config.auto_approve.lower(),
            require_approval: config.require_approval.lower(),
            clamp: config.clamp.lower(),
        },
        PredicateRule::StringMatch(config) => GatePredicate::StringMatch {
            allowed: config.allowed_values.clone(),
            approval: config.approval_values.clone(),
        },
        PredicateRule::Regex(config) => GatePredicate::Regex(config.pattern.lower()),
        PredicateRule::FileValid(config) => GatePredicate::FileValid {
            permitted: config.permitted.lower(),
            max_size_bytes: config.max_size.lower(),
        },
        PredicateRule::ApprovalAlways => GatePredicate::ApprovalAlways,
        PredicateRule::JsonPath(config) => GatePredicate::JsonPath(config.json.lower()),
    }
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
        max_retries: escalation.max_retries.lower().unwrap_or(1),
        fallback: escalation.fallback.as_ref().map(|name| name.value.to_string()),
        queue: escalation.queue.clone(),
        rephrase: escalation.rephrase.clone(),
        plan: (escalation.plan.as_ref()).and_then(|plan| loaded.resolve(file, &plan.value)),
    };
    entries.iter().map(lowered).collect()
}
