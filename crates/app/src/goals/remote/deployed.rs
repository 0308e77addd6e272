//! The deployment of a goal as its workspace has it, and the acts of people on it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize as _;
use serde_json::Value;

use super::{
    deployment::{DeployedGoal, GoalAct},
    goal_backend::{GoalBackend, PreparedGoal},
    sync::SyncExtent,
    sync_lock::{is_synced, lock_sync},
};
use crate::{
    Caller, CliExitCode, CommandError, Host, Workspace,
    goals::{
        FileLock,
        cycle::ObserverFactory,
        find::{GoalSource, find_path},
    },
    specs::load::{LoadedPlan, configuration},
};
use wf_base::{
    name::{PlanId, RunId},
    remedy::UserAction,
};
use wf_core::observe::RunObserver;
use wf_lang::DiskFiles;
use wf_report::follow::CombinedObserver;
use wf_store::{GoalRow, LedgerGoal, Store, StoreDurability, StoreError, StoreReader, allow_no_state};

pub fn read_deployment(recorded: &Value) -> Result<DeployedGoal, CommandError> {
    DeployedGoal::deserialize(recorded).map_err(|error| {
        let message = format!("the deployment of a goal cannot be read: {error}");
        CommandError::new(CliExitCode::State, message).hint("use the wf version that deployed it")
    })
}

/// Returns the deployed goals, as far as they can be read.
pub fn deployed_goals(host: &Host) -> Vec<(PlanId, DeployedGoal)> {
    let rows = StoreReader::open(&host.workspace().state).and_then(|reader| reader.goals().all());
    let deployed = |row: GoalRow| {
        let deployed = read_deployment(row.deployment.as_ref()?).ok()?;
        Some((row.id, deployed))
    };
    rows.unwrap_or_default().into_iter().filter_map(deployed).collect()
}

/// Refuses a deployed goal, for acts of its workspace alone.
pub fn check_not_deployed(reader: &StoreReader, goal: &PlanId) -> Result<(), CommandError> {
    match reader.goals().deployment(goal)? {
        None => Ok(()),
        Some(_) => Err(StoreError::Deployed(goal.clone()).into()),
    }
}

/// Returns the account of a deployed goal by its id or its file; `None`: it is not deployed.
fn find_deployed(host: &Host, name: &str) -> Result<Option<(GoalRow, DeployedGoal)>, CommandError> {
    let workspace = host.workspace();
    let reader = allow_no_state(StoreReader::open(&workspace.state))?;
    let mut rows = reader.map_or_else(|| Ok(Vec::new()), |reader| reader.goals().all())?;
    rows.retain(|row| row.deployment.is_some());
    if rows.is_empty() {
        return Ok(None);
    }
    // Its file may be broken, or gone.
    let path = find_path(host, &workspace, &GoalSource::Disk, name).ok();
    let named = rows.iter().position(|row| row.id.as_str() == name);
    let named = named.or_else(|| rows.iter().position(|row| Some(&row.path) == path.as_ref()));
    let row = named.map(|at| rows.swap_remove(at));
    let deployment = row.and_then(|row| Some((read_deployment(row.deployment.as_ref()?), row)));
    deployment.map(|(deployed, row)| Ok((row, deployed?))).transpose()
}

/// Does the same; refused if the goal is not deployed.
pub(super) fn require_deployed(host: &Host, name: &str) -> Result<(GoalRow, DeployedGoal), CommandError> {
    find_deployed(host, name)?.ok_or_else(|| not_deployed(name))
}

fn not_deployed(name: &str) -> CommandError {
    CommandError::new(CliExitCode::Usage, format!("{name} is not deployed"))
        .remedy("deploy it: ", UserAction::DeployGoal(name.to_owned()))
}

/// A deployed goal, for acts of people.
pub(crate) struct OperatedDeployment<'a> {
    caller: &'a dyn Caller,
    workspace: Workspace,
    row: GoalRow,
    deployed: DeployedGoal,
    backend: GoalBackend,
}

impl<'a> OperatedDeployment<'a> {
    /// Finds a goal by its id or its file; refused if it is not deployed.
    pub(super) fn find(caller: &'a dyn Caller, name: &str) -> Result<Self, CommandError> {
        Self::find_any(caller, name)?.ok_or_else(|| not_deployed(name))
    }

    /// Finds a goal by its id or its file; `None`: it is not deployed.
    pub(crate) fn find_any(caller: &'a dyn Caller, name: &str) -> Result<Option<Self>, CommandError> {
        let Some((row, deployed)) = find_deployed(caller.host(), name)? else { return Ok(None) };
        let workspace = caller.host().workspace();
        let (config, _) = configuration(caller, &DiskFiles::new(&workspace.root), &workspace)?;
        let backend = GoalBackend::of(caller.host(), &config, &workspace, &deployed.backend)?;
        Ok(Some(Self { caller, workspace, row, deployed, backend }))
    }

    pub(crate) fn goal(&self) -> &PlanId {
        &self.row.id
    }

    /// Returns the name of the backend.
    pub(crate) fn backend(&self) -> &str {
        self.backend.name()
    }

    /// Returns the state folder.
    pub(super) fn state(&self) -> &Path {
        &self.workspace.state
    }

