//! A stored file that is compared with its digest each time it is read.
//!
//! The folder of a state belongs to its user, and a program of theirs may change it. A file is named by its digest, so
//! whoever reads it may rely on its content: it is compared as a whole before the first byte is given out, and again
//! while it is read, since it may be changed in between.

use std::{
    fs::File,
    io::{self, Read, Seek as _},
    path::PathBuf,
};

use sha2::{Digest as _, Sha256};

use crate::error::StoreError;
use wf_base::digest::Sha256Digest;

/// A stored file, read from its beginning. Reading fails at its end if the content is not that of the digest: whoever
/// passes it on keeps the last part back until the end is read.
#[derive(Debug)]
pub struct ComparedFile {
    file: File,
    path: PathBuf,
    digest: Sha256Digest,
    hasher: Sha256,
    size: u64,
}

impl ComparedFile {
    /// Compares an open file with a digest, and goes back to its beginning.
    pub(super) fn compare(mut file: File, path: PathBuf, digest: Sha256Digest) -> Result<Self, StoreError> {
        let failed = |error: io::Error| StoreError::io("read", &path, &error);
        if Sha256Digest::of_reader(&file).map_err(failed)? != digest {
            return Err(StoreError::Altered(path));
        }
        let size = file.stream_position().map_err(failed)?;
        file.rewind().map_err(failed)?;
        Ok(Self { file, path, digest, hasher: Sha256::new(), size })
    }

    /// Returns its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Read for ComparedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        if count > 0 || buffer.is_empty() {
            self.hasher.update(buffer.get(..count).unwrap_or_default());
            return Ok(count);
        }
        let found = Sha256Digest::from(<[u8; 32]>::from(self.hasher.clone().finalize()));
        if found == self.digest {
            Ok(0)
        } else {
            Err(io::Error::other(StoreError::Altered(self.path.clone())))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read as _, os::unix::fs::symlink};

    use crate::{BlobStore, StoreDurability, StoreError};
    use wf_base::digest::Sha256Digest;

    #[test]
    fn only_the_content_of_the_digest_is_given_out() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(dir.path().join("blobs"), StoreDurability::Normal);
        let digest = blobs.put_bytes(b"total 3").unwrap();
        let path = blobs.path(&digest);
        let mut text = String::new();
        let mut file = blobs.open_compared(&digest).unwrap();
        assert_eq!(file.size(), 7);
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "total 3");
        // It changes between the comparison and the reading.
        let mut file = blobs.open_compared(&digest).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "total 4").unwrap();
        text.clear();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "total 3", "a file that was replaced is read as it was");
        assert_eq!(blobs.open_compared(&digest).unwrap_err(), StoreError::Altered(path.clone()));
        fs::write(&path, "total 3").unwrap();
        let mut file = blobs.open_compared(&digest).unwrap();
        fs::write(&path, "total 5").unwrap();
        assert!(
            file.read_to_end(&mut Vec::new()).is_err(),
            "a file that was changed in its place is refused"
        );
    }

    #[test]
    fn neither_a_link_nor_a_pipe_nor_a_folder_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(dir.path().join("blobs"), StoreDurability::Normal);
        let digest = blobs.put_bytes(b"a").unwrap();
        let path = blobs.path(&digest);
        let beside = dir.path().join("beside");
        fs::write(&beside, "a").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&beside, &path).unwrap();
        assert!(blobs.open_compared(&digest).is_err(), "a link, though it leads to the same content");
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(blobs.open_compared(&digest).is_err(), "a pipe, and nobody waits for its other end");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(blobs.open_compared(&digest).is_err(), "a folder");
        assert!(blobs.open_compared(&Sha256Digest::of_bytes(b"never")).is_err());
    }
}
