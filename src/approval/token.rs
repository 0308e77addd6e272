use serde_json::Value;

use super::{Refusal, Statement, VERSION};
use crate::digest::Digest;
use crate::seal::{Envelope, Signer, canonical};

/// What the payload of a token is.
pub const PAYLOAD: &str = "application/vnd.wf.approval+json";

/// A signed statement. Whether it may be believed is for [`check`](super::check()) to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    envelope: Envelope,
    statement: Statement,
}

impl Token {
    /// Signs a statement.
    pub fn sign(statement: Statement, signer: &Signer) -> Self {
        Self {
            envelope: Envelope::seal(PAYLOAD, statement.text().as_bytes(), signer),
            statement,
        }
    }

    /// Adds the signature of another approver to the same bytes. Who has signed already is not
    /// added again.
    pub fn sign_too(&mut self, signer: &Signer) {
        let id = signer.public().id();
        if !self.signers().any(|by| by == Some(id)) {
            // The payload was made or read by this module.
            let _ = self.envelope.seal_too(signer);
        }
    }

    /// Reads a token as [`Token::text`] writes it. Only the one form that there is of it is read:
    /// canonical JSON inside and outside, no unknown fields, the version of this format.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let no_token = |why: &str| Refusal::NoToken(why.to_owned());
        let envelope = Envelope::parse(text).map_err(|bad| no_token(&bad.to_string()))?;
        if envelope.payload_type != PAYLOAD {
            return Err(Refusal::OtherPayload(envelope.payload_type));
        }
        let payload = envelope.unverified();
        let payload = payload.map_err(|_| no_token("its payload is not in base64"))?;
        let value: Value =
            serde_json::from_slice(&payload).map_err(|_| no_token("its payload is not JSON"))?;
        match value.get("v").and_then(Value::as_u64) {
            Some(v) if v == u64::from(VERSION) => {}
            Some(v) => return Err(Refusal::Version(v)),
            None => return Err(no_token("it does not say its version")),
        }
        let statement: Statement =
            serde_json::from_slice(&payload).map_err(|error| no_token(&error.to_string()))?;
        let token = Self {
            envelope,
            statement,
        };
        if !token.envelope.is_standard()
            || token.text() != text
            || token.statement.text().as_bytes() != payload
        {
            return Err(Refusal::NotCanonical);
        }
        if token.envelope.signatures.is_empty() {
            return Err(Refusal::Unsigned);
        }
        match token.statement.contradiction() {
            Some(why) => Err(Refusal::Contradiction(why)),
            None => Ok(token),
        }
    }

    /// The one form that there is of it: canonical JSON in one line.
    pub fn text(&self) -> String {
        canonical(&serde_json::to_value(&self.envelope).unwrap_or_default()) + "\n"
    }

    /// The digest of what was signed: the same however many have signed.
    pub fn digest(&self) -> Digest {
        Digest::of(self.statement.text().as_bytes())
    }

    /// What it says.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The envelope.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The ids of the keys that it says were used; `None` for what is no id.
    pub fn signers(&self) -> impl Iterator<Item = Option<Digest>> {
        let signatures = self.envelope.signatures.iter();
        signatures.map(|signature| {
            let id: Option<Digest> = signature.keyid.parse().ok();
            id.filter(|id| id.to_string() == signature.keyid)
        })
    }
}
