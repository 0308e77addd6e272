//! What results were checked with, and whether it is still as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::digest::Digest;
use crate::exec::evidence::{Memo, Traces, stale};
use crate::exec::pinned::Pins;
use crate::exec::view::View;
use crate::machine::{Approved, Artifact, Attempt, Baseline, Event, Fact, Happening, Place, Stale};
use crate::model::{Allow, Object, Plan};
use crate::name::{Name, RunId};
use crate::repeat::Past;
use crate::store::StoreError;

use super::dispatch::Report;
use super::run::Ongoing;
use super::{EngineError, Session};

/// The file in a run's folder that lists the workspace as it was when the run began.
const BASELINE: &str = "baseline";

/// The evidence of places, as recorded: that of the last attempt of each.
pub(super) fn recorded<'a>(
    events: impl IntoIterator<Item = &'a Event>,
) -> BTreeMap<Place, Vec<Artifact>> {
    let mut all = BTreeMap::new();
    for event in events {
        if let Fact::EvidenceTaken { attempt, files } = &event.fact {
            all.insert(attempt.place.clone(), files.clone());
        }
    }
    all
}

/// The files that some steps were checked with, as recorded.
pub fn recorded_evidence(events: &[(u64, Event)], steps: &[Name]) -> Vec<Artifact> {
    let all = recorded(events.iter().map(|(_, event)| event)).into_iter();
    let of_them = all.filter(|(place, _)| steps.contains(&place.step));
    of_them.flat_map(|(_, files)| files).collect()
}

/// The results of a run whose files are not what they were when they were checked. What is gone
/// was cleaned up, if the plan has steps for that.
pub fn stale_now(root: &Path, plan: &Plan, events: &[(u64, Event)]) -> Vec<Stale> {
    let (memo, gone) = (Memo::default(), !plan.has_finally());
    let seen = recorded(events.iter().map(|(_, event)| event)).into_iter();
    let found = seen.filter_map(|(place, seen)| {
        let path = stale(root, &seen, &memo, gone)?;
        Some(Stale { place, path })
    });
    found.collect()
}

/// What the checks of a run that begins may see, and its steps where it was approved in advance; `None`: nothing
/// of it is looked at.
pub(super) fn view(
    session: &Session,
    plan: &Arc<Plan>,
    params: &Object,
    approved: Option<&Approved>,
) -> Option<Arc<View>> {
    let take = || View::take((&session.root, &apart(session)), plan, params);
    let view = match approved.filter(|approved| approved.is_in_advance()) {
        Some(approved) => Some(take().bound(&approved.pins, &approved.products)),
        None => View::is_needed(plan).then(take),
    };
    view.map(Arc::new)
}

/// Fails unless the workspace is still what was approved, but for what is declared.
pub(super) fn admit(
    session: &Session,
    plan: &Arc<Plan>,
    approved: &Approved,
) -> Result<(), EngineError> {
    let view = View::take((&session.root, &apart(session)), plan, &Object::new());
    let admitted = view
        .bound(&approved.pins, &approved.products)
        .admit_unconfined();
    admitted.map_err(|unable| EngineError::Unapproved(unable.why))
}

/// What the checks of a run that began before may see, by what was recorded then; `None`: nothing
/// of it is checked.
pub(super) fn recorded_view(
    session: &Session,
    run: &RunId,
    plan: &Arc<Plan>,
    events: &[(u64, Event)],
) -> Option<View> {
    let baseline = events.iter().find_map(|(_, event)| match &event.fact {
        Fact::BaselineTaken(baseline) => Some(*baseline),
        _ => None,
    })?;
    let params = events.iter().find_map(|(_, event)| match &event.fact {
        Fact::RunStarted { params, .. } => Some(params.clone()),
        _ => None,
    });
    let file = session.store.folder().run(run).join(BASELINE);
    let record = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()));
    let record = record.and_then(|bytes| {
        let is_it = Digest::of(&bytes) == baseline.manifest;
        is_it
            .then_some(bytes)
            .ok_or_else(|| format!("{} was altered", file.display()))
    });
    let params = params.unwrap_or_default();
    let view = View::recorded((&session.root, &apart(session)), plan, &params, record);
    let approved = events.iter().find_map(|(_, event)| match &event.fact {
        Fact::RunApproved(approved) if approved.is_in_advance() => Some(approved),
        _ => None,
    });
    Some(match approved {
        Some(approved) => view.of_approved(&approved.products),
        None => view,
    })
}

