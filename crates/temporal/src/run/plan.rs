//! The plans of runs, read once in each process, and the approvers a run was started with.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use wf_app::{
    RunOptions,
    goals::DeployedPart,
    load::{SnapshotReader, collect_plan},
};
use wf_base::digest::Sha256Digest;
use wf_core::envelope;
use wf_engine::PlanReader as _;
use wf_lang::InMemoryFiles;
use wf_model::{GeneratedPlan, Plan};
use wf_sign::approval::{ApprovalRefusal, ApprovalToken, signers};

use crate::messages::{goal_order::DeployedGoalSpec, order::RunSpec};

/// The number of kept plans.
const PLANS: usize = 64;

/// The plans this process has read, by the digest of what a run is.
#[derive(Default)]
pub struct RunPlans(Mutex<BTreeMap<Sha256Digest, Arc<Plan>>>);

impl RunPlans {
    /// Returns the plan of a run; `None`: its texts contain none.
    pub fn plan(&self, digest: &Sha256Digest, spec: &RunSpec) -> Option<Arc<Plan>> {
        let read = || collect_plan(&files(spec), &spec.path, RunOptions::recorded(&spec.config));
        self.find_or_read(*digest, read)
    }

    /// Returns the plan of a part of the reconciliations of a goal; `None`: its texts contain none.
    pub fn plan_of_part(
        &self,
        digest: &Sha256Digest,
        spec: &DeployedGoalSpec,
        part: &DeployedPart,
    ) -> Option<Arc<Plan>> {
        let config = part.config.to_string();
        let key = Sha256Digest::of_parts([digest.to_string().as_bytes(), config.as_bytes()]);
        let read = || {
            let files = text_files(&spec.deployment.sources);
            collect_plan(&files, &spec.deployment.path, RunOptions::recorded(&part.config))
        };
        self.find_or_read(key, read)
    }

    fn find_or_read(
        &self,
        digest: Sha256Digest,
        read: impl FnOnce() -> Option<Arc<Plan>>,
    ) -> Option<Arc<Plan>> {
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = plans.get(&digest) {
            return Some(Arc::clone(known));
        }
        let plan = read()?;
        if plans.len() >= PLANS {
            plans.clear();
        }
        plans.insert(digest, Arc::clone(&plan));
        Some(plan)
    }
}

/// Reads a plan a run made, as the envelope of its step lets it run; `None`: the text is none.
pub fn generated_plan(
    spec: &RunSpec,
    outer_plan: &Plan,
    generated: &GeneratedPlan,
    text: &str,
) -> Option<Arc<Plan>> {
    let reader = SnapshotReader::recorded(files(spec), RunOptions::recorded(&spec.config));
    let plan = reader.read_plan(&generated.path, text).ok()?;
    envelope::bounded(&generated.envelope, outer_plan, &plan).ok()
}

/// Returns the texts a run was started with, as files.
pub fn files(spec: &RunSpec) -> InMemoryFiles {
    text_files(&spec.sources)
}

pub(crate) fn text_files(sources: &[(String, String)]) -> InMemoryFiles {
    let texts = sources.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes()));
    InMemoryFiles(texts.collect())
}

/// Checks that an answer is signed, by approvers of the run alone. What it says is checked where it is counted.
pub fn require_approver(spec: &RunSpec, token: &str) -> Result<(), ApprovalRefusal> {
    let token = ApprovalToken::parse(token)?;
    signers(&token, &spec.approvers).map(drop)
}
