//! The texts of gates for a model call: context that the model gets with it, or a reply in the model's place.
//!
//! **Invariant:** a call that a gate answered is not made and not paid. **Invariant:** they count for exactly the request
//! that the gates were asked about; the fact that lets it begin has them, so that a resume and a replay use the same.

use serde::{Deserialize, Serialize};

use wf_base::digest::Sha256Digest;
use wf_base::name::GateId;

/// The texts of gates for a model call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallSupplement {
    /// The context that the model gets with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<AddedContext>,
    /// The reply in the model's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<GateReply>,
}

/// The context that gates add to a model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AddedContext {
    /// The digest of the text, as the model gets it.
    pub text: Sha256Digest,
    /// The estimated tokens of the text.
    pub tokens: u64,
    /// The source of the text, if that is not trusted; absent: it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

/// The reply of a gate in a model's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateReply {
    /// The gate.
    pub gate: GateId,
    /// The digest of the reply.
    pub reply: Sha256Digest,
}

impl CallSupplement {
    /// True if it has nothing.
    pub fn is_none(&self) -> bool {
        self.context.is_none() && self.reply.is_none()
    }

    /// Returns the estimated tokens that it adds to the request.
    pub fn tokens(&self) -> u64 {
        self.context.as_ref().map_or(0, |context| context.tokens)
    }
}
