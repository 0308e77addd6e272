//! The parts of messages that may be too large for them, and are kept as objects: a value, and a file of a run.
//!
//! A function that ends in `_now` is for the code of a workflow, which may not wait for anything but its history.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use wf_base::digest::Sha256Digest;

use crate::files::objects::{ObjectError, Objects};

/// The most bytes of a value that is sent as it is.
const INLINE_BYTES: usize = 4 * 1024;

/// A value in a message: the value itself if it is small, else an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parcel {
    Inline(Value),
    Object(Sha256Digest),
}

impl Parcel {
    /// Packs a value, from the code of a workflow.
    pub fn pack_now<T: Serialize>(value: &T, objects: &Objects) -> Result<Self, ObjectError> {
        match Self::inline(value) {
            Some(parcel) => Ok(parcel),
            None => Ok(Self::Object(objects.put_json_now(value)?)),
        }
    }

    /// Packs a value.
    pub async fn pack<T: Serialize + Sync>(value: &T, objects: &Objects) -> Result<Self, ObjectError> {
        match Self::inline(value) {
            Some(parcel) => Ok(parcel),
            None => Ok(Self::Object(objects.put_json(value).await?)),
        }
    }

    /// Returns the parcel of a value stored as an object.
    pub fn of_stored<T: Serialize>(value: &T, digest: Sha256Digest) -> Self {
        Self::inline(value).unwrap_or(Self::Object(digest))
    }

    /// Returns the parcel of a small value; `None`: it has to be an object.
    fn inline<T: Serialize>(value: &T) -> Option<Self> {
        let value = serde_json::to_value(value).ok()?;
        (value.to_string().len() <= INLINE_BYTES).then_some(Self::Inline(value))
    }

    /// Unpacks the value, in the code of a workflow.
    pub fn open_now<T: DeserializeOwned>(self, objects: &Objects) -> Result<T, ObjectError> {
        match self {
            Self::Inline(value) => from_value(value),
            Self::Object(digest) => objects.get_json_now(&digest),
        }
    }

    /// Unpacks the value.
    pub async fn open<T: DeserializeOwned>(self, objects: &Objects) -> Result<T, ObjectError> {
        match self {
            Self::Inline(value) => from_value(value),
            Self::Object(digest) => objects.get_json(&digest).await,
        }
    }
}

fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, ObjectError> {
    // The value was in the message, so no object is to be named.
    let digest = Sha256Digest::of_bytes(b"");
    serde_json::from_value(value).map_err(|cause| ObjectError::Content { digest, cause })
}

/// A file in the folder of a run: the log of an attempt, a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFile {
    /// Its path in the folder of all runs; the first part is the id of its run.
    pub path: String,
    /// The object with its content.
    pub digest: Sha256Digest,
}
