//! The rounds of the controller as far as an attestation needs them.

use super::{
    AttestationPredicate, AttestedAttempt, AttestedFile, AttestedPlan, AttestedRun, AttestedStaleResult,
    AttestedStep, AttestedText, AttestedVerdict, predicate::DigestSet,
};
use crate::record::RunRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wf_base::{
    digest::Sha256Digest,
    name::{Name, PlanId},
};
use wf_core::machine::{
    AlternativeSwitch, Artifact, Attempt, Baseline, CheckVerdict, Event, EventKind, StaleFile, TaskId,
    WorkExit,
};
use wf_model::{Plan, definition};
use wf_sign::canonical;
use wf_store::{RunState, StepRow};

/// The media type of the text in an envelope.
pub const PAYLOAD: &str = "application/vnd.in-toto+json";

/// The type of statements.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// The type of the predicates made here.
pub const PREDICATE: &str = "urn:wf:attestation:run:v1";

/// An in-toto statement about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttestationStatement {
    /// `https://in-toto.io/Statement/v1`.
    #[serde(rename = "_type")]
    pub kind: String,
    /// The files that the run left; if it left none, the run itself by the hash of its last event.
    pub subject: Vec<AttestationSubject>,
    /// `urn:wf:attestation:run:v1`.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// The content of the statement.
    pub predicate: AttestationPredicate,
}

/// The subject of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttestationSubject {
    /// Its name: the path of a file, relative to the workspace.
    pub name: String,
    /// Its digest, by the name of the algorithm.
    pub digest: DigestSet,
}

/// The facts about a run that ended.
pub struct AttestationInput<'a> {
    /// The run, and those nested in it.
    pub record: &'a RunRecord,
    /// Its plan.
    pub plan: &'a Plan,
    /// Its events.
    pub events: &'a [(u64, Event)],
    /// The texts it used.
    pub sources: &'a [(String, String)],
    /// The hash of its last event.
    pub head: Sha256Digest,
    /// The results whose files changed since they were checked, as seen now.
    pub stale: Vec<StaleFile>,
    /// The facts about the runs nested in it, each with its attempt.
    pub nested: Vec<(String, AttestationInput<'a>)>,
}

/// Returns the statement about a run; `None` if it has not ended, or its record is incomplete.
pub fn attestation_statement(input: &AttestationInput<'_>, wf: &str) -> Option<AttestationStatement> {
    let run = attested_run(input, None)?;
    let mut left = BTreeMap::new();
    collect(&run, &mut left);
    let subject = |(name, digest): (String, Sha256Digest)| AttestationSubject {
        name,
        digest: DigestSet::from([("sha256".into(), digest)]),
    };
    if left.is_empty() {
        left.insert(format!("run:{}", run.id), run.head);
    }
    let mut stale = stale_results(input);
    stale.sort();
    stale.dedup();
    Some(AttestationStatement {
        kind: STATEMENT.into(),
        subject: left.into_iter().map(subject).collect(),
        predicate_type: PREDICATE.into(),
        predicate: AttestationPredicate { wf: wf.into(), run, baseline: baseline(input.events), stale },
    })
}

impl AttestationStatement {
    /// True if it is a statement of the type made here.
    pub fn is_ours(&self) -> bool {
        self.kind == STATEMENT && self.predicate_type == PREDICATE
    }

    /// Returns the statement as text, of which there is exactly one form.
    pub fn text(&self) -> String {
        canonical(&json!(self))
    }

    /// Reads a statement of this or another version of `wf`; unknown fields are ignored, as in-toto
    /// demands.
    pub fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}

/// Collects the files the last attempts of successful steps left, by name. Of files with the
/// same name, that of the latest step counts.
fn collect(run: &AttestedRun, left: &mut BTreeMap<String, Sha256Digest>) {
    for nested in &run.nested {
        collect(nested, left);
    }
    for step in &run.steps {
        if step.state == wf_core::machine::StepState::Succeeded {
            let last = step.attempts.last();
            let files = last.into_iter().flat_map(|attempt| &attempt.artifacts).chain(&step.artifacts);
            left.extend(files.map(|file| (file.path.clone(), file.digest)));
        }
    }
}

