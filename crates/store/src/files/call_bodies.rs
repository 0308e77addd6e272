use std::{
    io::Read as _,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{blobs::BlobStore, folder::StoreDurability},
};
use wf_base::digest::Sha256Digest;
use wf_core::agent::{KnownConversations, ModelRequest};

/// The folder of the requests that are not whole, below that of the bodies.
const CONTINUED: &str = "continued";

/// The maximum number of requests one continues: they may name each other in a circle.
const MAX_PARTS: usize = 10_000;

/// The bodies of the calls of a run's agents: requests, replies and results, each by its digest.
///
/// A program makes whole requests, so each has the one before in it. What a request continues is stored once: the digest
/// is that of the whole request, and the file has the messages after those of an earlier one.
#[derive(Clone, Debug)]
pub struct CallBodyStore {
    blobs: BlobStore,
    continued: BlobStore,
    known: Arc<Mutex<KnownConversations>>,
}

/// A request as it is stored if it continues another one.
#[derive(Serialize, Deserialize)]
struct ContinuedRequest {
    /// The digest of the request before.
    continues: Sha256Digest,
    /// The request, with its further messages alone.
    #[serde(flatten)]
    request: ModelRequest,
}

impl CallBodyStore {
    /// Takes the folder of the bodies; it is created with the first one.
    pub fn new(folder: PathBuf, durability: StoreDurability) -> Self {
        Self::of(&BlobStore::new(folder.clone(), durability), folder)
    }

    /// Takes the folder of the bodies, and a store as durable as it is to be.
    pub fn of(blobs: &BlobStore, folder: PathBuf) -> Self {
        let continued = blobs.in_folder(folder.join(CONTINUED));
        Self { blobs: blobs.in_folder(folder), continued, known: Arc::default() }
    }

    /// Stores bytes; returns their digest.
    pub fn put_bytes(&self, bytes: &[u8]) -> Result<Sha256Digest, StoreError> {
        self.blobs.put_bytes(bytes)
    }

    /// Stores a request; returns the digest of the whole request.
    pub fn put_request(&self, request: &ModelRequest) -> Result<Sha256Digest, StoreError> {
        let whole = serde_json::to_vec(request).unwrap_or_default();
        let digest = Sha256Digest::of_bytes(&whole);
        let known = self.known().beginning(&request.messages);
        let before = known.and_then(|known| Some((known.name.parse().ok()?, known.messages)));
        match before {
            // The program asks the same again.
            Some((continues, _)) if continues == digest => {}
            Some((continues, messages)) if !self.blobs.path(&digest).exists() => {
                let mut request = request.clone();
                request.messages.drain(..messages);
                let short = serde_json::to_vec(&ContinuedRequest { continues, request }).unwrap_or_default();
                self.continued.put_bytes_as(&digest, &short)?;
            }
            _ => drop(self.blobs.put_bytes(&whole)?),
        }
        self.known().add(&request.messages, &digest.to_string());
        Ok(digest)
    }

    /// Reads a body whole, and checks its content.
    pub fn read(&self, digest: &Sha256Digest) -> Result<Vec<u8>, StoreError> {
        if self.blobs.path(digest).exists() || !self.continued.path(digest).exists() {
            return self.blobs.read(digest);
        }
        let altered = || StoreError::Altered(self.continued.path(digest));
        let ContinuedRequest { mut continues, mut request } = self.read_continued(digest)?;
        let mut parts = vec![std::mem::take(&mut request.messages)];
        while self.continued.path(&continues).exists() && !self.blobs.path(&continues).exists() {
            if parts.len() > MAX_PARTS {
                return Err(altered());
            }
            let before = self.read_continued(&continues)?;
            parts.push(before.request.messages);
            continues = before.continues;
        }
        let first = self.blobs.read(&continues)?;
        let first_request: ModelRequest = serde_json::from_slice(&first).map_err(|_| altered())?;
        parts.push(first_request.messages);
        request.messages = parts.into_iter().rev().flatten().collect();
        let whole = serde_json::to_vec(&request).unwrap_or_default();
        if Sha256Digest::of_bytes(&whole) == *digest { Ok(whole) } else { Err(altered()) }
    }

