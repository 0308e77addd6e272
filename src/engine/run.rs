use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;

use crate::exec::pinned::Pins;
use crate::exec::secret::Secrets;
use crate::exec::view::View;
use crate::machine::{
    Approved, Artifact, Attempt, Event, Fact, GatePoint, Ledger, Place, Stale, Usage,
};
use crate::mask::Mask;
use crate::model::{Object, Plan};
use crate::name::Name;
use crate::repeat::Past;
use crate::store::{CacheLookup, StoreError, Token};

use super::{RunRef, Session};

/// The right to work on a run and on what is nested in it, and whom it had before.
#[derive(Clone, Debug)]
pub(super) struct Tenure {
    /// What events are written under.
    pub(super) token: Token,
    /// The keepers of those who worked on it before; `None` if the machine was restarted since,
    /// so that their journals may have lost their last lines.
    pub(super) keepers: Option<Arc<[String]>>,
}

/// What is to be done.
pub(super) struct Errand {
    pub(super) plan: Arc<Plan>,
    pub(super) params: Object,
    /// The run that it repeats, and what it takes over of it.
    pub(super) past: Option<Past>,
    /// What checks see of the workspace; `None`: nothing of the outermost run's plan is checked.
    pub(super) view: Option<Arc<View>>,
    /// The files that were approved, if the outermost run has an approval.
    pub(super) pins: Option<Arc<Pins>>,
    /// Who approved it, if it is the outermost.
    pub(super) approved: Option<Arc<Approved>>,
    /// The evidence of its places that is recorded.
    pub(super) evidence: BTreeMap<Place, Vec<Artifact>>,
}

/// One run, as the units that work for it see it.
pub(super) struct Ongoing {
    pub(super) session: Arc<Session>,
    pub(super) this: RunRef,
    /// The plan as it is written.
    pub(super) plan: Arc<Plan>,
    /// The plan as it is carried out now: steps may be done in other ways.
    current: Mutex<Arc<Plan>>,
    params: Object,
    /// The parameters, if gates rewrote them.
    rewritten: OnceLock<Object>,
    /// By which right it is worked on.
    pub(super) tenure: Tenure,
    /// The run that it repeats, and what it takes over of it.
    pub(super) past: Option<Past>,
    /// The run's folder: logs and output files.
    pub(super) dir: PathBuf,
    pub(super) secrets: Secrets,
    mask: Mutex<(usize, Mask)>,
    /// What the cache was asked, and the globs of what is written, by place.
    keys: Mutex<BTreeMap<Place, (CacheLookup, Vec<String>)>>,
    /// What checks see of the workspace; `None`: nothing of the outermost run's plan is checked.
    pub(super) view: Option<Arc<View>>,
    /// The files that were approved, if the outermost run has an approval.
    pub(super) pins: Option<Arc<Pins>>,
    /// Who approved the outermost run.
    pub(super) approved: Option<Arc<Approved>>,
    files: Mutex<Files>,
    /// What it has used up, as far as that is durable.
    ledger: Mutex<Ledger>,
}

/// What is known of the files of results.
#[derive(Default)]
struct Files {
    /// What an attempt left, put away.
    left: BTreeMap<Attempt, Vec<Artifact>>,
    /// What a place was checked with.
    evidence: BTreeMap<Place, Vec<Artifact>>,
    /// What was seen not to be what was verified, and is still to be told.
    stale: Vec<Stale>,
}

impl Ongoing {
    pub(super) fn new(
        session: Arc<Session>,
        this: RunRef,
        errand: Errand,
        tenure: Tenure,
    ) -> Result<Arc<Self>, StoreError> {
        let Errand {
            plan,
            params,
            past,
            view,
            pins,
            approved,
            evidence,
        } = errand;
        let dir = session.store.folder().create_run(&this.id)?;
        let declared = plan.parts().secrets.clone();
        let host = Arc::clone(&session.host);
        let places = (
            session.root.clone(),
            session.store.folder().path().to_path_buf(),
        );
        let secrets = Secrets::new(declared, host, places, session.hands.clone());
        let secrets = secrets.with(session.secrets.clone());
        let secrets = secrets.pinned(pins.clone());
        let mask = Mutex::new((0, Mask::default()));
        let keys = Mutex::default();
        let files = Mutex::new(Files {
            evidence,
            ..Files::default()
        });
        Ok(Arc::new(Self {
            session,
            this,
            current: Mutex::new(Arc::clone(&plan)),
            plan,
            params,
            rewritten: OnceLock::new(),
            tenure,
            past,
            dir,
            secrets,
            mask,
            keys,
            view,
            pins,
            approved,
            files,
            ledger: Mutex::default(),
        }))
    }

    /// The resolved parameters, as gates let them in.
    pub(super) fn params(&self) -> &Object {
        self.rewritten.get().unwrap_or(&self.params)
    }