fn baseline(events: &[(u64, Event)]) -> Option<Baseline> {
    events.iter().find_map(|(_, event)| match &event.fact {
        EventKind::BaselineTaken(baseline) => Some(baseline.clone()),
        _ => None,
    })
}

/// The stale results, as recorded and as seen now.
fn stale_results(input: &AttestationInput<'_>) -> Vec<AttestedStaleResult> {
    let recorded = input.events.iter().filter_map(|(_, event)| match &event.fact {
        EventKind::EvidenceStale(stale) => Some(stale),
        _ => None,
    });
    let own = recorded.chain(&input.stale).map(|stale| AttestedStaleResult {
        run: input.record.run.id.clone(),
        step: stale.task_id.step.clone(),
        item: stale.task_id.item,
        path: stale.path.clone(),
    });
    let nested = input.nested.iter().flat_map(|(_, attestation_input)| stale_results(attestation_input));
    own.chain(nested).collect()
}

fn attested_run(input: &AttestationInput<'_>, nested_in: Option<&str>) -> Option<AttestedRun> {
    let row = &input.record.run;
    let RunState::Ended(outcome) = row.state else {
        return None;
    };
    let (attempts, ways) = (attested_attempts(input.events), last_alternatives(input.events));
    let steps = input.record.steps.iter().map(|row| {
        let files = if row.reused_from.is_some() { reused_files(input.record, row) } else { Vec::new() };
        Some(AttestedStep { artifacts: files, ..attested_step(input.plan, &ways, row, &attempts)? })
    });
    let own = last_criteria(input.events).into_iter().map(attested_verdict);
    let nested = input
        .nested
        .iter()
        .map(|(attempt, attestation_input)| attested_run(attestation_input, Some(attempt)));
    Some(AttestedRun {
        id: row.id.clone(),
        nested_in: nested_in.map(str::to_owned),
        retry_of: row.retry_of.clone(),
        plan: attested_plan(&row.plan, &row.path, input.sources)?,
        params: digest(&json!(row.params)),
        started: row.created,
        ended: row.ended?,
        outcome,
        standing: row.standing,
        accepted: row.accepted,
        counts: row.counts,
        steps: steps.collect::<Option<Vec<_>>>()?,
        criteria: own.collect(),
        head: input.head,
        nested: nested.collect::<Option<Vec<_>>>()?,
    })
}

fn attested_plan(id: &str, path: &str, sources: &[(String, String)]) -> Option<AttestedPlan> {
    let text = |(path, text): &(String, String)| AttestedText {
        path: path.clone(),
        digest: Sha256Digest::of_bytes(text.as_bytes()),
    };
    let sources: Vec<AttestedText> = sources.iter().map(text).collect();
    Some(AttestedPlan {
        id: PlanId::parse(id).ok()?,
        path: path.to_owned(),
        digest: digest(&json!(sources)),
        sources,
    })
}

fn attested_step(
    plan: &Plan,
    ways: &BTreeMap<Name, Name>,
    row: &StepRow,
    attempts: &BTreeMap<TaskId, BTreeMap<u32, AttestedAttempt>>,
) -> Option<AttestedStep> {
    let place = TaskId { step: row.step.clone(), item: row.item };
    let ix = plan.find(row.step.as_str())?;
    let own = attempts.get(&place).into_iter();
    Some(AttestedStep {
        step: row.step.clone(),
        item: row.item,
        key: row.item_key.clone(),
        definition: digest(&definition::of_step(plan, plan.step(ix))),
        way: ways.get(&row.step).cloned(),
        state: row.state,
        standing: row.standing,
        kept_from: row.reused_from.clone(),
        cached: row.cache_key.clone(),
        artifacts: Vec::new(),
        attempts: own.flat_map(BTreeMap::values).cloned().collect(),
    })
}

/// Returns the artifacts of a reused result.
fn reused_files(record: &RunRecord, row: &StepRow) -> Vec<AttestedFile> {
    let own = record.artifacts.iter().filter(|file| (&file.step, file.item) == (&row.step, row.item));
    own.map(|file| AttestedFile { path: file.artifact.path.clone(), digest: file.artifact.digest }).collect()
}

