use std::fs;
use std::io;
use std::path::Path;

use super::act;
use super::log::{FOLDER, LOG};
use crate::bus::{Act, Bound, Message};
use crate::store::{self, Manifest, StoreError};
use crate::time::Moment;

/// Puts a backup in the place of the state, and writes that down. The audit log is not taken
/// back with it: the one that is there goes on; only where there is none, that of the backup does.
pub fn restore(
    from: &Path,
    state: &Path,
    replace: bool,
    now: Moment,
) -> Result<Manifest, StoreError> {
    store::restore(from, state, replace, now, &|fresh, manifest| {
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
        act::record(fresh, &Message::act(now, Act::Restored { made, end }))
    })
}

/// Copies the log and what lies beside it, as of one instant.
fn carry(from: &Path, to: &Path) -> io::Result<()> {
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
