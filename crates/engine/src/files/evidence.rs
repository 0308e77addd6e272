//! The files that results were checked with, and their changes since.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wf_base::digest::Sha256Digest;
use wf_base::name::{Name, RunId};
use wf_base::time::Moment;
use wf_core::machine::{
    Artifact, Attempt, Baseline, Event, EventKind, InputKind, ReusedResult, RunApproval, StaleFile, TaskId,
};
use wf_exec::evidence::{DigestMemo, EvidenceTrace, first_stale};
use wf_exec::pinned::PinnedFiles;
use wf_exec::view::{KeptFiles, WorkspaceView, files_to_keep};
use wf_model::{JsonObject, Plan, SandboxPermissions};
use wf_store::{StoreError, StoreReader};

use super::copies;
use super::recorded_results::RecordedResults;
use crate::reuse::RepeatedRun;
use crate::run::declarations::Declarations;
use crate::run::evidence_record::EvidenceRecord;
use crate::run::result_files::KeptFile;
use crate::run::run_place::is_elsewhere;
use crate::run::{AttemptTask, RunContext};
use crate::session::{EngineError, EngineSession, UnitResult};

/// The file in a run's folder that lists the workspace as it was when the run began.
const BASELINE: &str = "baseline";

/// The folder of the copies of files that checks keep, in that of a run.
const KEPT: &str = "originals";

/// Returns the evidence of a run's tasks. For results that it reused without a record of their evidence, as earlier versions
/// did, it is that of the runs that did the work.
pub(crate) fn evidence_of_run(
    reader: &StoreReader,
    events: &[(u64, Event)],
) -> Result<EvidenceRecord, StoreError> {
    let mut results = RecordedResults::new(reader);
    let mut record = EvidenceRecord::default();
    for (_, event) in events {
        record.apply(results.completed(&event.fact)?.as_ref());
    }
    Ok(record)
}

/// The kinds of events that record the files of checks.
pub const EVIDENCE_EVENTS: [&str; 7] = [
    "attempt_started",
    "cache_hit",
    "step_ended",
    "evidence_taken",
    "step_reused",
    "item_reused",
    "step_expanded",
];

/// Returns the files that some steps were checked with, as recorded.
pub fn recorded_evidence(events: &[Event], steps: &[Name]) -> Vec<Artifact> {
    let all = EvidenceRecord::of(events);
    let of_them = all.tasks().iter().filter(|(place, _)| steps.contains(&place.step));
    of_them.flat_map(|(_, files)| files.clone()).collect()
}

/// Returns the results of a run whose files changed since they were checked. Missing files were cleaned up,
/// if the plan has steps for that.
pub fn stale_now(
    reader: &StoreReader,
    root: &Path,
    plan: &Plan,
    events: &[(u64, Event)],
) -> Result<Vec<StaleFile>, StoreError> {
    let (memo, gone) = (DigestMemo::default(), !plan.has_finally());
    let seen = evidence_of_run(reader, events)?;
    let found = seen.tasks().iter().filter_map(|(place, seen)| {
        let path = first_stale(root, seen, &memo, gone)?;
        Some(StaleFile { place: place.clone(), path })
    });
    Ok(found.collect())
}

/// A run whose checks see a view.
#[derive(Clone, Copy)]
pub(crate) struct ViewedRun<'a> {
    /// Its id.
    pub(crate) run: &'a RunId,
    /// Its plan.
    pub(crate) plan: &'a Arc<Plan>,
    /// Its parameters.
    pub(crate) params: &'a JsonObject,
}