/// The attempts of a run by task.
fn attested_attempts(events: &[(u64, Event)]) -> BTreeMap<TaskId, BTreeMap<u32, AttestedAttempt>> {
    let mut attempts: BTreeMap<TaskId, BTreeMap<u32, AttestedAttempt>> = BTreeMap::new();
    let mut of = |attempt: &Attempt, say: &dyn Fn(&mut AttestedAttempt)| {
        let place = attempts.entry(attempt.task_id.clone()).or_default();
        let entry = place.entry(attempt.attempt).or_default();
        entry.attempt = attempt.attempt;
        say(entry);
    };
    for (_, event) in events {
        match &event.fact {
            EventKind::AttemptStarted(attempt) => of(attempt, &|_| {}),
            EventKind::CacheHit { task_id, found } => {
                let attempt = Attempt { task_id: task_id.clone(), attempt: 0 };
                of(&attempt, &|entry| entry.artifacts = files(&found.artifacts));
            }
            EventKind::AttemptEnded { attempt, how, failure_class, artifacts, .. } => of(attempt, &|entry| {
                entry.exit = Some(exit(how));
                entry.failure_class = *failure_class;
                entry.artifacts = files(artifacts);
            }),
            EventKind::EvidenceTaken { attempt, files } => {
                of(attempt, &|attested| attested.evidence = self::files(files));
            }
            EventKind::CheckCompleted { attempt: Some(attempt), verdict } => {
                of(attempt, &|attested_attempt| {
                    attested_attempt.verdicts.push(self::attested_verdict(verdict));
                });
            }
            _ => {}
        }
    }
    attempts
}

fn files(artifacts: &[Artifact]) -> Vec<AttestedFile> {
    let file = |file: &Artifact| AttestedFile { path: file.path.clone(), digest: file.digest };
    artifacts.iter().map(file).collect()
}

fn attested_verdict(verdict: &CheckVerdict) -> AttestedVerdict {
    AttestedVerdict {
        criterion: verdict.name.clone(),
        phase: verdict.phase,
        ruling: verdict.ruling,
        failure_class: verdict.failure_class,
        mode: verdict.certainty,
        isolation: verdict.isolation.clone(),
        hidden: verdict.hidden.clone(),
        changes: verdict.changes.clone(),
        changed_inputs: verdict.changed_inputs.clone(),
        is_unbounded: verdict.is_unbounded,
        evidence: Sha256Digest::of_bytes(verdict.evidence.as_bytes()),
    }
}

/// The exit of the work, without text that could reveal more.
fn exit(exit: &WorkExit) -> String {
    match exit {
        WorkExit::Code { code } => format!("code {code}"),
        WorkExit::Signal { signal } => format!("signal {signal}"),
        WorkExit::Completed => "done".into(),
        WorkExit::TimedOut => "timed_out".into(),
        WorkExit::Cancelled => "cancelled".into(),
        WorkExit::Error { .. } => "unable".into(),
        WorkExit::Denied { .. } => "denied".into(),
        WorkExit::Interrupted => "interrupted".into(),
    }
}

fn digest(value: &Value) -> Sha256Digest {
    Sha256Digest::of_bytes(canonical(value).as_bytes())
}

/// The alternative each step last used, where it was not the step as written.
pub(super) fn last_alternatives(events: &[(u64, Event)]) -> BTreeMap<Name, Name> {
    let mut ways = BTreeMap::new();
    for (_, event) in events {
        let switches: &[AlternativeSwitch] = match &event.fact {
            EventKind::RoundCompleted(round) => &round.changes,
            EventKind::MemoryApplied { changes, .. } => changes,
            _ => &[],
        };
        for change in switches {
            match &change.to {
                Some(to) => ways.insert(change.step.clone(), to.clone()),
                None => ways.remove(&change.step),
            };
        }
    }
    ways
}

/// The verdicts on the plan's own criteria in the last round.
pub(super) fn last_criteria(events: &[(u64, Event)]) -> Vec<&CheckVerdict> {
    let mut last = Vec::new();
    for (_, event) in events {
        match &event.fact {
            EventKind::CheckCompleted { attempt: None, verdict } => last.push(verdict),
            EventKind::RoundCompleted(round) if round.goes_on() => last.clear(),
            _ => {}
        }
    }
    last
}