/// The folders in a workspace that are no part of it: the state, and the keys of whoever runs wf.
fn apart(session: &Session) -> Vec<PathBuf> {
    let state = session.store.folder().path().to_path_buf();
    let keys = crate::exec::keyfile::folders(&session.host);
    std::iter::once(state).chain(keys).collect()
}

/// Puts the list of a workspace's files away, before it is recorded that it was taken.
fn put_away(run: &Ongoing, view: &View) -> Result<Baseline, StoreError> {
    let (bytes, baseline) = view.record();
    let file = run.dir.join(BASELINE);
    let written = fs::write(&file, bytes).and_then(|()| fs::File::open(&file)?.sync_data());
    written.map_err(|error| StoreError::io("write", &file, &error))?;
    Ok(baseline)
}

/// The files of the skills that a run of a plan may execute, where the whole workspace was not approved in advance.
pub(super) fn pins(
    session: &Session,
    plan: &Arc<Plan>,
    approved: Option<&Approved>,
) -> Option<Arc<Pins>> {
    let approved = approved?;
    let files = approved.skills.iter();
    let files = files.map(|pin| (pin.path.clone(), pin.digest));
    (!approved.skills.is_empty()).then(|| Arc::new(Pins::new(plan, &session.root, files)))
}

/// What a run begins with.
pub(super) fn begin(run: &Ongoing) -> Result<Happening, StoreError> {
    let past = run.past.as_ref();
    let kept = past.map(Past::kept).unwrap_or_default();
    // What is nested goes by what the outermost run noted.
    let outermost = run.this.path.is_empty();
    let view = run.view.as_ref().filter(|_| outermost);
    let baseline = view.map(|view| put_away(run, view)).transpose()?;
    let approved = run.approved.as_ref().filter(|_| outermost);
    Ok(Happening::Begin {
        kept,
        dropped: past.map(|past| past.dropped().to_vec()).unwrap_or_default(),
        left: past.map(Past::left).unwrap_or_default(),
        baseline,
        approved: approved.map(|approved| Box::new((**approved).clone())),
        advice: super::memory::advice(run)?,
        intent: super::memory::intent_advice(run)?,
    })
}

/// Looks once more at the evidence of places, before their run ends. What is gone then was
/// cleaned up, if there are steps for that.
pub(super) async fn confirm(run: Arc<Ongoing>, places: Vec<Place>) -> Report {
    let gone = !run.plan.has_finally();
    let look = move || {
        let stale = places
            .into_iter()
            .filter_map(|place| look(&run, place, gone));
        stale.collect()
    };
    let stale = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    Ok(Some(Happening::Confirmed { stale }))
}

/// Looks at the evidence of a place that something which begins depends on.
pub(super) async fn relied_on(run: Arc<Ongoing>, place: Place) -> Report {
    let found = tokio::task::spawn_blocking(move || look(&run, place, true)).await;
    Ok(found.ok().flatten().map(Happening::Stale))
}

fn look(run: &Ongoing, place: Place, gone: bool) -> Option<Stale> {
    let seen = run.evidence_of(&place)?;
    let session = &run.session;
    let path = stale(&session.root, &seen, &session.memo, gone)?;
    Some(Stale { place, path })
}

/// The places with evidence that an attempt depends on directly.
fn dependencies(run: &Ongoing, attempt: &Attempt) -> Vec<Place> {
    let step = super::steps::step_of(run, &attempt.place);
    let needed = step.depends_on.iter().map(|ix| &run.plan.step(*ix).id);
    run.places_of(needed)
}

/// Those that are looked at while an attempt begins: once for a step. Where it is confined, each attempt looks
/// itself: see [`Reliance`].
pub(super) fn looked_at_once(run: &Ongoing, attempt: &Attempt) -> Vec<Place> {
    let is_first = attempt.attempt == 1 && attempt.place.item.is_none_or(|item| item == 0);
    if !is_first || allowed(run, attempt).is_some() {
        return Vec::new();
    }
    dependencies(run, attempt)
}

