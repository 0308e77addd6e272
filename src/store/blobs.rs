use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Durability, StoreError};
use crate::digest::Digest;

/// Files kept under the digest of their content.
#[derive(Clone, Debug)]
pub struct Blobs {
    dir: PathBuf,
    durability: Durability,
}

impl Blobs {
    /// Takes the folder that holds them; it is made when the first file comes.
    pub fn new(dir: PathBuf, durability: Durability) -> Self {
        Self { dir, durability }
    }

    /// Keeps a copy of a file; gives its digest and size.
    pub fn put_file(&self, path: &Path) -> Result<(Digest, u64), StoreError> {
        let _ = (&self.dir, self.durability, path);
        Err(StoreError::Closed)
    }

    /// Keeps bytes.
    pub fn put_bytes(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let _ = bytes;
        Err(StoreError::Closed)
    }

    /// Opens a kept file for reading.
    pub fn open(&self, digest: &Digest) -> Result<File, StoreError> {
        let _ = digest;
        Err(StoreError::Closed)
    }

    /// Writes a kept file to a path, all of it or nothing, and checks it on the way.
    pub fn restore(&self, digest: &Digest, to: &Path, mode: u32) -> Result<(), StoreError> {
        let _ = (digest, to, mode);
        Err(StoreError::Closed)
    }
}
