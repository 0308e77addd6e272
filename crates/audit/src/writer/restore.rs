use std::fs;
use std::io;
use std::path::Path;

use crate::log::audit_log::{FOLDER, LOG};
use crate::writer::act;
use wf_base::time::Moment;
use wf_store::feed::{BusMessage, LogAnchor, WorkspaceAction};
use wf_store::{self as store, BackupManifest, CarriedUses, StoreError, own_file};

/// Replaces the state with a backup, and records it. The audit log does not go back: the present
/// one continues; only if there is none, that of the backup does.
pub fn restore(from: &Path, state: &Path, replace: bool, now: Moment) -> Result<BackupManifest, StoreError> {
    store::restore(from, state, replace, now, &|fresh, manifest, carried| {
        let failed = |error| StoreError::io("keep the audit log of", state, &error);
        let (own, theirs) = (state.join(FOLDER), fresh.join(FOLDER));
        // The audit log may be behind the database: what a command without an auditor wrote is added by the next.
        if own.join(LOG).exists() {
            act::catch_up(state)?;
            carry(&own, &theirs).map_err(failed)?;
        } else {
            act::catch_up(fresh)?;
        }
        let end = LogAnchor { seq: manifest.events, hash: manifest.head };
        let made = manifest.created;
        act::record(fresh, &BusMessage::act(now, WorkspaceAction::Restored { made, end }))?;
        let Some(CarriedUses { uses, position }) = carried else {
            return Ok(());
        };
        let db = LogAnchor { seq: position.seq, hash: position.hash };
        let uses = uses as u64;
        act::record(fresh, &BusMessage::act(now, WorkspaceAction::UsesCarried { uses, db }))
    })
}

/// Copies the log and the files beside it, as of one instant.
fn carry(from: &Path, to: &Path) -> io::Result<()> {
    own_file(&from.join(LOG))?;
    let log = fs::File::open(from.join(LOG))?;
    log.lock_shared()?;
    match fs::remove_dir_all(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(to)?,
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
