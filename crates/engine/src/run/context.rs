//! A run, as the units that work for it share it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use serde_json::Value;

use wf_base::{
    name::{Name, SessionName},
    redact::SecretMask,
};
use wf_core::{
    machine::{AttemptUsage, Event, EventKind, GatePoint, RunApproval, TaskId},
    observe::RunRef,
};
use wf_exec::{
    cached_files::EarlierFiles, check::CheckEnvironment, environment::idempotency_key, pinned::PinnedFiles,
    secret::PlanSecrets, view::WorkspaceView, worktree::AttemptWorktree,
};
use wf_gateway::cassette::Cassette;
use wf_model::{JsonObject, Plan};
use wf_store::{CacheLookup, FencingToken, StoreError};

use super::{account::RunAccount, evidence_record::EvidenceRecord, result_files::ResultFiles};
use crate::{agent::LiveAgents, reuse::RepeatedRun, session::EngineSession};

/// The right to work on a run and on what is nested in it, and its earlier holders.
#[derive(Clone, Debug)]
pub(crate) struct RunOwnership {
    /// The token that events are written under.
    pub(crate) token: FencingToken,
    /// The supervisors of earlier engines; `None` if the machine was restarted since, so their journals may have lost
    /// their last lines.
    pub(crate) supervisors: Option<Arc<[String]>>,
}

/// The run to be worked on.
pub(crate) struct RunInputs {
    /// The part the idempotency keys of its tasks share: the first run of its lineage, or the key of the task it is
    /// nested in.
    pub(crate) key_scope: String,
    pub(crate) plan: Arc<Plan>,
    pub(crate) params: JsonObject,
    /// The session of the workspace it belongs to.
    pub(crate) session_name: Option<SessionName>,
    /// The run it repeats, and the results reused from it.
    pub(crate) repeated_run: Option<RepeatedRun>,
    /// The workspace as checks see it; `None`: nothing of the outermost run's plan is checked.
    pub(crate) view: Option<Arc<WorkspaceView>>,
    /// The approved files, if the outermost run has an approval.
    pub(crate) pinned_files: Option<Arc<PinnedFiles>>,
    /// The approval of the run, if it is the outermost.
    pub(crate) approved: Option<Arc<RunApproval>>,
    /// The recorded evidence of its tasks.
    pub(crate) evidence: EvidenceRecord,
    /// The account of the run it is nested in.
    pub(crate) outer_account: Option<RunAccount>,
    /// True if a run it is nested in has rounds.
    pub(crate) learns: bool,
}

/// One run, as seen by the units that work for it.
pub(crate) struct RunContext {
    pub(crate) session: Arc<EngineSession>,
    pub(crate) run_ref: RunRef,
    /// The part the idempotency keys of its tasks share.
    pub(crate) key_scope: String,
    /// The plan as written.
    pub(crate) plan: Arc<Plan>,
    /// The plan as it is carried out now: steps may use alternatives.
    current: Mutex<Arc<Plan>>,
    params: JsonObject,
    /// The parameters, if gates rewrote them.
    rewritten: OnceLock<JsonObject>,
    /// The session of the workspace it belongs to.
    pub(crate) session_name: Option<SessionName>,
    /// The right it is worked on under.
    pub(crate) ownership: RunOwnership,
    /// The run it repeats, and the results reused from it.
    pub(crate) repeated_run: Option<RepeatedRun>,
    /// The run's folder: logs and output files.
    pub(crate) dir: PathBuf,
    pub(crate) secrets: PlanSecrets,
    mask: Mutex<(usize, SecretMask)>,
    /// The cache lookups, and the globs of what is written, by task.
    keys: Mutex<BTreeMap<TaskId, KnownKey>>,
    /// The workspace as checks see it; `None`: nothing of the outermost run's plan is checked.
    pub(crate) view: Option<Arc<WorkspaceView>>,
    /// The approved files, if the outermost run has an approval.
    pub(crate) pinned_files: Option<Arc<PinnedFiles>>,
    /// The approval of the outermost run.
    pub(crate) approved: Option<Arc<RunApproval>>,
    pub(super) files: Mutex<ResultFiles>,
    /// The resources it has used, as far as that is durable, and those of the runs around it.
    pub(crate) account: RunAccount,
    /// True if it has rounds, or a run around it: memory learns from the calls in it.
    pub(crate) learns: bool,
    /// Held while a worktree is made, or something is merged: one at a time.
    pub(crate) merging: tokio::sync::Mutex<()>,
    /// Its agents at work.
    pub(crate) agents: LiveAgents,
    /// The recorded exchanges with models of the outermost run.
    pub(crate) cassette: Arc<Cassette>,
}

/// The key the result of a task was looked for.
#[derive(Clone, Debug)]
pub(crate) struct KnownKey {
    pub(crate) lookup: CacheLookup,
    /// The globs of the task's products, as part of the key.
    pub(crate) globs: Vec<String>,
    /// The files they matched before the task began.
    pub(crate) earlier: EarlierFiles,
}

