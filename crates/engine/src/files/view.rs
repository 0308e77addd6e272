//! The workspace as the checks of a run see it: as it was when the run began, or as it was approved.

use std::{collections::BTreeSet, fs, path::PathBuf, sync::Arc};

use wf_base::{digest::Sha256Digest, name::RunId, time::Moment};
use wf_core::machine::{Baseline, Event, EventKind, RunApproval};
use wf_exec::{
    WorkError,
    pinned::PinnedFiles,
    view::{KeptFiles, WorkspaceView, files_to_keep},
};
use wf_model::{JsonObject, Plan};
use wf_store::StoreError;

use super::copies;
use crate::{
    reuse::RepeatedRun,
    run::{RunContext, recorded_config::is_elsewhere},
    session::{EngineError, EngineSession},
};

/// The file in a run's folder listing the workspace as it was when the run began.
const BASELINE: &str = "baseline";

/// The folder of the copies of files that checks keep, in that of a run.
const KEPT: &str = "originals";

/// A run with a view for its checks.
#[derive(Clone, Copy)]
pub(crate) struct ViewedRun<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) plan: &'a Arc<Plan>,
    pub(crate) params: &'a JsonObject,
}

/// Returns what the checks of a new run may see, and its steps if it was approved in advance; `None`: nothing
/// of it is checked.
pub(crate) fn view(
    session: &EngineSession,
    ViewedRun { run, plan, params }: ViewedRun<'_>,
    approved: Option<&RunApproval>,
    kept_files: &KeptFiles,
    earlier: Option<&EarlierBaseline>,
) -> Option<Arc<WorkspaceView>> {
    let take = || {
        let view = WorkspaceView::take(&session.root, &excluded_folders(session), plan, params);
        let view = view.with_kept(kept_files.clone());
        let Some(sandboxes) = &session.sandboxes else { return view };
        let view = view.with_control(sandboxes.control());
        view.with_originals(session.repository.as_ref(), copies::restored_folder(session, run))
    };
    let view = match (approved.filter(|approved| approved.is_in_advance()), earlier) {
        // Approvers have signed the files as they are, whoever left them so.
        (Some(approved), _) => Some(take().bound(&approved.pinned_files, &approved.products)),
        (None, None) => WorkspaceView::is_needed(plan).then(take),
        (None, Some(earlier)) => {
            WorkspaceView::is_needed(plan).then(|| take().without_leftovers(&earlier.record, earlier.ended))
        }
    };
    view.map(Arc::new)
}

/// The workspace at the beginning of a run, for a new one repeating it.
pub(crate) struct EarlierBaseline {
    record: Vec<u8>,
    ended: Moment,
}

impl EarlierBaseline {
    /// Reads the view of the repeated run; `None`: it has no credible one.
    pub(crate) fn from_repeated(
        session: &EngineSession,
        repeated_run: Option<&RepeatedRun>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(run) = repeated_run.and_then(RepeatedRun::run_id) else { return Ok(None) };
        let reader = session.store.log_reader()?;
        let Some(ended) = reader.runs().get(run)?.ended else { return Ok(None) };
        if is_elsewhere(session, run)? {
            return Ok(None);
        }
        let taken = reader.events().of_kinds(run, &["baseline_taken"])?.into_iter().find_map(|event| {
            match event.fact {
                EventKind::BaselineTaken(baseline) => Some(baseline.manifest),
                _ => None,
            }
        });
        let record = fs::read(session.store.folder().run(run).join(BASELINE)).ok();
        let record = record.filter(|bytes| Some(Sha256Digest::of_bytes(bytes)) == taken);
        Ok(record.map(|record| Self { record, ended }))
    }
}

/// Copies the files that checks of a new run keep; `tracked` are those of git.
pub(crate) fn keep_files(
    session: &EngineSession,
    run: &RunId,
    plan: &Arc<Plan>,
    params: &JsonObject,
    tracked: BTreeSet<PathBuf>,
) -> KeptFiles {
    let named = files_to_keep(plan, &session.root, params);
    KeptFiles::copy(&session.root, named, tracked, kept_folder(session, run))
}

