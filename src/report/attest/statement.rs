use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::predicate::DigestSet;
use super::rounds;
use super::{
    AttemptSaid, File, PlanSaid, Predicate, RunSaid, StaleSaid, StepSaid, Text, VerdictSaid,
};
use crate::digest::Digest;
use crate::machine::{Artifact, Attempt, Baseline, Event, Exit, Fact, Place, Stale, Verdict};
use crate::model::Plan;
use crate::name::{Name, PlanId};
use crate::repeat::definition;
use crate::report::record::Record;
use crate::seal::canonical;
use crate::store::{RunState, StepRow};

/// What the text in an envelope is.
pub const PAYLOAD: &str = "application/vnd.in-toto+json";

/// The type of statements.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// The type of predicates that are made here.
pub const PREDICATE: &str = "urn:wf:attestation:run:v1";

/// An in-toto statement about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    /// `https://in-toto.io/Statement/v1`.
    #[serde(rename = "_type")]
    pub kind: String,
    /// The files that the run left; if it left none, the run itself by the hash of its last event.
    pub subject: Vec<Subject>,
    /// `urn:wf:attestation:run:v1`.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// What is said.
    pub predicate: Predicate,
}

/// What a statement is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// Its name: the path of a file, relative to the workspace.
    pub name: String,
    /// Its digest, by the name of the algorithm.
    pub digest: DigestSet,
}

/// What is known of a run that ended.
pub struct Told<'a> {
    /// The run, and those nested in it.
    pub record: &'a Record,
    /// The plan that it went by.
    pub plan: &'a Plan,
    /// Its events.
    pub events: &'a [(u64, Event)],
    /// The texts that it went by.
    pub sources: &'a [(String, String)],
    /// The hash of its last event.
    pub head: Digest,
    /// The results whose files changed since they were checked, as seen now.
    pub stale: Vec<Stale>,
    /// What is known of the runs nested in it, each with its attempt.
    pub nested: Vec<(String, Told<'a>)>,
}

/// The statement about a run that ended; `None` if it has not, or its record is not whole.
pub fn statement(told: &Told<'_>, wf: &str) -> Option<Statement> {
    let run = said(told, None)?;
    let mut left = BTreeMap::new();
    collect(&run, &mut left);
    let subject = |(name, digest): (String, Digest)| Subject {
        name,
        digest: DigestSet::from([("sha256".into(), digest)]),
    };
    if left.is_empty() {
        left.insert(format!("run:{}", run.id), run.head);
    }
    let mut stale = stale(told);
    stale.sort();
    stale.dedup();
    Some(Statement {
        kind: STATEMENT.into(),
        subject: left.into_iter().map(subject).collect(),
        predicate_type: PREDICATE.into(),
        predicate: Predicate {
            wf: wf.into(),
            run,
            baseline: baseline(told.events),
            stale,
        },
    })
}

impl Statement {
    /// Whether it is one that is made here, and not about something else.
    pub fn is_ours(&self) -> bool {
        self.kind == STATEMENT && self.predicate_type == PREDICATE
    }

    /// The statement as text of which there is only one.
    pub fn text(&self) -> String {
        canonical(&json!(self))
    }

    /// Reads a statement, of this `wf` or of another; fields that it does not know are ignored, as
    /// in-toto demands.
    pub fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}

/// The files that the last attempts of successful steps left, by name. A later step that leaves a
/// file of the same name counts.
fn collect(run: &RunSaid, left: &mut BTreeMap<String, Digest>) {
    for nested in &run.nested {
        collect(nested, left);
    }
    for step in &run.steps {
        if step.state == crate::machine::StepState::Succeeded {
            let last = step.attempts.last();
            let files = last.into_iter().flat_map(|attempt| &attempt.artifacts);
            left.extend(files.map(|file| (file.path.clone(), file.digest)));
        }
    }
}

fn baseline(events: &[(u64, Event)]) -> Option<Baseline> {
    events.iter().find_map(|(_, event)| match &event.fact {
        Fact::BaselineTaken(baseline) => Some(*baseline),
        _ => None,
    })
}

/// What is stale, as recorded and as seen now.
fn stale(told: &Told<'_>) -> Vec<StaleSaid> {
    let recorded = told
        .events
        .iter()
        .filter_map(|(_, event)| match &event.fact {
            Fact::EvidenceStale(stale) => Some(stale),
            _ => None,
        });
    let own = recorded.chain(&told.stale).map(|stale| StaleSaid {
        run: told.record.run.id.clone(),
        step: stale.place.step.clone(),
        item: stale.place.item,
        path: stale.path.clone(),
    });
    let nested = told.nested.iter().flat_map(|(_, told)| stale(told));
    own.chain(nested).collect()
}

