//! The folders lent to processes with the secrets of connections, and the secrets written into them.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::PathBuf,
};

use rustix::fs::{Mode, OFlags};

use wf_base::{name::RefId, redact::weakness};

use super::{
    super::secret::{SecretText, value},
    ConnectionSecretError, MAX_SECRETS, read, unable,
};

/// The folders lent to one process; removed on drop.
#[derive(Debug)]
pub struct LentFolder {
    pub(super) folder: PathBuf,
}

impl LentFolder {
    pub fn empty(&self) -> PathBuf {
        self.folder.join("empty")
    }

    /// Returns the folder with copies of the secrets, by name.
    pub fn refs(&self) -> PathBuf {
        self.folder.join("refs")
    }

    /// Returns the folder for new secrets of the process.
    pub fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// Returns a copy of the skill, with the bytes that were checked.
    pub fn skill(&self) -> PathBuf {
        self.folder.join("skill")
    }

    /// Lends another secret.
    pub fn add(&self, name: &RefId, secret: &SecretText) -> Result<(), ConnectionSecretError> {
        let refs = self.refs();
        // The process may have changed its folder in any way.
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&refs, flags, Mode::empty())
            .map_err(|error| unable("open", &refs)(error.into()))?;
        let _ = rustix::fs::unlinkat(&folder, name.as_str(), rustix::fs::AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o600);
        let written = rustix::fs::openat(&folder, name.as_str(), flags, mode)
            .map_err(io::Error::from)
            .and_then(|file| File::from(file).write_all(secret.expose().as_bytes()));
        written.map_err(unable("write to", &refs))
    }

    /// Returns the well-formed secrets the process has written so far, for the mask. [`LentFolder::written_secrets`]
    /// reports malformed ones.
    pub fn so_far(&self) -> Vec<SecretText> {
        let entries = fs::read_dir(self.out()).into_iter().flatten().flatten();
        let bytes = entries.take(MAX_SECRETS).filter_map(|entry| read(&entry.path()).ok());
        bytes.filter_map(|bytes| value(bytes).ok()).collect()
    }

    /// Returns the secrets the process wrote, once it has exited.
    pub fn written_secrets(&self) -> Result<Vec<(RefId, SecretText)>, ConnectionSecretError> {
        let out = self.out();
        let wrong = |reason: String| ConnectionSecretError::Written(reason);
        let mut written = Vec::new();
        for entry in fs::read_dir(&out).map_err(unable("read", &out))? {
            let entry = entry.map_err(unable("read", &out))?;
            if written.len() >= MAX_SECRETS {
                return Err(wrong(format!("more than {MAX_SECRETS} secrets")));
            }
            let name = entry.file_name().into_string().ok();
            let name = name.and_then(|name| RefId::parse(&name).ok());
            let name = name.ok_or_else(|| {
                wrong("file names may contain only lower-case letters, digits, `_` and `-`".into())
            })?;
            let bytes = read(&entry.path()).map_err(|reason| wrong(format!("`{name}`: {reason}")))?;
            let secret = value(bytes).map_err(|reason| wrong(format!("`{name}` {reason}")))?;
            if let Some(weak) = weakness(secret.expose()) {
                return Err(wrong(format!("`{name}` is too weak to be masked: {weak}")));
            }
            written.push((name, secret));
        }
        written.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
        Ok(written)
    }
}

impl Drop for LentFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
