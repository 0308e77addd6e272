use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::digest::Digest;
use crate::exec::secret::Secrets;
use crate::machine::Place;
use crate::mask::Mask;
use crate::model::{Object, Plan};
use crate::repeat::Past;
use crate::store::{StoreError, Token};

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
}

/// One run, as the units that work for it see it.
pub(super) struct Ongoing {
    pub(super) session: Arc<Session>,
    pub(super) this: RunRef,
    pub(super) plan: Arc<Plan>,
    pub(super) params: Object,
    /// By which right it is worked on.
    pub(super) tenure: Tenure,
    /// The run that it repeats, and what it takes over of it.
    pub(super) past: Option<Past>,
    /// The run's folder: logs and output files.
    pub(super) dir: PathBuf,
    pub(super) secrets: Secrets,
    mask: Mutex<(usize, Mask)>,
    /// The cache keys that were looked for, and the globs of what is written, by place.
    keys: Mutex<BTreeMap<Place, (Digest, Vec<String>)>>,
}

impl Ongoing {
    pub(super) fn new(
        session: Arc<Session>,
        this: RunRef,
        errand: Errand,
        tenure: Tenure,
    ) -> Result<Arc<Self>, StoreError> {
        let Errand { plan, params, past } = errand;
        let dir = session.store.folder().create_run(&this.id)?;
        let declared = plan.parts().secrets.clone();
        let (host, root) = (Arc::clone(&session.host), session.root.clone());
        let secrets =
            Secrets::new(declared, host, root, session.hands.clone()).with(session.secrets.clone());
        let mask = Mutex::new((0, Mask::default()));
        let keys = Mutex::default();
        Ok(Arc::new(Self {
            session,
            this,
            plan,
            params,
            tenure,
            past,
            dir,
            secrets,
            mask,
            keys,
        }))
    }

    /// What must not be shown: every secret read so far.
    pub(super) async fn mask(&self) -> Mask {
        let known = self.secrets.known().await;
        let mut kept = self
            .mask
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if kept.0 != known.len() {
            let values = known.iter().map(crate::exec::secret::Hidden::expose);
            *kept = (known.len(), Mask::new(values));
        }
        kept.1.clone()
    }

    /// Notes the cache key of a place, and the globs of what it writes, for when its result is
    /// known.
    pub(super) fn remember_key(&self, place: &Place, key: Digest, files: Vec<String>) {
        let mut keys = self
            .keys
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        keys.insert(place.clone(), (key, files));
    }

    /// The cache key that was looked for at a place, and the globs of what it writes.
    pub(super) fn known_key(&self, place: &Place) -> Option<(Digest, Vec<String>)> {
        let keys = self
            .keys
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        keys.get(place).cloned()
    }
}
