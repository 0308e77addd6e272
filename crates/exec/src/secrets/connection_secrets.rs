//! The secrets of connections: stored by name, lent to one process at a time.
//!
//! A secret is in the keyring of the user, if there is one, else in a file of its own in
//! `<state>/secrets/CONNECTION/`. A script never sees that place: it is lent a folder with copies,
//! and writes new ones into another, which is read after the script has exited.
//!
//! **Invariant:** folders are for their owner alone (0700), files too (0600); files are written atomically.
//! **Invariant:** only one process at a time works on the secrets of a connection: it holds the lock of
//! [`ConnectionSecrets`]. **Invariant:** the files of a script are read without following links, and bounded.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::{
        fd::AsFd as _,
        unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, OFlags};

use wf_base::name::RefId;
use wf_skill::SkillBundle;

use super::{
    keychain::{self, KeyringError},
    secret::{SecretText, value},
};
use crate::disk::files;

mod folder;
mod prompt;
#[cfg(test)]
mod tests;

pub use folder::LentFolder;
pub use prompt::{OpenPrompt, SecretEntryError, SecretPrompt, enter_secret, secret_prompts};

/// The longest secret, in bytes.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// The maximum number of secrets of one connection.
const MAX_SECRETS: usize = 32;

/// The keyring service for secrets of connections.
const KEYRING_SERVICE: &str = "wf connection";

/// The suffix of a file naming the keyring entry of a secret. No ref has this suffix.
const KEYRING_SUFFIX: &str = ".ring";

/// The reason why secrets of a connection cannot be stored or lent. Never contains a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionSecretError {
    /// Another process holds the connection.
    #[error("another wf process is using it")]
    Busy,
    /// There is no such secret.
    #[error("secret `{0}` not found")]
    Missing(RefId),
    /// A script wrote an invalid secret.
    #[error("its script wrote an invalid secret to WF_REFS_OUT: {0}")]
    Written(String),
    /// The system or the keyring reports an error.
    #[error("{0}")]
    Unable(String),
}

/// The secrets of one connection, locked for this process.
#[derive(Debug)]
pub struct ConnectionSecrets {
    /// `<state>/secrets`.
    above: PathBuf,
    name: String,
    /// The lock, held until this is dropped.
    _lock: File,
}

fn unable(tried: &str, path: &Path) -> impl FnOnce(io::Error) -> ConnectionSecretError {
    let action = format!("cannot {tried} {}", path.display());
    move |error| ConnectionSecretError::Unable(format!("{action}: {error}"))
}

/// Creates a folder for its owner alone; an existing one must have the same permissions.
fn private(path: &Path) -> Result<(), ConnectionSecretError> {
    let created = DirBuilder::new().mode(0o700).create(path);
    match created {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let metadata = fs::symlink_metadata(path).map_err(unable("stat", path))?;
            let own = rustix::process::geteuid().as_raw();
            if !metadata.is_dir() || metadata.uid() != own || metadata.mode() & 0o077 != 0 {
                let shown = path.display();
                return Err(ConnectionSecretError::Unable(format!(
                    "{shown} must be a folder accessible only by its owner (chmod 700 {shown})"
                )));
            }
            Ok(())
        }
        Err(error) => Err(unable("make", path)(error)),
    }
}

/// Writes a file atomically, for its owner alone.
fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), ConnectionSecretError> {
    let beside = path.with_extension("new");
    let written = || -> io::Result<()> {
        unless_missing(fs::remove_file(&beside))?;
        let mut file = File::options().write(true).create_new(true).mode(mode).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        path.parent().map_or(Ok(()), |above| File::open(above)?.sync_all())
    };
    written().map_err(unable("write", path))
}

/// Reads a file of unknown kind: no link, no pipe, no more bytes than a secret has.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = files::open_regular(path, OFlags::NOFOLLOW)?;
    if file.metadata()?.nlink() != 1 {
        return Err(io::Error::other("not a regular file with a single link"));
    }
    let bytes = files::read_bounded(file, MAX_SECRET_BYTES + 1)?;
    if bytes.len() as u64 > MAX_SECRET_BYTES {
        return Err(io::Error::other("longer than 64 KiB"));
    }
    Ok(bytes)
}

impl ConnectionSecrets {
    /// Locks the secrets of a connection, which may not exist yet; `state` is the existing state
    /// folder. `name` is already validated.
    pub fn take(state: &Path, name: &wf_base::name::PlanId) -> Result<Self, ConnectionSecretError> {
        let above = state.join("secrets");
        private(&above)?;
        let work = above.join(".work");
        private(&work)?;
        let path = work.join(format!("{name}.lock"));
        let lock = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let lock = lock.map_err(unable("open", &path))?;
        rustix::fs::flock(lock.as_fd(), FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| ConnectionSecretError::Busy)?;
        let refs = Self { above, name: name.to_string(), _lock: lock };
        // Remove the folders lent by a killed process, and its prompts.
        refs.clear()?;
        remove_all(&refs.prompts())?;
        Ok(refs)
    }

    fn work(&self) -> PathBuf {
        self.above.join(".work").join(&self.name)
    }

    fn clear(&self) -> Result<(), ConnectionSecretError> {
        remove_all(&self.work())
    }

    fn folder(&self) -> PathBuf {
        self.above.join(&self.name)
    }

