//! The checkpoint of a verification without findings, so that the next one starts there.
//!
//! It is what `wf audit checkpoint` makes, signed by the key of the user: who can write the state, and not the key, can remove it,
//! or put an older one in its place, and gets a longer verification. It is kept only where that key signs without a passphrase
//! from a person.

use std::{
    fs::{self, Permissions},
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
};

use crate::{
    Host,
    keys::{author, unattended_signer},
};
use wf_audit::{AuditHead, Checkpoint, FOLDER, PAYLOAD};
use wf_sign::DsseEnvelope;
use wf_store::{LogPosition, own_file};

/// The name of its file, beside the audit log.
const FILE: &str = "verified.dsse.json";

fn path(host: &Host) -> PathBuf {
    host.workspace().state.join(FOLDER).join(FILE)
}

/// Returns the kept checkpoint; `None` if there is none with a signature of the user's key.
pub fn read_checkpoint(host: &Host) -> Option<Checkpoint> {
    let path = path(host);
    own_file(&path).ok()?;
    let envelope = DsseEnvelope::parse(&fs::read_to_string(path).ok()?).ok()?;
    let payload = envelope.open(PAYLOAD, &author(host)?.public).ok()?;
    Checkpoint::parse(&String::from_utf8(payload).ok()?)
}

/// Keeps the checkpoint of a verification. Where that is impossible, the next one is of everything.
pub fn keep_checkpoint(host: &Host, checkpoint: &Checkpoint) {
    let Some(signer) = unattended_signer(host) else { return };
    let envelope = DsseEnvelope::seal(PAYLOAD, checkpoint.text().as_bytes(), &signer);
    let path = path(host);
    let Some(dir) = path.parent() else { return };
    let written = tempfile::NamedTempFile::new_in(dir).and_then(|mut file| {
        file.write_all(serde_json::to_string(&envelope)?.as_bytes())?;
        // It is no secret, and whoever may copy the state may copy it, too.
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        file.persist(&path).map_err(|error| error.error)
    });
    drop(written);
}

/// Keeps what a verification of the database alone has shown; the audit log is verified up to where it was before.
pub fn keep_database(host: &Host, position: LogPosition) {
    let log = read_checkpoint(host).map_or_else(AuditHead::default, |checkpoint| checkpoint.log);
    keep_checkpoint(host, &Checkpoint::new(host.now(), Some(position), log));
}
