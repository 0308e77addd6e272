//! The results for reuse shared by hosts: in the object store, found by the key the cache of a workspace has them
//! under.
//!
//! A name following from the key has the digest of the entry, and the entry those of its files: its digest is checked
//! on reading. The name itself is only as good as those who may write the object store.

use std::path::Path;

use wf_base::digest::Sha256Digest;
use wf_engine::{FutureResult, SharedResults};
use wf_exec::WorkError;
use wf_store::{BlobStore, CacheEntry};

use crate::files::{
    objects::{ObjectError, Objects},
    tree::place_inside,
};

/// The results in an object store.
pub struct StoredResults(pub Objects);

impl StoredResults {
    /// Stores a result, with its files, and those of its artifacts a state has: the others lie in the workspace.
    pub async fn put_entry(&self, entry: &CacheEntry, blobs: &BlobStore) -> Result<(), ObjectError> {
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
        Box::pin(async move {
            self.find(key, blobs).await.map_err(|error| WorkError::environmental(error.to_string()))
        })
    }
}

/// Puts the files a result restores among those of a state.
pub async fn fetch(entry: &CacheEntry, blobs: &BlobStore, objects: &Objects) -> Result<(), ObjectError> {
    for file in &entry.files {
        let path = blobs.path(&file.digest);
        if !path.exists() {
            let content = objects.get_bytes(&file.digest).await?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use wf_base::{
        name::{Name, RunId},
        time::Moment,
    };
    use wf_core::machine::{CachedFile, CachedFileKind, TaskId};
    use wf_model::JsonObject;
    use wf_store::StoreDurability;

    /// An object store, and the files of a state.
    fn places(folder: &Path) -> (StoredResults, BlobStore) {
        let objects = Objects::open(&format!("file://{}", folder.join("objects").display())).unwrap();
        (StoredResults(objects), BlobStore::new(folder.join("blobs"), StoreDurability::Normal))
    }

    /// A result with a file, which the state has.
    fn entry(path: &str, blobs: &BlobStore) -> CacheEntry {
        let digest = blobs.put_bytes(b"made").unwrap();
        CacheEntry {
            key: Sha256Digest::of_bytes(b"key"),
            run: RunId::from_bytes([1; 16]),
            task_id: TaskId::of_step(&Name::parse("a").unwrap()),
            outputs: JsonObject::new(),
            artifacts: Vec::new(),
            files: vec![CachedFile {
                path: path.to_owned(),
                digest,
                size: 4,
                mode: 0o644,
                kind: CachedFileKind::File,
            }],
            created: Moment::from_millis(1),
        }
    }

    #[tokio::test]
    async fn a_result_is_found_by_its_key_with_its_files() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (results, blobs) = places(here.path());
        let entry = entry("out/made", &blobs);
        assert!(!results.has(&entry.key).await.unwrap());
        results.put_entry(&entry, &blobs).await.unwrap();
        assert!(results.has(&entry.key).await.unwrap());
        let (_, blobs) = places(there.path());
        assert_eq!(results.find(&entry.key, &blobs).await.unwrap(), Some(entry.clone()));
        assert_eq!(blobs.read(&entry.files[0].digest).unwrap(), b"made");
        let other = Sha256Digest::of_bytes(b"other");
        assert_eq!(results.find(&other, &blobs).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_result_that_is_not_what_it_should_be_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let (results, blobs) = places(folder.path());
        let good = entry("out/made", &blobs);
        results.put_entry(&good, &blobs).await.unwrap();
        // Under another key.
        let other = Sha256Digest::of_bytes(b"other");
        let stored = results.0.put_json(&good).await.unwrap();
        results.0.set_name(&name(&other), &stored).await.unwrap();
        assert!(results.find(&other, &blobs).await.is_err());
        // With a file outside of the workspace.
        let bad = entry("../made", &blobs);
        results.put_entry(&bad, &blobs).await.unwrap();
        assert!(results.find(&bad.key, &blobs).await.is_err());
        // Under a name that leads nowhere.
        results.0.set_name(&name(&good.key), &Sha256Digest::of_bytes(b"nothing")).await.unwrap();
        assert!(results.find(&good.key, &blobs).await.is_err());
    }
}
