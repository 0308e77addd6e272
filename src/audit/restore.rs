use std::fs;
use std::io;
use std::path::Path;

use super::act;
use super::log::{FOLDER, LOG};
use crate::bus::{Act, Bound, Message};
use crate::store::{self, Carried, Manifest, StoreError, own_file};
use crate::time::Moment;

/// Puts a backup in the place of the state, and writes that down. The audit log is not taken
/// back with it: the one that is there goes on; only where there is none, that of the backup does.
pub fn restore(
    from: &Path,
    state: &Path,
    replace: bool,
    now: Moment,
) -> Result<Manifest, StoreError> {
    store::restore(from, state, replace, now, &|fresh, manifest, carried| {
        let failed = |error| StoreError::io("keep the audit log of", state, &error);
        let (own, theirs) = (state.join(FOLDER), fresh.join(FOLDER));
        if own.join(LOG).exists() {
            carry(&own, &theirs).map_err(failed)?;
        }
        let end = Bound {
            seq: manifest.events,
            hash: manifest.head,
        };
        let made = manifest.created;
        act::record(fresh, &Message::act(now, Act::Restored { made, end }))?;
        let Some(Carried { uses, place }) = carried else {
            return Ok(());
        };
        let db = Bound {
            seq: place.seq,
            hash: place.hash,
        };
        let uses = uses as u64;
        act::record(fresh, &Message::act(now, Act::UsesCarried { uses, db }))
    })
}

/// Copies the log and what lies beside it, as of one instant.
fn carry(from: &Path, to: &Path) -> io::Result<()> {
    own_file(&from.join(LOG))?;
    let log = fs::File::open(from.join(LOG))?;
    log.lock_shared()?;
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
