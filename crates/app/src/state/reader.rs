use std::sync::Arc;

use crate::{
    Caller, CommandError, Workspace, connections::waiting_secrets, specs::load::PlanCache,
    views::LogIndexCache,
};
use wf_base::name::RunId;
use wf_model::Plan;
use wf_store::{FindError, ReaderPool, StoreReader, ViewReader, allow_no_state};

/// The things the views of one server have in common: open readers of the state, plans read before, and the
/// indexes of logs.
#[derive(Clone, Debug, Default)]
pub struct ViewResources {
    readers: ReaderPool,
    plans: Arc<PlanCache>,
    log_indexes: LogIndexCache,
}

/// The state of a workspace, opened to be read by views and commands. A page reads it as of one instant.
#[derive(Debug)]
pub struct StateReader {
    source: ReaderSource,
    plans: Arc<PlanCache>,
    log_indexes: LogIndexCache,
}

/// The reader of the store: its own, or one of a server, which stays open.
#[derive(Debug)]
enum ReaderSource {
    Own(Box<StoreReader>),
    Pooled(ViewReader),
}

/// The most events of a run, with those nested in it, that a page compares with the tables: each view of a run that goes
/// on compares all of them.
const MAX_COMPARED_EVENTS: u64 = 5_000;

impl StateReader {
    /// Opens the state of a workspace.
    pub fn open(workspace: &Workspace) -> Result<Self, CommandError> {
        Ok(Self::own(StoreReader::open(&workspace.state)?))
    }

    /// Does the same; `None` if there is no state yet.
    pub fn open_if_any(workspace: &Workspace) -> Result<Option<Self>, CommandError> {
        Ok(allow_no_state(StoreReader::open(&workspace.state))?.map(Self::own))
    }

    /// Opens the state for a decision: all that is read of runs is built from the log, event by event.
    pub fn from_log(workspace: &Workspace) -> Result<Self, CommandError> {
        Ok(Self::own(StoreReader::from_log(&workspace.state)?))
    }

    /// Does the same, after the whole log was compared with its hashes.
    pub fn from_whole_log(workspace: &Workspace) -> Result<Self, CommandError> {
        Ok(Self::own(StoreReader::from_whole_log(&workspace.state)?))
    }

    /// Opens the state for a document about the run that `resolve` names, from the log where the tables beside it hold
    /// something else.
    pub fn of_run<N>(
        workspace: &Workspace,
        resolve: impl Fn(&Self) -> Result<(RunId, N), CommandError>,
    ) -> Result<(Self, RunId, N), CommandError> {
        let (run, name) = match resolve(&Self::open(workspace)?) {
            Ok(unique) => unique,
            // The tables may have lost it.
            Err(unknown) => {
                Self::from_log(workspace).ok().and_then(|log| resolve(&log).ok()).ok_or(unknown)?
            }
        };
        let reader = StoreReader::of_run(&workspace.state, &run, u64::MAX)?;
        Ok((Self::own(reader), run, name))
    }

    fn own(reader: StoreReader) -> Self {
        Self {
            source: ReaderSource::Own(Box::new(reader)),
            plans: Arc::default(),
            log_indexes: LogIndexCache::default(),
        }
    }

    /// Returns the reader of the store.
    pub(crate) fn store(&self) -> &StoreReader {
        match &self.source {
            ReaderSource::Own(reader) => reader,
            ReaderSource::Pooled(reader) => reader,
        }
    }

    /// True if the tables beside the log are not what is read.
    pub fn is_from_log(&self) -> bool {
        self.store().is_from_log()
    }

    /// Returns the run whose id begins with a prefix, or the latest one.
    pub fn find_run(&self, prefix: Option<&str>) -> Result<RunId, CommandError> {
        match prefix {
            Some(prefix) => Ok(self.store().runs().find(prefix)?),
            None => Ok(self.store().runs().last()?),
        }
    }

    /// Returns the indexes of logs that were read before.
    pub(crate) fn log_indexes(&self) -> &LogIndexCache {
        &self.log_indexes
    }

    /// Returns the recorded plan of a run; `None` if it is not a valid plan any more.
    pub(crate) fn plan(&self, run: &RunId) -> Result<Option<Arc<Plan>>, CommandError> {
        self.plans.plan(self.store(), run)
    }
}

/// Opens the state for a view; `None` if there is none yet.
pub fn state_reader(caller: &dyn Caller) -> Result<Option<StateReader>, CommandError> {
    pooled_reader(&caller.host().workspace(), caller.view_resources())
}

/// Opens the state for one of many views with the same resources; `None` if there is none.
pub(crate) fn pooled_reader(
    workspace: &Workspace,
    resources: ViewResources,
) -> Result<Option<StateReader>, CommandError> {
    let ViewResources { readers, plans, log_indexes } = resources;
    let reader = allow_no_state(readers.view(&workspace.state))?;
    Ok(reader.map(|reader| StateReader { source: ReaderSource::Pooled(reader), plans, log_indexes }))
}

/// Opens the state for the pages of the run in an address, from the log where the tables hold something else;
/// `None` if there is no such run, or more than one.
pub fn run_reader(caller: &dyn Caller, prefix: &str) -> Result<Option<(StateReader, RunId)>, CommandError> {
    let Some(StateReader { source: ReaderSource::Pooled(reader), plans, log_indexes }) =
        state_reader(caller)?
    else {
        return Ok(None);
    };
    let Some(run) = find_in(&reader, prefix)? else {
        return Ok(None);
    };
    let source = ReaderSource::Pooled(reader.of_run(&run, MAX_COMPARED_EVENTS)?);
    Ok(Some((StateReader { source, plans, log_indexes }, run)))
}

/// Returns the run in an address; `None` if there is no such run, or more than one.
pub fn find_run(reader: &StateReader, prefix: &str) -> Result<Option<RunId>, CommandError> {
    find_in(reader.store(), prefix)
}

fn find_in(reader: &StoreReader, prefix: &str) -> Result<Option<RunId>, CommandError> {
    match reader.runs().find(prefix) {
        Ok(run) => Ok(Some(run)),
        Err(
            FindError::Unknown { .. }
            | FindError::Pruned { .. }
            | FindError::NoRuns
            | FindError::Ambiguous(_),
        ) => Ok(None),
        Err(FindError::Store(error)) => Err(error.into()),
    }
}

/// Returns another text after each change visible in views: the number of the last event of the log,
/// the number of answers, and the secrets awaited by setups, absent from the log.
pub fn view_version(caller: &dyn Caller, reader: &StateReader) -> Result<String, CommandError> {
    let end = reader.store().log().end()?.map_or(0, |end| end.seq);
    // An answer is in no event before its run has read it.
    let mut version = format!("{end}.{}", reader.store().approvals().answer_count()?);
    for prompt in waiting_secrets(caller) {
        version += &format!("+{}/{}@{}", prompt.connection, prompt.ref_id, prompt.since);
    }
    Ok(version)
}
