use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{events::events_of, memory::ReplayMemory, recording::read_recording};
use crate::{
    Caller, CliExitCode, CommandError, RunOptions, StateReader, normalize_path,
    specs::load::{self, LoadedPlan},
};
use wf_base::{
    name::RunId,
    remedy::{Remedy, UserAction},
};
use wf_engine::Cassette;
use wf_model::JsonObject;
use wf_report::record::RunLifecycle;
use wf_store::StateFolder;

/// A run to be replayed: of this workspace, or of a recording.
pub struct ReplaySource {
    /// Its id, which the replay has, too: the environment of steps and the ids of nested runs follow from it.
    pub run: RunId,
    /// Its plan: of a run as it was recorded, of a recording as it is in the workspace.
    pub loaded: LoadedPlan,
    /// Its parameters.
    pub params: JsonObject,
    /// Its events, in the comparable form.
    pub events: Vec<Value>,
    /// The replies of its models.
    pub cassette: Cassette,
    /// The memory before it.
    pub memory: ReplayMemory,
}

impl ReplaySource {
    /// Finds the folder of a recording, or a run by the start of its id; `None`: the latest run.
    pub fn find(caller: &dyn Caller, name: Option<&str>) -> Result<Self, CommandError> {
        let folder = name.map(|name| normalize_path(&caller.host().cwd().join(name)));
        match folder.filter(|folder| folder.is_dir()) {
            Some(folder) => Self::of_recording(caller, &folder),
            None => Self::of_run(caller, name),
        }
    }

    fn of_recording(caller: &dyn Caller, folder: &Path) -> Result<Self, CommandError> {
        let (recorded, events) = read_recording(folder)?;
        let path: PathBuf = caller.host().workspace().root.join(&recorded.plan);
        let loaded = load::load_named(caller, &path, RunOptions::recorded(&recorded.options))?;
        let cassette = Cassette::replay_of_run(folder.to_owned());
        let (run, params, memory) =
            (RunId::from_stored(recorded.run), recorded.params, ReplayMemory::default());
        Ok(Self { run, loaded, params, events, cassette, memory })
    }

    fn of_run(caller: &dyn Caller, name: Option<&str>) -> Result<Self, CommandError> {
        let workspace = caller.host().workspace();
        let state = StateReader::from_whole_log(&workspace)?;
        let (reader, run) = (state.store(), state.find_run(name)?);
        let row = reader.runs().get(&run)?;
        let refused = |reason: &str, hint: Remedy| {
            let message = format!("run {} cannot be replayed: {reason}", run.short());
            Err(CommandError::new(CliExitCode::Usage, message).hint(hint))
        };
        if let Some((above, _)) = &row.parent {
            return refused("it is nested in another run", UserAction::ReplayRun(above.clone()).into());
        }
        // One that waits is replayed up to where it waits: the replay gets no approval there, either.
        let owner = reader.leases().owner(&run)?;
        let is_live = owner.is_some_and(|owner| owner.alive);
        let life = RunLifecycle::of(&row, owner);
        if is_live || !matches!(life, RunLifecycle::Ended(_) | RunLifecycle::Waiting) {
            return refused("it has not ended", UserAction::ResumeRun(run.clone()).into());
        }
        if let Some(first) = &row.retry_of {
            let reason = "it reuses results of another run, which a replay does not have";
            return refused(reason, UserAction::ReplayRun(first.clone()).into());
        }
        if row.goal.is_some() {
            return refused("it is a reconciliation of a goal", "replay a run of a plan".into());
        }
        let loaded = load::load_recorded(caller, reader, &run)?;
        let events = events_of(reader, &workspace.root, &run)?;
        let cassette = Cassette::replay_of_run(StateFolder::new(&workspace.state).exchanges(&run));
        let memory = ReplayMemory::of_run(reader, &row)?;
        Ok(Self { run, loaded, params: row.params, events, cassette, memory })
    }
}
