//! The advice of memory, explained: the evidence of each cluster today, and the rules that override it; and who vouches for
//! a bundle of it.

use serde_json::{Value, json};

use crate::approve::SigningRules;
use crate::{Caller, CliExitCode, CommandError};
use wf_base::digest::Sha256Digest;
use wf_base::time::Moment;
use wf_core::memory::{
    Megram, MegramTags, MemoryAction, MemoryPotentials, clusters, potentials, ruled_action, share,
};

use wf_sign::DsseEnvelope;
use wf_sign::approval::{ApprovalRefusal, envelope_signers};

/// The type of a signed bundle of memory, in its envelope.
pub const BUNDLE_PAYLOAD: &str = "application/vnd.wf.memory+jsonl";

/// The text of a bundle, and who vouches for it.
#[derive(Debug)]
pub struct OpenedBundle {
    pub text: String,
    /// The approvers who signed it, by name; none: it is not signed.
    pub signers: Vec<String>,
    /// Their keys, by id.
    pub keys: Vec<Sha256Digest>,
}

/// Opens a bundle. One that is signed must be signed by as many listed approvers as the workspace requires.
pub fn open_bundle(caller: &dyn Caller, text: String) -> Result<OpenedBundle, CommandError> {
    let Ok(envelope) = DsseEnvelope::parse(&text) else {
        return Ok(OpenedBundle { text, signers: Vec::new(), keys: Vec::new() });
    };
    let refused = |message: String| {
        CommandError::new(CliExitCode::Approval, message)
            .hint("nothing was imported; sign it with `wf memory sign`, or import it without a signature")
    };
    if envelope.payload_type != BUNDLE_PAYLOAD {
        return Err(refused("the file is signed, and no bundle of memory".into()));
    }
    let approvers = SigningRules::of(caller, &caller.host().workspace())?.approvers;
    let signers = envelope_signers(&envelope, caller.host().now(), &approvers);
    let signers = signers.map_err(|refusal| refused(refusal.to_string()))?;
    let (found, required) = (u32::try_from(signers.len()).unwrap_or(u32::MAX), approvers.quorum());
    if found < required {
        return Err(refused(ApprovalRefusal::TooFew { required, found }.to_string()));
    }
    let payload = envelope.unverified().ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = payload.ok_or_else(|| refused("the signed bundle is not UTF-8".into()))?;
    let keys = signers.iter().map(|one| one.public.id()).collect();
    Ok(OpenedBundle { text, signers: signers.iter().map(|one| one.name.clone()).collect(), keys })
}

/// The knowledge about a cluster.
#[derive(Debug)]
pub struct ClusterKnowledge<'a> {
    pub tags: &'a MegramTags,
    /// The number of megrams that are evidence.
    pub megrams: usize,
    /// The sums of their evidence.
    pub sums: MemoryPotentials,
    /// The action by the rules, if there are any.
    pub rule_action: Option<MemoryAction>,
}

/// Returns the knowledge about each cluster of megrams, by its tags.
pub fn cluster_knowledge(megrams: &[Megram], now: Moment) -> Vec<ClusterKnowledge<'_>> {
    let clusters = clusters(megrams).into_iter();
    let known = clusters.map(|(tags, cluster)| ClusterKnowledge {
        tags,
        megrams: cluster.iter().filter(|one| one.level.is_evidence()).count(),
        sums: potentials(cluster.iter().copied(), now),
        rule_action: ruled_action(&cluster).map(|(action, _)| action),
    });
    // A law by itself says nothing about a tool and a target.
    known.filter(|known| known.megrams > 0 || known.rule_action.is_some()).collect()
}

impl ClusterKnowledge<'_> {
    /// Returns the advised action, and its source.
    pub fn advice(&self) -> (MemoryAction, &'static str) {
        match self.rule_action {
            Some(action) => (action, "rule"),
            None => (self.sums.action, "evidence"),
        }
    }

    /// Returns it as a document.
    pub fn json(&self) -> Value {
        let (action, by) = self.advice();
        json!({
            "space": self.tags.space,
            "entity": self.tags.entity,
            "action": action,
            "by": by,
            "megrams": self.megrams,
            "attention": self.sums.attention,
            "decision": self.sums.decision,
        })
    }
}

/// Explains the advice from a cluster: the share of each megram, their sums, and the rules that override them.
pub fn cluster_explanation(megrams: &[Megram], now: Moment) -> Value {
    let known = potentials(megrams, now);
    let cluster: Vec<&Megram> = megrams.iter().collect();
    let ruled = ruled_action(&cluster);
    let one = |megram: &Megram| {
        let share = share(megram, now);
        json!({
            "megram": megram,
            "days": share.days,
            "attention": share.attention,
            "decision": share.decision,
        })
    };
    json!({
        "v": 1,
        "megrams": megrams.iter().map(one).collect::<Vec<Value>>(),
        "attention": known.attention,
        "decision": known.decision,
        "evidence": known.action.as_str(),
        "because": known.action.table_row(),
        "action": ruled.as_ref().map_or(known.action, |(decided, _)| *decided).as_str(),
        "rules": ruled.map(|(_, rules)| rules),
    })
}
