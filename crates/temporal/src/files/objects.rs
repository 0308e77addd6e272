//! The object store that workers, workflows and drivers share: bytes under the SHA-256 of their content.
//!
//! **Invariant:** an object never changes, so writing one twice is writing it once, and a workflow may read one
//! whenever it likes: the digest decides the result.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError, mpsc},
};

use object_store::{
    ObjectStore, ObjectStoreExt as _, PutPayload, aws::AmazonS3Builder, local::LocalFileSystem,
    path::Path as ObjectPath,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::runtime::Handle;

use wf_base::{digest::Sha256Digest, failpoint};

/// The bytes of objects kept in memory, at most: a workflow reads the same few again and again.
const CACHE_BYTES: usize = 32 * 1024 * 1024;

/// The reason why an object cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The address is none of an object store.
    #[error("`{0}` is not an address of an object store; write `file:///folder` or `s3://bucket/prefix`")]
    Address(String),
    /// The object store does not answer, or refuses.
    #[error("cannot {doing} in the object store: {cause}")]
    Store {
        /// The operation.
        doing: String,
        /// The answer.
        cause: object_store::Error,
    },
    /// The object differs from its digest.
    #[error("object {0} was altered in the object store")]
    Altered(Sha256Digest),
    /// The object is not of the expected kind.
    #[error("object {digest} cannot be read: {cause}")]
    Content {
        digest: Sha256Digest,
        /// The mistake.
        cause: serde_json::Error,
    },
    /// A file of this machine cannot be read or written.
    #[error("cannot access {path}: {cause}")]
    File {
        /// The file.
        path: String,
        /// The error of the system.
        cause: std::io::Error,
    },
}

/// An object store.
#[derive(Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: ObjectPath,
    cache: Arc<Mutex<ObjectCache>>,
    runtime: Handle,
}

#[derive(Default)]
struct ObjectCache {
    objects: BTreeMap<Sha256Digest, Arc<Vec<u8>>>,
    bytes: usize,
}

impl Objects {
    /// Opens the object store at an address, within a runtime that does its work.
    pub fn open(address: &str) -> Result<Self, ObjectError> {
        let unknown = || ObjectError::Address(address.to_owned());
        let failed = |cause| ObjectError::Store { doing: format!("open {address}"), cause };
        let (store, prefix): (Arc<dyn ObjectStore>, &str) = match address.split_once("://") {
            Some(("file", folder)) if folder.starts_with('/') => {
                let created = std::fs::create_dir_all(folder);
                created.map_err(|cause| ObjectError::File { path: folder.to_owned(), cause })?;
                (Arc::new(LocalFileSystem::new_with_prefix(folder).map_err(failed)?), "")
            }
            Some(("s3", place)) => {
                let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
                let store = AmazonS3Builder::from_env().with_bucket_name(bucket).build().map_err(failed)?;
                (Arc::new(store), prefix)
            }
            _ => return Err(unknown()),
        };
        let prefix = ObjectPath::parse(prefix).map_err(|_| unknown())?;
        Ok(Self { store, prefix, cache: Arc::default(), runtime: Handle::current() })
    }

    fn place(&self, digest: &Sha256Digest) -> ObjectPath {
        let name = digest.to_string();
        let name = name.strip_prefix("sha256:").unwrap_or(&name);
        let folder = name.get(..2).unwrap_or_default();
        self.prefix.clone().join("sha256").join(folder).join(name)
    }

    /// Stores bytes.
    pub async fn put_bytes(&self, bytes: Vec<u8>) -> Result<Sha256Digest, ObjectError> {
        let digest = Sha256Digest::of_bytes(&bytes);
        let payload = PutPayload::from(bytes);
        failpoint::point("object.before");
        let stored = self.store.put(&self.place(&digest), payload).await;
        failpoint::point("object.after");
        stored.map_err(|cause| ObjectError::Store { doing: format!("write {digest}"), cause })?;
        Ok(digest)
    }

    /// Stores the content of a file, unless it is there.
    pub async fn put_file(&self, path: &Path, digest: &Sha256Digest) -> Result<(), ObjectError> {
        if self.store.head(&self.place(digest)).await.is_ok() {
            return Ok(());
        }
        let bytes = std::fs::read(path)
            .map_err(|cause| ObjectError::File { path: path.display().to_string(), cause })?;
        let stored = self.put_bytes(bytes).await?;
        if stored == *digest { Ok(()) } else { Err(ObjectError::Altered(*digest)) }
    }