    /// Returns the names of the secrets, in order.
    pub fn names(&self) -> Result<Vec<RefId>, ConnectionSecretError> {
        let folder = self.folder();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unable("read", &folder)(error)),
        };
        let name = |entry: io::Result<fs::DirEntry>| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            RefId::parse(name.strip_suffix(KEYRING_SUFFIX).unwrap_or(&name)).ok()
        };
        let mut names: Vec<RefId> = entries.filter_map(name).collect();
        names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        names.dedup();
        Ok(names)
    }

    pub fn get(&self, name: &RefId) -> Result<SecretText, ConnectionSecretError> {
        get(&self.folder(), name)
    }

    /// Stores a secret: in the keyring if it answers, else in a file.
    pub fn put(&self, name: &RefId, secret: &SecretText) -> Result<(), ConnectionSecretError> {
        let folder = self.folder();
        private(&folder)?;
        let (file, marker) = places(&folder, name);
        let before = fs::read_to_string(&marker).ok();
        let account = match before {
            Some(account) => account,
            None => format!("{} {name} {}", self.name, chance()?),
        };
        if keychain::remember(KEYRING_SERVICE, &account, secret.expose()).is_ok() {
            write(&marker, account.as_bytes(), 0o600)?;
            return remove(&file);
        }
        // The keyring is missing or locked: store the secret in a file for its owner alone.
        write(&file, secret.expose().as_bytes(), 0o600)?;
        if marker.exists() {
            let _ = keychain::forget(KEYRING_SERVICE, &account);
            remove(&marker)?;
        }
        Ok(())
    }

    /// Deletes a secret.
    pub fn forget(&self, name: &RefId) -> Result<(), ConnectionSecretError> {
        let (file, marker) = places(&self.folder(), name);
        if let Ok(account) = fs::read_to_string(&marker) {
            match keychain::forget(KEYRING_SERVICE, &account) {
                Ok(()) | Err(KeyringError::None) => {}
                Err(reason) => {
                    let reason = format!("cannot delete secret `{name}` from the keyring: {reason}");
                    return Err(ConnectionSecretError::Unable(reason));
                }
            }
        }
        remove(&file)?;
        remove(&marker)
    }

    /// Deletes all secrets and their folder.
    pub fn forget_all(&self) -> Result<(), ConnectionSecretError> {
        self.clear()?;
        for name in self.names()? {
            self.forget(&name)?;
        }
        remove_all(&self.folder())
    }

    /// Lends secrets to a process running the files of a skill.
    pub fn lend(
        &self,
        secrets: &[(RefId, SecretText)],
        skill: &SkillBundle,
    ) -> Result<LentFolder, ConnectionSecretError> {
        self.clear()?;
        let lent = LentFolder { folder: self.work() };
        private(&lent.folder)?;
        for folder in [lent.empty(), lent.refs(), lent.out(), lent.skill()] {
            private(&folder)?;
        }
        for (path, file) in &skill.files {
            let at = lent.skill().join(path);
            if let Some(above) = at.parent() {
                let mut builder = DirBuilder::new();
                builder.recursive(true).mode(0o700).create(above).map_err(unable("make", above))?;
            }
            let mode = if file.is_executable { 0o700 } else { 0o600 };
            write_new(&at, &file.bytes, mode)?;
        }
        for (name, secret) in secrets {
            lent.add(name, secret)?;
        }
        Ok(lent)
    }
}

/// Its prompts end with it.
impl Drop for ConnectionSecrets {
    fn drop(&mut self) {
        let _ = remove_all(&self.prompts());
    }
}

/// Returns a secret of a connection without a lock, since each is written atomically.
pub fn secret(state: &Path, connection: &str, name: &RefId) -> Result<SecretText, ConnectionSecretError> {
    get(&state.join("secrets").join(connection), name)
}

fn places(folder: &Path, name: &RefId) -> (PathBuf, PathBuf) {
    (folder.join(name.as_str()), folder.join(format!("{name}{KEYRING_SUFFIX}")))
}

fn get(folder: &Path, name: &RefId) -> Result<SecretText, ConnectionSecretError> {
    let (file, marker) = places(folder, name);
    let missing = || ConnectionSecretError::Missing(name.clone());
    let bytes = match fs::read_to_string(&marker) {
        Ok(account) => keychain::recall(KEYRING_SERVICE, &account).map_err(|reason| match reason {
            KeyringError::Missing => missing(),
            reason => ConnectionSecretError::Unable(format!(
                "cannot read secret `{name}` from the keyring: \
                {reason}"
            )),
        })?,
        Err(_) => match read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
            Err(error) => return Err(unable("read", &file)(error)),
        },
    };
    value(bytes).map_err(|reason| ConnectionSecretError::Unable(format!("secret `{name}` {reason}")))
}

fn chance() -> Result<String, ConnectionSecretError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| {
        ConnectionSecretError::Unable(format!(
            "cannot get random bytes from the system: \
            {error}"
        ))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), ConnectionSecretError> {
    let mut options = File::options();
    let opened = options.write(true).create_new(true).mode(mode).open(path);
    opened.and_then(|mut file| file.write_all(bytes)).map_err(unable("write", path))
}

fn remove(path: &Path) -> Result<(), ConnectionSecretError> {
    unless_missing(fs::remove_file(path)).map_err(unable("remove", path))
}

fn remove_all(path: &Path) -> Result<(), ConnectionSecretError> {
    unless_missing(fs::remove_dir_all(path)).map_err(unable("remove", path))
}

/// Accepts that a file to be removed does not exist.
fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
