//! Bundles of memory: who vouches for one, and its import.

use super::{MemoryCounts, open_store};
use crate::{Caller, CliExitCode, CommandError, approve::SigningRules, watch};
use wf_base::{
    digest::Sha256Digest,
    remedy::{Remedy, UserAction},
};
use wf_core::memory::MemoryBundle;
use wf_sign::{
    DsseEnvelope,
    approval::{ApprovalRefusal, envelope_signers},
};
use wf_store::feed::WorkspaceAction;

/// The type of a signed bundle of memory, in its envelope.
pub const BUNDLE_PAYLOAD: &str = "application/vnd.wf.memory+jsonl";

/// The text of a bundle, and its signers.
#[derive(Debug)]
pub struct OpenedBundle {
    pub text: String,
    /// The approvers who signed it, by name; none: it is not signed.
    pub signers: Vec<String>,
    /// Their keys, by id.
    pub keys: Vec<Sha256Digest>,
}

/// Opens a bundle. A signed one needs as many listed approvers as the workspace requires.
pub fn open_bundle(caller: &dyn Caller, text: String) -> Result<OpenedBundle, CommandError> {
    let Ok(envelope) = DsseEnvelope::parse(&text) else {
        return Ok(OpenedBundle { text, signers: Vec::new(), keys: Vec::new() });
    };
    let refused = |message: String| {
        CommandError::new(CliExitCode::Approval, message).hint(
            Remedy::from("nothing was imported; sign it with `")
                .action(UserAction::SignMemory)
                .text("`, or import it without a signature"),
        )
    };
    if envelope.payload_type != BUNDLE_PAYLOAD {
        return Err(refused("the file is signed, and no bundle of memory".into()));
    }
    let approvers = SigningRules::of(caller, &caller.host().workspace())?.approvers;
    let signers = envelope_signers(&envelope, caller.host().now(), &approvers);
    let signers = signers.map_err(|refusal| refused(refusal.to_string()))?;
    let (count, required) = (u32::try_from(signers.len()).unwrap_or(u32::MAX), approvers.quorum());
    if count < required {
        return Err(refused(ApprovalRefusal::TooFew { required, found: count }.to_string()));
    }
    let payload = envelope.unverified().ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = payload.ok_or_else(|| refused("the signed bundle is not UTF-8".into()))?;
    let keys = signers.iter().map(|approver| approver.public.id()).collect();
    Ok(OpenedBundle { text, signers: signers.iter().map(|approver| approver.name.clone()).collect(), keys })
}

/// Imports a bundle, all or nothing; returns the numbers of new entries.
pub fn import_bundle(
    caller: &dyn Caller,
    bundle: MemoryBundle,
    signed_by: Vec<Sha256Digest>,
) -> Result<MemoryCounts, CommandError> {
    let mut new = MemoryCounts::default();
    if bundle != MemoryBundle::default() {
        let (megrams, notes) = open_store(caller.host())?.memory().import(bundle).wait()?;
        new = MemoryCounts { megrams, notes };
    }
    if new.total() > 0 {
        let (megrams, notes) = (new.megrams as u64, new.notes as u64);
        watch::record_quietly(caller, WorkspaceAction::MemoryImported { megrams, notes, signed_by });
    }
    Ok(new)
}