    pub async fn has_json<T: Serialize + Sync>(&self, value: &T) -> Result<bool, ObjectError> {
        let digest = Sha256Digest::of_bytes(&json(value));
        match self.store.head(&self.place(&digest)).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(cause) => Err(ObjectError::Store { doing: format!("look for {digest}"), cause }),
        }
    }

    pub async fn get_bytes(&self, digest: &Sha256Digest) -> Result<Arc<Vec<u8>>, ObjectError> {
        if let Some(known) = self.cached(digest) {
            return Ok(known);
        }
        let failed = |cause| ObjectError::Store { doing: format!("read {digest}"), cause };
        let answer = self.store.get(&self.place(digest)).await.map_err(failed)?;
        let bytes = answer.bytes().await.map_err(failed)?.to_vec();
        if Sha256Digest::of_bytes(&bytes) != *digest {
            return Err(ObjectError::Altered(*digest));
        }
        let bytes = Arc::new(bytes);
        self.remember(*digest, &bytes);
        Ok(bytes)
    }

    /// Stores a value as JSON.
    pub async fn put_json<T: Serialize + Sync>(&self, value: &T) -> Result<Sha256Digest, ObjectError> {
        self.put_bytes(json(value)).await
    }

    /// Returns a value stored as JSON.
    pub async fn get_json<T: DeserializeOwned>(&self, digest: &Sha256Digest) -> Result<T, ObjectError> {
        parse(*digest, &self.get_bytes(digest).await?)
    }

    /// Gives an object a name, which another object may have had.
    pub async fn set_name(&self, name: &str, digest: &Sha256Digest) -> Result<(), ObjectError> {
        let payload = PutPayload::from(digest.to_string().into_bytes());
        let stored = self.store.put(&self.named_place(name), payload).await;
        stored.map(drop).map_err(|cause| ObjectError::Store { doing: format!("write {name}"), cause })
    }

    pub async fn named(&self, name: &str) -> Result<Option<Sha256Digest>, ObjectError> {
        let failed = |cause| ObjectError::Store { doing: format!("read {name}"), cause };
        let answer = match self.store.get(&self.named_place(name)).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            answer => answer.map_err(failed)?,
        };
        let bytes = answer.bytes().await.map_err(failed)?;
        // What is no digest is the name of no object.
        Ok(std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok()))
    }

    /// Returns the place of a name: its parts are folders.
    fn named_place(&self, name: &str) -> ObjectPath {
        name.split('/').fold(self.prefix.clone(), ObjectPath::join)
    }

    /// Stores a value as JSON, from the code of a workflow, which may not wait for anything but its history.
    pub fn put_json_now<T: Serialize>(&self, value: &T) -> Result<Sha256Digest, ObjectError> {
        let (objects, bytes) = (self.clone(), json(value));
        self.now(async move { objects.put_bytes(bytes).await })
    }

    /// Returns a value stored as JSON, to the code of a workflow.
    pub fn get_json_now<T: DeserializeOwned>(&self, digest: &Sha256Digest) -> Result<T, ObjectError> {
        parse(*digest, &self.get_now(digest)?)
    }

    /// Returns an object, to the code of a workflow.
    pub fn get_now(&self, digest: &Sha256Digest) -> Result<Arc<Vec<u8>>, ObjectError> {
        let (objects, digest) = (self.clone(), *digest);
        self.now(async move { objects.get_bytes(&digest).await })
    }

    /// Does work on the runtime, and blocks this thread until it is done. The runtime has other threads.
    fn now<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ObjectError>> + Send + 'static,
    ) -> Result<T, ObjectError> {
        let (done, wait) = mpsc::sync_channel(1);
        self.runtime.spawn(async move { done.send(work.await) });
        wait.recv().unwrap_or_else(|_| {
            let cause = object_store::Error::NotImplemented {
                operation: "work while the program ends".into(),
                implementer: "the runtime".into(),
            };
            Err(ObjectError::Store { doing: "work".into(), cause })
        })
    }

    fn cached(&self, digest: &Sha256Digest) -> Option<Arc<Vec<u8>>> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.objects.get(digest).cloned()
    }

    fn remember(&self, digest: Sha256Digest, bytes: &Arc<Vec<u8>>) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.bytes + bytes.len() > CACHE_BYTES {
            *cache = ObjectCache::default();
        }
        if bytes.len() <= CACHE_BYTES && cache.objects.insert(digest, Arc::clone(bytes)).is_none() {
            cache.bytes += bytes.len();
        }
    }
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    // Values of this crate have text as keys and no number that JSON lacks.
    serde_json::to_vec(value).unwrap_or_default()
}

fn parse<T: DeserializeOwned>(digest: Sha256Digest, bytes: &[u8]) -> Result<T, ObjectError> {
    serde_json::from_slice(bytes).map_err(|cause| ObjectError::Content { digest, cause })
}
