use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::{
    error::StoreError,
    files::{
        compared_file::ComparedFile,
        folder::{StateFolder, StoreDurability, create_in, open_regular, own_file},
    },
};
use wf_base::{digest::Sha256Digest, failpoint};

/// The number of bytes copied at once.
const CHUNK: usize = 128 * 1024;

/// A store of files under the digest of their content.
#[derive(Clone, Debug)]
pub struct BlobStore {
    dir: PathBuf,
    durability: StoreDurability,
    /// The workspace of the state that the folder is in: without it, the folder is not created.
    workspace: Option<PathBuf>,
}

impl BlobStore {
    /// Takes the folder of the files; it is created with the first file.
    pub fn new(dir: PathBuf, durability: StoreDurability) -> Self {
        Self { dir, durability, workspace: None }
    }

    /// Takes the folder of the files of a state.
    pub(crate) fn of_state(folder: &StateFolder, durability: StoreDurability) -> Self {
        Self { workspace: Some(folder.workspace().to_owned()), ..Self::new(folder.blobs(), durability) }
    }

    /// Returns a store in another folder of the same state, as durable as this one.
    #[must_use]
    pub fn in_folder(&self, dir: PathBuf) -> Self {
        Self { dir, ..self.clone() }
    }

    /// Stores a copy of a file; returns its digest and size.
    pub fn put_file(&self, path: &Path) -> Result<(Sha256Digest, u64), StoreError> {
        let file = File::open(path).map_err(|error| StoreError::io("read", path, &error))?;
        self.put(file, path)
    }

    /// Stores bytes; returns their digest.
    pub fn put_bytes(&self, bytes: &[u8]) -> Result<Sha256Digest, StoreError> {
        self.put(bytes, &self.dir).map(|(digest, _)| digest)
    }

    /// Stores bytes under a digest that is not theirs; whoever reads them checks what they stand for.
    pub(super) fn put_bytes_as(&self, digest: &Sha256Digest, bytes: &[u8]) -> Result<(), StoreError> {
        let failed = |error| StoreError::io("write in", &self.dir, &error);
        self.create_folder().map_err(failed)?;
        let mut copy = NamedTempFile::new_in(&self.dir).map_err(failed)?;
        copy.write_all(bytes).map_err(failed)?;
        self.place(copy, digest)
    }

    /// Reads a stored file whole, and checks its content.
    pub fn read(&self, digest: &Sha256Digest) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        let read = self.open(digest)?.read_to_end(&mut bytes);
        read.map_err(|error| StoreError::io("read", &self.path(digest), &error))?;
        if Sha256Digest::of_bytes(&bytes) != *digest {
            return Err(StoreError::Altered(self.path(digest)));
        }
        Ok(bytes)
    }

    /// Returns the digests of all stored files, in no order.
    pub fn digests(&self) -> io::Result<Vec<Sha256Digest>> {
        let folders = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            folders => folders?,
        };
        let mut digests = Vec::new();
        for folder in folders {
            let folder = folder?;
            // A file beside the folders was being written when a process died.
            if !folder.file_type()?.is_dir() {
                continue;
            }
            for file in fs::read_dir(folder.path())? {
                let mut name = folder.file_name();
                name.push(file?.file_name());
                digests.extend(name.to_str().and_then(|name| name.parse::<Sha256Digest>().ok()));
            }
        }
        Ok(digests)
    }

    /// Returns the sizes of the stored files that can be read, by digest.
    pub(crate) fn sizes(&self) -> BTreeMap<String, u64> {
        let mut sizes = BTreeMap::new();
        for shelf in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            for file in fs::read_dir(shelf.path()).into_iter().flatten().flatten() {
                if let (Some(first), Some(rest), Ok(found)) =
                    (shelf.file_name().to_str(), file.file_name().to_str(), file.metadata())
                {
                    sizes.insert(format!("{first}{rest}"), found.len());
                }
            }
        }
        sizes
    }

    /// Opens a stored file for reading; its content is not compared. A link, a pipe or a folder in its place is refused.
    pub fn open(&self, digest: &Sha256Digest) -> Result<File, StoreError> {
        let path = self.path(digest);
        own_file(&path)
            .and_then(|()| open_regular(&path))
            .map_err(|error| StoreError::io("read", &path, &error))
    }

    /// Opens a stored file for reading, and compares its content, now and while it is read.
    pub fn open_compared(&self, digest: &Sha256Digest) -> Result<ComparedFile, StoreError> {
        ComparedFile::compare(self.open(digest)?, self.path(digest), *digest)
    }

    /// Writes a stored file to a path, atomically, and checks its content. Missing folders are
    /// created.
    pub fn restore(&self, digest: &Sha256Digest, to: &Path, mode: u32) -> Result<(), StoreError> {
        let failed = |error| StoreError::io("write", to, &error);
        let kept = self.open(digest)?;
        let dir = to.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir).map_err(failed)?;
        let mut copy = NamedTempFile::new_in(dir).map_err(failed)?;
        let (found, _) = pour(kept, copy.as_file_mut(), to)?;
        if found != *digest {
            return Err(StoreError::Altered(self.path(digest)));
        }
        set_mode(copy.as_file(), mode).map_err(failed)?;
        failpoint::point("file.before");
        copy.persist(to).map_err(|error| failed(error.error))?;
        failpoint::point("file.after");
        Ok(())
    }

    /// Returns the path of a stored file.
    pub fn path(&self, digest: &Sha256Digest) -> PathBuf {
        let name = digest.to_string();
        let (folder, rest) = name.split_at_checked(2).unwrap_or((&name, ""));
        self.dir.join(folder).join(rest)
    }

    /// Writes a temporary file, then renames it: a name always stands for the whole content.
    fn put(&self, from: impl Read, name: &Path) -> Result<(Sha256Digest, u64), StoreError> {
        let failed = |error| StoreError::io("write in", &self.dir, &error);
        self.create_folder().map_err(failed)?;
        let mut copy = NamedTempFile::new_in(&self.dir).map_err(failed)?;
        let (digest, size) = pour(from, copy.as_file_mut(), name)?;
        self.place(copy, &digest)?;
        Ok((digest, size))
    }

    fn create_folder(&self) -> std::io::Result<()> {
        match &self.workspace {
            Some(workspace) => create_in(workspace, &self.dir, 0o777),
            None => fs::create_dir_all(&self.dir),
        }
    }

    /// Gives a complete file its name, unless there is one of that name.
    fn place(&self, copy: NamedTempFile, digest: &Sha256Digest) -> Result<(), StoreError> {
        let failed = |error| StoreError::io("write in", &self.dir, &error);
        let path = self.path(digest);
        if touch(&path, copy.as_file()).is_ok() {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&self.dir);
        fs::create_dir_all(folder).map_err(failed)?;
        set_mode(copy.as_file(), 0o444).map_err(failed)?;
        if self.durability == StoreDurability::Full {
            copy.as_file().sync_data().map_err(failed)?;
        }
        failpoint::point("blob.before");
        copy.persist(&path).map_err(|error| failed(error.error))?;
        failpoint::point("blob.after");
        if self.durability == StoreDurability::Full {
            sync_folder(folder).and_then(|()| sync_folder(&self.dir)).map_err(failed)?;
        }
        Ok(())
    }
}