    /// The plan as it is carried out now.
    pub(super) fn current(&self) -> Arc<Plan> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Notes in which ways steps are done from now on.
    pub(super) fn note_plan(&self, plan: &Arc<Plan>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::clone(plan);
    }

    /// What it has used up, for the run that it is nested in.
    pub(super) fn usage(&self) -> Usage {
        let ledger = self.ledger.lock();
        ledger.unwrap_or_else(PoisonError::into_inner).usage()
    }

    /// Notes what gates let in, and what is used up.
    pub(super) fn note_passed(&self, event: &Event) {
        let ledger = self.ledger.lock();
        let mut ledger = ledger.unwrap_or_else(PoisonError::into_inner);
        ledger.take(event.at, &event.fact);
        drop(ledger);
        if let Fact::GatesPassed {
            point: GatePoint::Start,
            rewritten,
            ..
        } = &event.fact
            && let Some(params) = rewritten.get("message").and_then(Value::as_object)
        {
            let _ = self.rewritten.set(params.clone());
        }
    }

    /// What must not be shown: every secret read so far.
    pub(super) async fn mask(&self) -> Mask {
        let known = self.secrets.known().await;
        let mut kept = self.mask.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 != known.len() {
            let values = known.iter().map(crate::exec::secret::Hidden::expose);
            *kept = (known.len(), Mask::new(values));
        }
        kept.1.clone()
    }

    /// Notes the cache key of a place, and the globs of what it writes, for when its result is
    /// known.
    pub(super) fn remember_key(&self, asked: CacheLookup, files: Vec<String>) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.insert(asked.place.clone(), (asked, files));
    }

    /// Forgets the keys of steps that begin anew: they are done in another way, or with other
    /// inputs, and what comes of that is not what was looked for.
    pub(super) fn forget_keys(&self, steps: &[Name]) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|place, _| !steps.contains(&place.step));
    }

    /// What the cache was asked about a place, and the globs of what it writes.
    pub(super) fn known_key(&self, place: &Place) -> Option<(CacheLookup, Vec<String>)> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.get(place).cloned()
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what an attempt left, for when it is checked.
    pub(super) fn note_left(&self, attempt: &Attempt, left: &[Artifact]) {
        self.files().left.insert(attempt.clone(), left.to_vec());
    }

    /// What an attempt left and was put away. A result from the cache left nothing.
    pub(super) fn left_by(&self, attempt: &Attempt) -> Result<Vec<Artifact>, StoreError> {
        if let Some(left) = self.files().left.remove(attempt) {
            return Ok(left);
        }
        let step = super::steps::step_of(self, &attempt.place);
        if attempt.attempt == 0 || step.artifacts.is_empty() {
            return Ok(Vec::new());
        }
        // An earlier engine saw it end.
        let all = self
            .session
            .store
            .log_reader()?
            .artifacts(&self.this.id)?
            .into_iter();
        let of_it = all.filter(|row| {
            let place = &attempt.place;
            (&row.step, row.item, row.attempt) == (&place.step, place.item, attempt.attempt)
        });
        Ok(of_it.map(|row| row.artifact).collect())
    }

    /// Notes that a file of a verified result is not what was verified.
    pub(super) fn note_stale(&self, stale: Stale) {
        self.files().stale.push(stale);
    }

    /// What was noted so, once.
    pub(super) fn take_stale(&self) -> Vec<Stale> {
        std::mem::take(&mut self.files().stale)
    }

    /// Notes what a place was checked with.
    pub(super) fn note_evidence(&self, place: &Place, seen: &[Artifact]) {
        let mut files = self.files();
        if seen.is_empty() {
            files.evidence.remove(place);
        } else {
            files.evidence.insert(place.clone(), seen.to_vec());
        }
    }

    /// The files that all its places were checked with, and that are there: what `finally` steps
    /// cleaned up says nothing any more.
    pub(super) fn seen(&self) -> Vec<Artifact> {
        let files = self.files();
        let all = files.evidence.values().flatten();
        let there = all.filter(|file| self.session.root.join(&file.path).exists());
        let by_path = there.map(|file| (file.path.clone(), file.clone()));
        let by_path: BTreeMap<String, Artifact> = by_path.collect();
        by_path.into_values().collect()
    }

    /// What a place was checked with.
    pub(super) fn evidence_of(&self, place: &Place) -> Option<Vec<Artifact>> {
        self.files().evidence.get(place).cloned()
    }

    /// The places of some steps that were checked with files.
    pub(super) fn places_of<'a>(&self, steps: impl Iterator<Item = &'a Name>) -> Vec<Place> {
        let files = self.files();
        if files.evidence.is_empty() {
            return Vec::new();
        }
        let steps: Vec<&Name> = steps.collect();
        let places = files.evidence.keys();
        places
            .filter(|place| steps.contains(&&place.step))
            .cloned()
            .collect()
    }
}
