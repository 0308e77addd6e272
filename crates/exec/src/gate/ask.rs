use std::{os::fd::AsRawFd as _, path::Path, sync::Arc};

use tokio::sync::watch;

use wf_core::gate::{
    GateAnswer, GateContext, computed_answer, no_provider,
    predicate::{FileInspector, FileStatus},
};
use wf_model::{EngineFailure, Gate, GateProvider};

use super::script;
use crate::{
    disk::confined_dir::{ConfinedDir, PathLookupError},
    view::WorkspaceView,
    work::check::CheckEnvironment,
    work_error::{StopLevel, WorkError},
};

/// The surroundings where gates are evaluated.
#[derive(Clone)]
pub struct GateEnvironment {
    /// The surroundings of their programs.
    pub environment: CheckEnvironment,
    /// The view of the workspace for the programs; `None`: all of it.
    pub view: Option<Arc<WorkspaceView>>,
}

/// Evaluates a gate and returns its answer, or the reason why there is none.
/// [`Pass`](wf_core::gate::GatePass) interprets both. Dropping the future ends the processes it started.
pub async fn ask(
    gate: &Gate,
    context: &GateContext,
    environment: &GateEnvironment,
    stop: watch::Receiver<StopLevel>,
) -> Result<GateAnswer, WorkError> {
    if let Some(answer) = computed_answer(gate, context, &WorkspaceFiles(&environment.environment.root)) {
        return Ok(answer);
    }
    match &gate.provider {
        GateProvider::Script(script) => script::run_script(gate, script, context, environment, stop).await,
        other => Err(WorkError::engine(EngineFailure::Sensor, no_provider(other))),
    }
}

/// The files of a workspace.
pub(super) struct WorkspaceFiles<'a>(pub(super) &'a Path);

impl FileInspector for WorkspaceFiles<'_> {
    fn status(&self, path: &str) -> FileStatus {
        let file = ConfinedDir::open(self.0).and_then(|root| root.find(Path::new(path)));
        let fd = match file {
            Ok(fd) => fd,
            Err(PathLookupError::Absent) => return FileStatus::Absent,
            Err(PathLookupError::Outside) => return FileStatus::Outside,
            Err(missed) => return FileStatus::Unknown(missed.unable(Path::new(path)).reason),
        };
        match rustix::fs::fstat(&fd) {
            Ok(about) if rustix::fs::FileType::from_raw_mode(about.st_mode).is_file() => {
                let place = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
                let root = self.0.canonicalize();
                let place = place.ok().zip(root.ok());
                let place = place.as_ref().and_then(|(place, root)| place.strip_prefix(root).ok());
                match place {
                    Some(place) => FileStatus::File {
                        size: u64::try_from(about.st_size).unwrap_or_default(),
                        place: place.display().to_string(),
                    },
                    None => FileStatus::Outside,
                }
            }
            Ok(_) => FileStatus::Absent,
            Err(error) => FileStatus::Unknown(error.to_string()),
        }
    }
}
