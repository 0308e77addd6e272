use serde_json::Value;

use crate::{
    DsseEnvelope, Signer,
    approval::{
        ANSWER_VERSION, ApprovalDecision, ApprovalRefusal, ApprovalScope, ApprovalStatement, Approvers,
        ReviewPolicy, VERSION,
        check::{check_files, check_plan, signers},
    },
    canonical,
};
use wf_base::{digest::Sha256Digest, name::PlanId};
use wf_core::machine::PinnedFile;

/// The payload type of a token.
pub const PAYLOAD: &str = "application/vnd.wf.approval+json";

/// A signed statement, not verified: [`check`](super::check()) does that.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalToken {
    envelope: DsseEnvelope,
    statement: ApprovalStatement,
}

impl ApprovalToken {
    pub fn sign(statement: ApprovalStatement, signer: &Signer) -> Self {
        Self { envelope: DsseEnvelope::seal(PAYLOAD, statement.text().as_bytes(), signer), statement }
    }

    /// Adds the signature of another approver over the same bytes. A key that has signed already is
    /// not added again.
    pub fn add_signature(&mut self, signer: &Signer) {
        let id = signer.public().id();
        if !self.signers().any(|by| by == Some(id)) {
            // The payload was made or read by this module.
            let _ = self.envelope.add_signature(signer);
        }
    }

    /// Reads a token as [`ApprovalToken::text`] writes it, and no other form: canonical JSON inside and
    /// outside, no unknown fields, a version of this format.
    pub fn parse(text: &str) -> Result<Self, ApprovalRefusal> {
        let no_token = |reason: &str| ApprovalRefusal::NoToken(reason.to_owned());
        let envelope = DsseEnvelope::parse(text).map_err(|bad| no_token(&bad.to_string()))?;
        if envelope.payload_type != PAYLOAD {
            return Err(ApprovalRefusal::OtherPayload(envelope.payload_type));
        }
        let payload = envelope.unverified();
        let payload = payload.map_err(|_| no_token("its payload is not valid base64"))?;
        let value: Value =
            serde_json::from_slice(&payload).map_err(|_| no_token("its payload is not valid JSON"))?;
        match value.get("v").and_then(Value::as_u64) {
            Some(v) if v == u64::from(VERSION) || v == u64::from(ANSWER_VERSION) => {}
            Some(v) => return Err(ApprovalRefusal::Version(v)),
            None => return Err(no_token("its version is missing")),
        }
        let statement: ApprovalStatement =
            serde_json::from_slice(&payload).map_err(|error| no_token(&error.to_string()))?;
        let token = Self { envelope, statement };
        if !token.envelope.is_standard()
            || token.text() != text
            || token.statement.text().as_bytes() != payload
        {
            return Err(ApprovalRefusal::NotCanonical);
        }
        if token.envelope.signatures.is_empty() {
            return Err(ApprovalRefusal::Unsigned);
        }
        match token.statement.find_contradiction() {
            Some(reason) => Err(ApprovalRefusal::Contradiction(reason)),
            None => Ok(token),
        }
    }

    /// Returns its only form: canonical JSON in one line.
    pub fn text(&self) -> String {
        canonical(&serde_json::to_value(&self.envelope).unwrap_or_default()) + "\n"
    }

    /// Returns the digest of the signed bytes, which does not depend on the signatures.
    pub fn digest(&self) -> Sha256Digest {
        Sha256Digest::of_bytes(self.statement.text().as_bytes())
    }

    pub fn statement(&self) -> &ApprovalStatement {
        &self.statement
    }

    pub fn envelope(&self) -> &DsseEnvelope {
        &self.envelope
    }

    /// Returns the ids of the keys it claims were used; `None` for each that is not an id.
    pub fn signers(&self) -> impl Iterator<Item = Option<Sha256Digest>> {
        let signatures = self.envelope.signatures.iter();
        signatures.map(|signature| {
            let id: Option<Sha256Digest> = signature.keyid.parse().ok();
            id.filter(|id| id.to_string() == signature.keyid)
        })
    }
}

/// The content of a goal, as the user sees it when accepting it.
#[derive(Clone, Copy, Debug)]
pub struct GoalContent<'a> {
    pub goal: &'a PlanId,
    /// The goal's file, relative to the workspace.
    pub path: &'a str,
    /// The texts the goal is made of and the programs it names, sorted by path.
    pub files: &'a [PinnedFile],
    /// The path of the workspace configuration, even if the file does not exist.
    pub config: &'a str,
    /// The digest of the settings in it the goal depends on.
    pub settings: Sha256Digest,
}

/// Checks that the signer of a token saw a goal in its present form: its texts and programs, and the settings it depends on,
/// by which the configuration may differ in all else. Its validity and number of repairs do not matter here, so a standing
/// approval counts even if it is expired, used up or withdrawn.
pub fn accepts(
    token: &ApprovalToken,
    content: &GoalContent<'_>,
    approvers: &Approvers,
) -> Result<(), ApprovalRefusal> {
    let found = u32::try_from(signers(token, approvers)?.len()).unwrap_or(u32::MAX);
    let required = approvers.quorum();
    if found < required {
        return Err(ApprovalRefusal::TooFew { required, found });
    }
    let statement = token.statement();
    if statement.verdict == ApprovalDecision::Denied {
        return Err(ApprovalRefusal::Denied(statement.reason.clone()));
    }
    let files = match (statement.scope, approvers.policy) {
        (ApprovalScope::GoalAccept, ReviewPolicy::Owner) => statement.files.clone(),
        // It is bound to the whole workspace.
        (ApprovalScope::Standing, _) => {
            let named = |pin: &&PinnedFile| {
                pin.path == content.config || content.files.iter().any(|one| one.path == pin.path)
            };
            statement.files.iter().filter(named).cloned().collect()
        }
        (approved, _) => {
            let scope = ApprovalScope::GoalAccept;
            return Err(ApprovalRefusal::OtherScope { approved, scope });
        }
    };
    check_plan(statement, content.goal, content.path)?;
    if statement.settings != Some(content.settings) {
        return check_files(&files, content.files);
    }
    let without_config = |files: &[PinnedFile]| -> Vec<PinnedFile> {
        files.iter().filter(|pin| pin.path != content.config).cloned().collect()
    };
    check_files(&without_config(&files), &without_config(content.files))
}