fn said(told: &Told<'_>, nested_in: Option<&str>) -> Option<RunSaid> {
    let row = &told.record.run;
    let RunState::Ended(outcome) = row.state else {
        return None;
    };
    let (attempts, ways) = (attempts(told.events), rounds::ways(told.events));
    let steps = told
        .record
        .steps
        .iter()
        .map(|row| step((told.plan, &ways), row, &attempts));
    let own = rounds::criteria(told.events).into_iter().map(verdict);
    let nested = told
        .nested
        .iter()
        .map(|(attempt, told)| said(told, Some(attempt)));
    Some(RunSaid {
        id: row.id.clone(),
        nested_in: nested_in.map(str::to_owned),
        retry_of: row.retry_of.clone(),
        plan: plan(&row.plan, &row.path, told.sources)?,
        params: digest(&json!(row.params)),
        started: row.created,
        ended: row.ended?,
        outcome,
        standing: row.standing,
        accepted: row.accepted,
        tally: row.tally,
        steps: steps.collect::<Option<Vec<_>>>()?,
        criteria: own.collect(),
        head: told.head,
        nested: nested.collect::<Option<Vec<_>>>()?,
    })
}

fn plan(id: &str, path: &str, sources: &[(String, String)]) -> Option<PlanSaid> {
    let text = |(path, text): &(String, String)| Text {
        path: path.clone(),
        digest: Digest::of(text.as_bytes()),
    };
    let sources: Vec<Text> = sources.iter().map(text).collect();
    Some(PlanSaid {
        id: PlanId::parse(id).ok()?,
        path: path.to_owned(),
        digest: digest(&json!(sources)),
        sources,
    })
}

fn step(
    (plan, ways): (&Plan, &BTreeMap<Name, Name>),
    row: &StepRow,
    attempts: &BTreeMap<Place, BTreeMap<u32, AttemptSaid>>,
) -> Option<StepSaid> {
    let place = Place {
        step: row.step.clone(),
        item: row.item,
    };
    let ix = plan.find(row.step.as_str())?;
    let own = attempts.get(&place).into_iter();
    Some(StepSaid {
        step: row.step.clone(),
        item: row.item,
        key: row.item_key.clone(),
        definition: digest(&definition(plan, plan.step(ix))),
        way: ways.get(&row.step).cloned(),
        state: row.state,
        standing: row.standing,
        kept_from: row.kept_from.clone(),
        cached: row.cached.clone(),
        attempts: own.flat_map(BTreeMap::values).cloned().collect(),
    })
}

/// The attempts of a run, place by place.
fn attempts(events: &[(u64, Event)]) -> BTreeMap<Place, BTreeMap<u32, AttemptSaid>> {
    let mut all: BTreeMap<Place, BTreeMap<u32, AttemptSaid>> = BTreeMap::new();
    let mut of = |attempt: &Attempt, say: &dyn Fn(&mut AttemptSaid)| {
        let place = all.entry(attempt.place.clone()).or_default();
        let said = place.entry(attempt.attempt).or_default();
        said.attempt = attempt.attempt;
        say(said);
    };
    for (_, event) in events {
        match &event.fact {
            Fact::AttemptStarted(attempt) => of(attempt, &|_| {}),
            Fact::CacheHit { place, found } => {
                let attempt = Attempt {
                    place: place.clone(),
                    attempt: 0,
                };
                of(&attempt, &|said| said.artifacts = files(&found.artifacts));
            }
            Fact::AttemptEnded {
                attempt,
                how,
                class,
                artifacts,
                ..
            } => of(attempt, &|said| {
                said.exit = Some(exit(how));
                said.class = *class;
                said.artifacts = files(artifacts);
            }),
            Fact::EvidenceTaken { attempt, files } => {
                of(attempt, &|said| said.evidence = self::files(files));
            }
            Fact::CriterionJudged {
                attempt: Some(attempt),
                verdict,
            } => of(attempt, &|said| said.verdicts.push(self::verdict(verdict))),
            _ => {}
        }
    }
    all
}

fn files(files: &[Artifact]) -> Vec<File> {
    let file = |file: &Artifact| File {
        path: file.path.clone(),
        digest: file.digest,
    };
    files.iter().map(file).collect()
}

fn verdict(verdict: &Verdict) -> VerdictSaid {
    VerdictSaid {
        criterion: verdict.name.clone(),
        phase: verdict.phase,
        ruling: verdict.ruling,
        class: verdict.class,
        mode: verdict.mode,
        guards: verdict.guards.clone(),
        hidden: verdict.hidden.clone(),
        evidence: Digest::of(verdict.evidence.as_bytes()),
    }
}

/// How work ended, without words that could say more.
fn exit(exit: &Exit) -> String {
    match exit {
        Exit::Code { code } => format!("code {code}"),
        Exit::Signal { signal } => format!("signal {signal}"),
        Exit::Done => "done".into(),
        Exit::TimedOut => "timed_out".into(),
        Exit::Cancelled => "cancelled".into(),
        Exit::Unable { .. } => "unable".into(),
        Exit::Interrupted => "interrupted".into(),
    }
}

fn digest(value: &Value) -> Digest {
    Digest::of(canonical(value).as_bytes())
}