impl RunContext {
    pub(crate) fn new(
        session: Arc<EngineSession>,
        run_ref: RunRef,
        inputs: RunInputs,
        ownership: RunOwnership,
    ) -> Result<Arc<Self>, StoreError> {
        let RunInputs {
            key_scope,
            plan,
            params,
            session_name,
            repeated_run: past,
            view,
            pinned_files: pins,
            approved,
            evidence,
            outer_account: around,
            learns,
        } = inputs;
        let dir = session.store.folder().create_run(&run_ref.id)?;
        let declared = plan.parts().secrets.clone();
        let host = Arc::clone(&session.host);
        let (state, executor) = (session.store.folder().path(), session.executor.clone());
        let secrets = PlanSecrets::new(declared, host, &session.root, state, executor);
        let secrets = secrets.with(session.shared.redactions.clone());
        let secrets = secrets.pinned(pins.clone()).recorded_in(&dir);
        let mask = Mutex::new((0, SecretMask::default()));
        let keys = Mutex::default();
        let exchanges = session.store.folder().exchanges(&ownership.token.run);
        let exchanges = Arc::new(Cassette::of_run(exchanges));
        let files = Mutex::new(ResultFiles { evidence, ..ResultFiles::default() });
        let account = RunAccount::open(&run_ref.id, around.as_ref(), session.shared.ledgers.get());
        let learns = learns || plan.parts().replan.is_some();
        Ok(Arc::new(Self {
            session,
            learns,
            account,
            run_ref,
            key_scope,
            current: Mutex::new(Arc::clone(&plan)),
            plan,
            params,
            rewritten: OnceLock::new(),
            session_name,
            ownership,
            repeated_run: past,
            dir,
            secrets,
            mask,
            keys,
            view,
            pinned_files: pins,
            approved,
            files,
            merging: tokio::sync::Mutex::default(),
            agents: LiveAgents::default(),
            cassette: exchanges,
        }))
    }

    /// Returns the resolved parameters, as gates let them in.
    pub(crate) fn params(&self) -> &JsonObject {
        self.rewritten.get().unwrap_or(&self.params)
    }

    /// Returns the resolved parameters as they were given.
    pub(crate) fn given_params(&self) -> &JsonObject {
        &self.params
    }

    /// Returns the plan as it is carried out now.
    pub(crate) fn current_plan(&self) -> Arc<Plan> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Notes the alternatives in use from now on.
    pub(crate) fn note_plan(&self, plan: &Arc<Plan>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::clone(plan);
    }

    /// Returns the resources it has used, for the run it is nested in.
    pub(crate) fn usage(&self) -> AttemptUsage {
        self.account.usage()
    }

    /// Notes the values that gates let in, the resources used and the evidence of results.
    pub(crate) fn note_event(&self, event: &Event) {
        self.account.apply(event);
        self.session.shared.left.note_event(event);
        let mut files = self.files();
        files.evidence.apply(&event.fact);
        if let EventKind::StepExpanded { step, items } = &event.fact {
            files.items.insert(step.clone(), items.clone());
            files.shared.remove(step);
        }
        drop(files);
        if let EventKind::GatesPassed { point: GatePoint::Start, rewritten, .. } = &event.fact
            && let Some(params) = rewritten.get("message").and_then(Value::as_object)
        {
            let _ = self.rewritten.set(params.clone());
        }
    }

    /// Returns the time when it began.
    pub(crate) fn started(&self) -> Option<wf_base::time::Moment> {
        self.account.started()
    }

    /// Returns the mask of every secret read so far.
    pub(crate) async fn mask(&self) -> SecretMask {
        let redactions = self.secrets.redactions().await;
        let mut current = self.mask.lock().unwrap_or_else(PoisonError::into_inner);
        let count = redactions.secrets.len() + redactions.fingerprints.len();
        if current.0 != count {
            *current = (count, redactions.mask());
        }
        current.1.clone()
    }

    /// Returns the surroundings where checks run; they see everything, or a worktree in its place.
    pub(crate) async fn check_environment(&self, worktree: Option<&AttemptWorktree>) -> CheckEnvironment {
        let session = &self.session;
        let sandboxes = session.sandboxes.clone().map(|sandboxes| match worktree {
            Some(worktree) => Arc::new(sandboxes.of_worktree(&worktree.folder())),
            None => sandboxes,
        });
        CheckEnvironment {
            executor: session.executor.clone(),
            root: session.root.clone(),
            host: Arc::clone(&session.host),
            mask: self.mask().await,
            clock: Arc::clone(&session.clock),
            grace: self.plan.parts().policy.grace,
            sandboxes,
            pinned_files: self.pinned_files.clone(),
            whiteouts: Vec::new(),
            copies: Vec::new(),
            reports: session.store.folder().reports(),
            prior: Arc::default(),
            precedes_work: false,
            params: self.params().clone(),
        }
    }

    /// Returns the idempotency key of a task, and of what is nested in it under a name.
    pub(crate) fn idempotency_key(&self, task: &TaskId, inside: Option<&Name>) -> String {
        let files = self.files();
        let item = task.item.and_then(|item| files.items.get(&task.step)?.get(item as usize));
        let key = idempotency_key(&self.key_scope, task.step.as_str(), item.map(|item| item.key.as_str()));
        inside.map_or_else(|| key.clone(), |name| idempotency_key(&key, name.as_str(), None))
    }

    /// Notes the cache key of a task, for when its result is known.
    pub(crate) fn remember_key(&self, key: KnownKey) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.insert(key.lookup.task_id.clone(), key);
    }

    /// Forgets the keys of reopened steps: they use other alternatives or other inputs, and their
    /// results are not those looked for.
    pub(crate) fn forget_keys(&self, steps: &[Name]) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|place, _| !steps.contains(&place.step));
    }

    /// Returns the cache lookup of a task.
    pub(crate) fn known_key(&self, task_id: &TaskId) -> Option<KnownKey> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.get(task_id).cloned()
    }
}