    /// True if it is paused, as far as that is recorded.
    pub(crate) fn is_paused(&self) -> bool {
        self.row.paused.is_some()
    }

    /// Refuses a paused goal: nothing would come of a request.
    pub(crate) fn require_active(&self) -> Result<(), CommandError> {
        let goal = self.goal();
        if !self.is_paused() {
            return Ok(());
        }
        Err(CommandError::new(CliExitCode::Usage, format!("{goal} is paused"))
            .remedy("resume it first: ", UserAction::ResumeGoal(goal.clone())))
    }

    /// Returns the goal with what has happened there recorded here; another process may be about to do that.
    pub(super) fn synced(
        self,
        extent: SyncExtent,
        observe: ObserverFactory<'_>,
    ) -> Result<Self, CommandError> {
        let (caller, goal) = (self.caller, self.goal().clone());
        if !is_synced(&self.workspace.state, &goal) {
            DeployedAccount::of(self)?.sync(extent, observe)?;
        }
        Self::find(caller, goal.as_str())
    }

    /// Returns the goal with what is over there recorded here.
    pub(crate) fn refreshed(self) -> Result<Self, CommandError> {
        self.synced(SyncExtent::Settled, &silent_observer)
    }

    /// Passes an act on, and records here what is over by then, unless another process does that.
    pub(crate) fn act(self, act: GoalAct) -> Result<(), CommandError> {
        if is_synced(&self.workspace.state, self.goal()) {
            return self.backend.act(&self.deployed.workflow, act);
        }
        let mut account = DeployedAccount::of(self)?;
        account.start_if_new()?;
        account.act(act)?;
        account.sync(SyncExtent::Settled, &silent_observer).map(drop)
    }
}

fn silent_observer(_: &LoadedPlan) -> Box<dyn RunObserver + Send> {
    Box::new(CombinedObserver::default())
}

/// The account of a deployed goal, in the hands of the only process that records what happens to it.
pub(super) struct DeployedAccount<'a> {
    pub(super) caller: &'a dyn Caller,
    pub(super) workspace: Workspace,
    pub(super) goal: PlanId,
    pub(super) ledger: LedgerGoal,
    pub(super) deployed: DeployedGoal,
    pub(super) backend: GoalBackend,
    is_started: bool,
    /// The store, while no run is followed: that has its own.
    store: Option<Store>,
    /// The number of answers of the waiting runs, at the time they were passed on.
    pub(super) answers: BTreeMap<RunId, usize>,
    /// The number of records on the backend at the first look.
    pub(super) present: Option<u64>,
    /// The reconciliations recorded with their start and, so far, without their end.
    pub(super) under_way: BTreeSet<RunId>,
    _lock: FileLock,
}

impl<'a> DeployedAccount<'a> {
    /// Takes the account of a goal into its hands; refused if it is not deployed, or another process has it.
    pub(super) fn open(caller: &'a dyn Caller, name: &str) -> Result<Self, CommandError> {
        Self::of(OperatedDeployment::find(caller, name)?)
    }

    /// Does the same with a deployed goal.
    pub(super) fn of(operated: OperatedDeployment<'a>) -> Result<Self, CommandError> {
        let OperatedDeployment { caller, workspace, row, backend, .. } = operated;
        let hold = lock_sync(&workspace.state, &row.id)?;
        // The process that had it before may have gone further.
        let (row, deployed) = require_deployed(caller.host(), row.id.as_str())?;
        let reader = StoreReader::open(&workspace.state)?;
        let timing = reader.goals().ledger(&row.id)?.and_then(|state| state.timing).ok_or_else(|| {
            CommandError::new(CliExitCode::State, format!("the schedule of {} cannot be read", row.id))
        })?;
        let ledger = LedgerGoal { id: row.id.clone(), path: row.path, schedule: timing };
        let (goal, is_started) = (row.id, deployed.recorded > 0);
        let (store, answers) = (None, BTreeMap::new());
        Ok(Self {
            caller,
            workspace,
            goal,
            ledger,
            deployed,
            backend,
            is_started,
            store,
            answers,
            present: None,
            under_way: BTreeSet::new(),
            _lock: hold,
        })
    }

    /// Starts the goal, if it may not have been: its workspace records the deployment before that.
    pub(super) fn start_if_new(&mut self) -> Result<(), CommandError> {
        if !self.is_started {
            let DeployedGoal { workflow, spec, .. } = self.deployed.clone();
            self.backend.start(PreparedGoal { workflow, spec })?;
            self.is_started = true;
        }
        Ok(())
    }

    pub(super) fn act(&self, act: GoalAct) -> Result<(), CommandError> {
        self.backend.act(&self.deployed.workflow, act)
    }

    /// Returns the store, which is opened if it is not.
    pub(super) fn store(&mut self) -> Result<&Store, CommandError> {
        let store = if let Some(store) = self.store.take() {
            store
        } else {
            let (host, state) = (self.caller.host(), &self.workspace.state);
            Store::open_with_lease(state, StoreDurability::Full, host.clock(), host.lease()?)?
        };
        Ok(self.store.insert(store))
    }

    /// Closes the store.
    pub(super) fn close(&mut self) {
        self.store = None;
    }
}