/// Marks a stored file as used at the time `now` was written, so it is not pruned before the event naming it
/// is recorded. Fails if there is no such file.
fn touch(path: &Path, now: &File) -> io::Result<()> {
    let now = now.metadata()?.modified()?;
    File::open(path)?.set_modified(now)
}

/// Copies a stream; returns the digest and size of what was copied.
fn pour(mut from: impl Read, to: &mut File, name: &Path) -> Result<(Sha256Digest, u64), StoreError> {
    let mut hasher = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(StoreError::io("read", name, &error)),
        };
        let chunk = buffer.get(..count).unwrap_or_default();
        hasher.update(chunk);
        to.write_all(chunk).map_err(|error| StoreError::io("write a copy of", name, &error))?;
        size += count as u64;
    }
    Ok((Sha256Digest::from(<[u8; 32]>::from(hasher.finalize())), size))
}

/// Sets the permission bits of a file.
#[cfg(unix)]
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(Permissions::from_mode(mode & 0o777))
}

/// Sets the permission bits of a file, on systems that have them.
#[cfg(not(unix))]
pub(crate) fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// Makes renames into a folder survive a loss of power.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read, path::Path};

    use super::BlobStore;
    use crate::{StoreDurability, StoreError};
    use wf_base::digest::Sha256Digest;

    fn blobs(dir: &Path) -> BlobStore {
        BlobStore::new(dir.join("blobs"), StoreDurability::Full)
    }

    #[test]
    fn what_is_kept_is_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = blobs(dir.path());
        let large: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        for bytes in [&b""[..], b"a", &large] {
            let file = dir.path().join("file");
            fs::write(&file, bytes).unwrap();
            let kept = blobs.put_file(&file).unwrap();
            assert_eq!(kept, (Sha256Digest::of_bytes(bytes), bytes.len() as u64));
            assert_eq!(blobs.put_file(&file).unwrap(), kept, "kept once");
            let mut read = Vec::new();
            blobs.open(&kept.0).unwrap().read_to_end(&mut read).unwrap();
            assert!(read == bytes);
            let to = dir.path().join("deep/er/copy");
            blobs.restore(&kept.0, &to, 0o750).unwrap();
            assert!(fs::read(&to).unwrap() == bytes);
        }
        let strays = fs::read_dir(dir.path().join("blobs")).unwrap();
        assert_eq!(strays.flatten().filter(|entry| entry.path().is_file()).count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_given_back() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let blobs = blobs(dir.path());
        let file = dir.path().join("file");
        fs::write(&file, "#!/bin/sh").unwrap();
        let (digest, _) = blobs.put_file(&file).unwrap();
        let to = dir.path().join("tool");
        blobs.restore(&digest, &to, 0o755).unwrap();
        assert_eq!(to.metadata().unwrap().permissions().mode() & 0o7777, 0o755);
    }

    #[test]
    fn an_altered_file_is_not_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = blobs(dir.path());
        let file = dir.path().join("file");
        fs::write(&file, "true").unwrap();
        let (digest, _) = blobs.put_file(&file).unwrap();
        let kept = blobs.path(&digest);
        fs::remove_file(&kept).unwrap();
        fs::write(&kept, "false").unwrap();
        let to = dir.path().join("to");
        let error = blobs.restore(&digest, &to, 0o644).unwrap_err();
        assert_eq!(error, StoreError::Altered(kept));
        assert!(!to.exists());
        assert!(blobs.open(&Sha256Digest::of_bytes(b"never")).is_err());
        assert!(blobs.put_file(dir.path()).is_err(), "a folder");
    }
}