fn kept_folder(session: &EngineSession, run: &RunId) -> PathBuf {
    session.store.folder().run(run).join(KEPT)
}

/// Fails unless the workspace is still as approved, except for what is declared.
pub(crate) fn admit(
    session: &EngineSession,
    plan: &Arc<Plan>,
    approved: &RunApproval,
) -> Result<(), EngineError> {
    let view = WorkspaceView::take(&session.root, &excluded_folders(session), plan, &JsonObject::new());
    let admitted = view.bound(&approved.pinned_files, &approved.products).admit_unconfined();
    admitted.map_err(|unable| EngineError::Unapproved(unable.reason))
}

/// Returns what the checks of an earlier run may see, as recorded then; `None`: nothing of it is checked.
pub(crate) fn recorded_view(
    session: &EngineSession,
    run: &RunId,
    plan: &Arc<Plan>,
    events: &[(u64, Event)],
) -> Option<WorkspaceView> {
    let baseline = events.iter().find_map(|(_, event)| match &event.fact {
        EventKind::BaselineTaken(baseline) => Some(baseline.clone()),
        _ => None,
    })?;
    let params = events.iter().find_map(|(_, event)| match &event.fact {
        EventKind::RunStarted { params, .. } => Some(params.clone()),
        _ => None,
    });
    let file = session.store.folder().run(run).join(BASELINE);
    let record = fs::read(&file)
        .map_err(|error| WorkError::environmental(format!("{}: {error}", file.display())))
        .and_then(|bytes| {
            let is_it = Sha256Digest::of_bytes(&bytes) == baseline.manifest;
            let modified = || WorkError::environmental(format!("{} was modified", file.display()));
            is_it.then_some(bytes).ok_or_else(modified)
        });
    let params = params.unwrap_or_default();
    let kept_files = KeptFiles::recorded(&baseline.kept, kept_folder(session, run));
    let view = WorkspaceView::recorded(&session.root, &excluded_folders(session), plan, &params, record);
    let control = session.sandboxes.as_ref().map_or(&[][..], |sandboxes| sandboxes.control());
    let view = view.with_kept(kept_files).with_control(control);
    let view =
        view.with_recorded_originals(session.repository.clone(), copies::restored_folder(session, run));
    let approved = events.iter().find_map(|(_, event)| match &event.fact {
        EventKind::RunApproved(approved) if approved.is_in_advance() => Some(approved),
        _ => None,
    });
    Some(match approved {
        Some(approved) => view.of_approved(&approved.products),
        None => view,
    })
}

/// Returns the folders in a workspace that are no part of it: the state, the keys of the user, and the recording made
/// of the run, which grows while checks look.
pub(super) fn excluded_folders(session: &EngineSession) -> Vec<PathBuf> {
    let state = session.store.folder().path().to_path_buf();
    let keys = wf_exec::keyfile::folders(&session.host);
    let recording = session.shared.cassette.get().filter(|cassette| !cassette.is_replay());
    let recording = recording.map(|cassette| cassette.folder().to_path_buf());
    std::iter::once(state).chain(keys).chain(recording).collect()
}

/// Stores the list of a workspace's files, before it is recorded it was taken.
pub(crate) fn store_baseline(run: &RunContext, view: &WorkspaceView) -> Result<Baseline, StoreError> {
    let (bytes, baseline) = view.record();
    let file = run.dir.join(BASELINE);
    let written = fs::write(&file, bytes).and_then(|()| fs::File::open(&file)?.sync_data());
    written.map_err(|error| StoreError::io("write", &file, &error))?;
    Ok(baseline)
}

/// Returns the skill files a run may execute, if the whole workspace was not approved in advance.
pub(crate) fn pins(
    session: &EngineSession,
    plan: &Arc<Plan>,
    approved: Option<&RunApproval>,
) -> Option<Arc<PinnedFiles>> {
    let approved = approved?;
    let files = approved.skills.iter();
    let files = files.map(|pin| (pin.path.clone(), pin.digest));
    (!approved.skills.is_empty()).then(|| Arc::new(PinnedFiles::new(plan, &session.root, files)))
}