    /// Returns the path of a stored body.
    pub fn path(&self, digest: &Sha256Digest) -> PathBuf {
        let path = self.continued.path(digest);
        if path.exists() { path } else { self.blobs.path(digest) }
    }

    fn read_continued(&self, digest: &Sha256Digest) -> Result<ContinuedRequest, StoreError> {
        let path = self.continued.path(digest);
        let mut bytes = Vec::new();
        let read = self.continued.open(digest)?.read_to_end(&mut bytes);
        read.map_err(|error| StoreError::io("read", &path, &error))?;
        serde_json::from_slice(&bytes).map_err(|_| StoreError::Altered(path))
    }

    fn known(&self) -> MutexGuard<'_, KnownConversations> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::CallBodyStore;
    use crate::{StoreDurability, StoreError};
    use wf_core::agent::{Message, ModelRequest, ToolDefinition};

    fn request(messages: usize) -> ModelRequest {
        let text = |number: usize| format!("{number:04} ").repeat(100);
        ModelRequest {
            system: "Do it.".into(),
            messages: (0..messages).map(|number| Message::User { text: text(number) }).collect(),
            tools: vec![ToolDefinition {
                name: "read".into(),
                description: "Reads.".into(),
                arguments_schema: serde_json::json!({"type": "object", "properties": {"path": {}, "all": {}}}),
            }],
            answer_schema: None,
            max_output: 100,
            temperature: Some(0.1),
        }
    }

    fn store(folder: &Path) -> CallBodyStore {
        CallBodyStore::new(folder.join("calls"), StoreDurability::Normal)
    }

    fn size(folder: &Path) -> u64 {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries
            .map(
                |entry| {
                    if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() }
                },
            )
            .sum()
    }

    #[test]
    fn requests_that_continue_each_other_take_space_once_and_are_read_whole() {
        let bytes_at = |turns: usize| {
            let dir = tempfile::tempdir().unwrap();
            let bodies = store(dir.path());
            let requests: Vec<_> = (1..=turns).map(request).collect();
            let digests: Vec<_> = requests.iter().map(|one| bodies.put_request(one).unwrap()).collect();
            for (digest, request) in digests.iter().zip(&requests).step_by(turns / 4) {
                let whole = serde_json::to_vec(request).unwrap();
                assert_eq!(*digest, wf_base::digest::Sha256Digest::of_bytes(&whole));
                assert_eq!(store(dir.path()).read(digest).unwrap(), whole, "another process");
            }
            // Stored again, by this process and by another one that knows nothing.
            let size_before = size(dir.path());
            assert_eq!(bodies.put_request(&requests[turns - 1]).unwrap(), digests[turns - 1]);
            assert_eq!(size(dir.path()), size_before);
            assert_eq!(store(dir.path()).put_request(&requests[2]).unwrap(), digests[2]);
            for (digest, request) in digests.iter().zip(&requests).step_by(turns / 4) {
                assert_eq!(bodies.read(digest).unwrap(), serde_json::to_vec(request).unwrap());
            }
            size_before
        };
        let (short, long) = (bytes_at(20), bytes_at(200));
        assert!(long < short * 11, "20 turns take {short} bytes, and 200 take {long}");
    }

    #[test]
    fn an_altered_part_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let bodies = store(dir.path());
        let digests: Vec<_> =
            (1..=3).map(|messages| bodies.put_request(&request(messages)).unwrap()).collect();
        let path = bodies.path(&digests[1]);
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, text.replace("0001", "1000")).unwrap();
        for digest in &digests[1..] {
            assert!(matches!(bodies.read(digest), Err(StoreError::Altered(_))));
        }
        fs::write(&path, text.replace(&digests[0].to_string(), &digests[1].to_string())).unwrap();
        assert!(matches!(bodies.read(&digests[2]), Err(StoreError::Altered(_))), "a circle ends");
    }
}