/// What a step may do, if it is confined.
fn allowed(run: &Ongoing, attempt: &Attempt) -> Option<Box<Allow>> {
    let allow = &super::steps::step_of(run, &attempt.place).allow;
    allow.clone().filter(|_| run.session.around.is_some())
}

/// What a confined attempt reads of verified results and cannot write: whoever touches it meanwhile lets the
/// attempt read something else than was verified.
pub(super) struct Reliance(Vec<(Place, Traces)>);

impl Reliance {
    /// Looks at it before the attempt begins. What is not what was verified by then is noted at once.
    pub(super) async fn of(run: &Arc<Ongoing>, attempt: &Attempt) -> Self {
        let places = dependencies(run, attempt);
        let Some(allow) = allowed(run, attempt).filter(|_| !places.is_empty()) else {
            return Self(Vec::new());
        };
        let run = Arc::clone(run);
        let look = move || {
            let traces = |place: Place| {
                let mut seen = run.evidence_of(&place)?;
                // What it writes itself it may find as it likes.
                seen.retain(|file| !allow.writes(&file.path));
                // In this order: whatever comes after the traces leaves others.
                let traces = Traces::of(&run.session.root, &seen);
                match look(&run, place.clone(), true) {
                    None => Some((place, traces)),
                    Some(stale) => {
                        run.note_stale(stale);
                        None
                    }
                }
            };
            Self(places.into_iter().filter_map(traces).collect())
        };
        let looked = tokio::task::spawn_blocking(look).await;
        looked.unwrap_or_else(|_| Self(Vec::new()))
    }

    /// Notes what was touched since.
    pub(super) fn end(self, run: &Ongoing) {
        for (place, traces) in self.0 {
            if let Some(path) = traces.touched(&run.session.root) {
                let path = path.to_owned();
                run.note_stale(Stale { place, path });
            }
        }
    }
}

/// The evidence of the results that a run took over whole.
pub(super) fn taken_over(
    session: &Session,
    events: &[(u64, Event)],
) -> Result<BTreeMap<Place, Vec<Artifact>>, StoreError> {
    let mut pasts = Pasts::default();
    let mut evidence = BTreeMap::new();
    for (_, event) in events {
        if let Fact::StepKept { step, from, .. } = &event.fact {
            let past = pasts.of(session, from)?;
            let of_result = past.of_result(step, None);
            evidence.extend(of_result.map(|(place, seen)| (place.clone(), seen.clone())));
        }
    }
    Ok(evidence)
}

/// What is known of runs that did some work.
#[derive(Default)]
struct Pasts(BTreeMap<RunId, Worked>);

/// The evidence of a run, and the keys of its items.
#[derive(Default)]
struct Worked {
    evidence: BTreeMap<Place, Vec<Artifact>>,
    keys: BTreeMap<Name, Vec<String>>,
}

impl Pasts {
    fn of(&mut self, session: &Session, run: &RunId) -> Result<&Worked, StoreError> {
        if !self.0.contains_key(run) {
            let events = session.store.log_reader()?.events(run, 0)?;
            self.0.insert(run.clone(), Worked::of(&events));
        }
        Ok(self.0.entry(run.clone()).or_default())
    }
}

impl Worked {
    fn of(events: &[(u64, Event)]) -> Self {
        let keys = events.iter().filter_map(|(_, event)| match &event.fact {
            Fact::StepExpanded { step, items } => {
                let keys = items.iter().map(|item| item.key.clone()).collect();
                Some((step.clone(), keys))
            }
            _ => None,
        });
        Self {
            evidence: recorded(events.iter().map(|(_, event)| event)),
            keys: keys.collect(),
        }
    }

    /// The evidence of a step, or of an item of it.
    fn of_result<'a>(
        &'a self,
        step: &'a Name,
        key: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Place, &'a Vec<Artifact>)> {
        self.evidence.iter().filter(move |(place, _)| {
            let keys = || self.keys.get(step).into_iter().flatten();
            let own = || place.item.and_then(|item| keys().nth(item as usize));
            place.step == *step && key.is_none_or(|key| own().is_some_and(|own| own == key))
        })
    }
}
