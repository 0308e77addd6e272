//! The results for reuse that hosts share: in the object store, found by the key that the cache of a workspace has them under.
//!
//! A name that follows from the key has the digest of the entry, and the entry those of its files: what is read is what its
//! digest says. The name itself is only as good as those who may write the object store.

use std::path::Path;

use wf_base::digest::Sha256Digest;
use wf_engine::{FutureResult, SharedResults};
use wf_store::{BlobStore, CacheEntry};

use crate::inside::place_inside;
use crate::objects::{ObjectError, Objects};

/// The results in an object store.
pub struct StoredResults(pub Objects);

impl StoredResults {
    /// Stores a result, with its files, and those of its artifacts that a state has: the others lie in the workspace.
    pub async fn put(&self, entry: &CacheEntry, blobs: &BlobStore) -> Result<(), ObjectError> {
        let Self(objects) = self;
        for file in &entry.files {
            objects.put_file(&blobs.path(&file.digest), &file.digest).await?;
        }
        for file in &entry.artifacts {
            let path = blobs.path(&file.digest);
            if path.exists() {
                objects.put_file(&path, &file.digest).await?;
            }
        }
        let stored = objects.put_json(entry).await?;
        objects.set_name(&name(&entry.key), &stored).await
    }

    /// True if there is a result of a key.
    pub async fn has(&self, key: &Sha256Digest) -> Result<bool, ObjectError> {
        Ok(self.0.named(&name(key)).await?.is_some())
    }

    async fn find(&self, key: &Sha256Digest, blobs: &BlobStore) -> Result<Option<CacheEntry>, ObjectError> {
        let Self(objects) = self;
        let Some(digest) = objects.named(&name(key)).await? else { return Ok(None) };
        let entry: CacheEntry = objects.get_json(&digest).await?;
        if entry.key != *key {
            return Err(ObjectError::Altered(digest));
        }
        let paths = entry.files.iter().map(|file| &file.path);
        for path in paths.chain(entry.artifacts.iter().map(|file| &file.path)) {
            place_inside(Path::new("/"), path)?;
        }
        fetch(&entry, blobs, objects).await?;
        Ok(Some(entry))
    }
}

impl SharedResults for StoredResults {
    fn find<'a>(&'a self, key: &'a Sha256Digest, blobs: &'a BlobStore) -> FutureResult<'a> {
        Box::pin(async move { self.find(key, blobs).await.map_err(|error| error.to_string()) })
    }
}

/// Puts the files that a result restores among those of a state.
pub async fn fetch(entry: &CacheEntry, blobs: &BlobStore, objects: &Objects) -> Result<(), ObjectError> {
    for file in &entry.files {
        let path = blobs.path(&file.digest);
        if !path.exists() {
            let content = objects.get(&file.digest).await?;
            let stored = blobs.put_bytes(&content);
            stored.map_err(|cause| ObjectError::File {
                path: path.display().to_string(),
                cause: std::io::Error::other(cause),
            })?;
        }
    }
    Ok(())
}

fn name(key: &Sha256Digest) -> String {
    let name = key.to_string();
    format!("results/{}", name.strip_prefix("sha256:").unwrap_or(&name))
}