/// Returns what the checks of a new run may see, and its steps if it was approved in advance; `None`: nothing
/// of it is checked.
pub(crate) fn view(
    session: &EngineSession,
    ViewedRun { run, plan, params }: ViewedRun<'_>,
    approved: Option<&RunApproval>,
    kept: &KeptFiles,
    earlier: Option<&EarlierBaseline>,
) -> Option<Arc<WorkspaceView>> {
    let take = || {
        let view = WorkspaceView::take(&session.root, &excluded_folders(session), plan, params);
        let view = view.with_kept(kept.clone());
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

/// The workspace as it was when the run began that a new one repeats.
pub(crate) struct EarlierBaseline {
    record: Vec<u8>,
    ended: Moment,
}

impl EarlierBaseline {
    /// Reads that of the repeated run; `None`: it has none that can be believed.
    pub(crate) fn of(
        session: &EngineSession,
        past: Option<&RepeatedRun>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(run) = past.and_then(RepeatedRun::run) else { return Ok(None) };
        let reader = session.store.log_reader()?;
        let Some(ended) = reader.run(run)?.ended else { return Ok(None) };
        if is_elsewhere(session, run)? {
            return Ok(None);
        }
        let taken = reader.facts(run, &["baseline_taken"])?.into_iter().find_map(|event| match event.fact {
            EventKind::BaselineTaken(baseline) => Some(baseline.manifest),
            _ => None,
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
    let record = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()));
    let record = record.and_then(|bytes| {
        let is_it = Sha256Digest::of_bytes(&bytes) == baseline.manifest;
        is_it.then_some(bytes).ok_or_else(|| format!("{} was modified", file.display()))
    });
    let params = params.unwrap_or_default();
    let kept = KeptFiles::recorded(&baseline.kept, kept_folder(session, run));
    let view = WorkspaceView::recorded(&session.root, &excluded_folders(session), plan, &params, record);
    let control = session.sandboxes.as_ref().map_or(&[][..], |sandboxes| sandboxes.control());
    let view = view.with_kept(kept).with_control(control);
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

/// Returns the folders in a workspace that are no part of it: the state, the keys of the user, and the recording that
/// is made of the run, which grows while checks look.
pub(super) fn excluded_folders(session: &EngineSession) -> Vec<PathBuf> {
    let state = session.store.folder().path().to_path_buf();
    let keys = wf_exec::keyfile::folders(&session.host);
    let recording = session.shared.cassette.get().filter(|cassette| !cassette.is_replay());
    let recording = recording.map(|cassette| cassette.folder().to_path_buf());
    std::iter::once(state).chain(keys).chain(recording).collect()
}

/// Stores the list of a workspace's files, before it is recorded that it was taken.
fn store_baseline(run: &RunContext, view: &WorkspaceView) -> Result<Baseline, StoreError> {
    let (bytes, baseline) = view.record();
    let file = run.dir.join(BASELINE);
    let written = fs::write(&file, bytes).and_then(|()| fs::File::open(&file)?.sync_data());
    written.map_err(|error| StoreError::io("write", &file, &error))?;
    Ok(baseline)
}

/// Returns the skill files that a run may execute, if the whole workspace was not approved in advance.
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

/// Returns the results that a run reuses, with their evidence: its own plan says which steps release products.
pub(crate) fn reused_results(
    reader: &StoreReader,
    past: &RepeatedRun,
    params: &JsonObject,
) -> Result<Vec<ReusedResult>, StoreError> {
    let mut kept = past.reused_results();
    RecordedResults::new(reader).add_evidence(past, &mut kept)?;
    if kept.iter().flat_map(|kept| &kept.evidence).any(Artifact::is_product) {
        let declarations = Declarations::of(past.plan(), params);
        for kept in &mut kept {
            declarations.name_releasing(&kept.step, &mut kept.evidence);
        }
    }
    Ok(kept)
}

/// Returns the input that a run begins with.
pub(crate) fn begin(run: &RunContext) -> Result<InputKind, StoreError> {
    let past = run.past.as_ref();
    let kept = past.map(|past| {
        let reader = run.session.store.log_reader()?;
        reused_results(&reader, past, run.params())
    });
    let kept = kept.transpose()?;
    // A nested run uses the record of the outermost run.
    let outermost = run.run_ref.path.is_empty();
    let view = run.view.as_ref().filter(|_| outermost);
    let baseline = view.map(|view| store_baseline(run, view)).transpose()?;
    let approved = run.approved.as_ref().filter(|_| outermost);
    Ok(InputKind::Begin {
        kept: kept.unwrap_or_default(),
        dropped: past.map(|past| past.dropped().to_vec()).unwrap_or_default(),
        left: past.map(RepeatedRun::deselected_steps).unwrap_or_default(),
        baseline,
        approved: approved.map(|approved| Box::new((**approved).clone())),
        advice: crate::memory::records::advice(run)?,
        intent: crate::memory::records::intent_advice(run)?,
    })
}

/// Checks the evidence of tasks again, before their run ends. Missing files were cleaned up, if there are
/// steps for that.
pub(crate) async fn confirm(run: Arc<RunContext>, places: Vec<TaskId>) -> UnitResult {
    let gone = !run.plan.has_finally();
    let look = move || {
        let stale = places.into_iter().filter_map(|place| stale_file(&run, place, gone));
        stale.collect()
    };
    let stale = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    Ok(Some(InputKind::Confirmed { stale }))
}

fn stale_file(run: &RunContext, place: TaskId, gone: bool) -> Option<StaleFile> {
    let seen = run.evidence_of(&place)?;
    let session = &run.session;
    let path = first_stale(&session.root, &seen, &session.shared.memo, gone)?;
    Some(StaleFile { place, path })
}

/// Returns the tasks with evidence that an attempt depends on directly.
fn dependencies(run: &RunContext, attempt: &Attempt) -> Vec<TaskId> {
    let step = crate::run::current_step::step_of(run, &attempt.place);
    let needed = step.depends_on.iter().map(|ix| &run.plan.step(*ix).id);
    run.tasks_with_evidence(needed)
}

/// Returns the permissions of a step, if it is confined.
fn permissions_of(run: &RunContext, attempt: &Attempt) -> Option<Box<SandboxPermissions>> {
    let allow = &crate::run::current_step::step_of(run, &attempt.place).allow;
    allow.clone().filter(|_| run.session.sandboxes.is_some())
}

/// The verified files that an attempt reads: a change to them meanwhile lets it read something other than was
/// verified.
#[derive(Default)]
pub(crate) struct ReliedEvidence {
    /// The files of results that a confined attempt depends on and cannot write.
    results: Vec<(TaskId, EvidenceTrace)>,
    /// The files that it reads as they lie there, instead of a copy.
    uncopied: Option<EvidenceTrace>,
    /// One of these that had changed when its engine adopted it.
    swapped_file: Option<String>,
}

impl ReliedEvidence {
    /// Checks the evidence of what an attempt depends on, before it begins. A file that has changed by then
    /// is noted at once. For an unconfined step this happens once: later its own writes may be the change.
    pub(crate) async fn check_before(task: &AttemptTask) -> Self {
        let AttemptTask { run, attempt, since, .. } = task;
        let allow = permissions_of(run, attempt);
        let is_first = attempt.attempt == 1 && attempt.place.item.is_none_or(|item| item == 0);
        let is_checked = allow.is_some() || (is_first && since.is_none());
        let places = if is_checked { dependencies(run, attempt) } else { Vec::new() };
        let (run, attempt, is_adopted) = (Arc::clone(run), attempt.clone(), since.is_some());
        let look = move || {
            let uncopied = copies::uncopied_files(&run, &attempt, allow.as_deref());
            let paths = uncopied.iter().map(KeptFile::path);
            Self {
                uncopied: (!uncopied.is_empty()).then(|| EvidenceTrace::of(&run.session.root, paths)),
                swapped_file: copies::changed_file(&run, uncopied.iter().filter(|_| is_adopted)),
                results: places
                    .into_iter()
                    .filter_map(|place| relied_files(&run, allow.as_deref(), place))
                    .collect(),
            }
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// Notes the results whose files were touched since. Returns a file that the attempt may have read as it was not
    /// verified.
    pub(crate) fn end(self, run: &RunContext) -> Option<String> {
        let root = &run.session.root;
        for (place, traces) in self.results {
            // A step that declares a file may have begun to change it.
            let seen = run.evidence_of(&place).unwrap_or_default();
            let is_evidence = |path: &str| seen.iter().any(|file| file.path == path);
            if let Some(path) = traces.touched_among(root, is_evidence) {
                let path = path.to_owned();
                run.note_stale(StaleFile { place, path });
            }
        }
        let touched = self.uncopied.as_ref().and_then(|traces| traces.touched(root));
        self.swapped_file.or_else(|| touched.map(str::to_owned))
    }
}

/// Returns traces of the files of a task that a confined attempt only reads; `None`, and a note, if one has
/// changed.
fn relied_files(
    run: &RunContext,
    allow: Option<&SandboxPermissions>,
    place: TaskId,
) -> Option<(TaskId, EvidenceTrace)> {
    // In this order: any write after the traces leaves others.
    let traces = allow.and_then(|allow| {
        let mut seen = run.evidence_of(&place)?;
        // Files that it writes itself may be in any state.
        seen.retain(|file| !allow.writes(&file.path));
        Some(EvidenceTrace::of(&run.session.root, seen.iter().map(|file| file.path.as_str())))
    });
    match stale_file(run, place.clone(), true) {
        None => Some((place, traces?)),
        Some(stale) => {
            run.note_stale(stale);
            None
        }
    }
}
