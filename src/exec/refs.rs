//! The secrets of connections: kept by name, lent to one process at a time.
//!
//! A secret is in the keyring of the user, where there is one, else in a file of its own in
//! `<state>/secrets/CONNECTION/`. A script never sees where they are kept: it is lent a folder
//! with copies, and writes new ones into another, which is read once the script has ended.
//!
//! **Invariant:** folders are for their owner alone (0700), files too (0600); a file is whole or not
//! there. **Invariant:** one process at a time works on the secrets of a connection: it holds the
//! lock of [`Refs`]. **Invariant:** what a script wrote is read without following links, and bounded.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};

use super::keychain::{self, RingFault};
use super::secret::{Hidden, value};
use crate::name::RefId;
use crate::skill::Bundle;

mod lent;
#[cfg(test)]
mod tests;

pub use lent::Lent;

/// The longest secret, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The most secrets of one connection.
const MOST: usize = 32;

/// The service whose entries in a keyring are secrets of connections.
const SERVICE: &str = "wf connection";

/// What marks that a secret is in the keyring: a file that names its entry. No ref ends so.
const RING: &str = ".ring";

/// Why secrets of a connection cannot be kept, or given. Never holds a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefsFault {
    /// Another process works on the connection.
    #[error("another wf works on it right now")]
    Busy,
    /// There is no such secret.
    #[error("it has no secret `{0}`")]
    Missing(RefId),
    /// A script wrote what is no secret.
    #[error("its script wrote what is no secret into WF_REFS_OUT: {0}")]
    Written(String),
    /// The system, or the keyring, does not let us.
    #[error("{0}")]
    Unable(String),
}

/// The secrets of one connection, for the only process that works on them.
#[derive(Debug)]
pub struct Refs {
    /// `<state>/secrets`.
    above: PathBuf,
    name: String,
    /// Held until this is dropped.
    _lock: File,
}

fn unable(tried: &str, path: &Path) -> impl FnOnce(io::Error) -> RefsFault {
    let what = format!("cannot {tried} {}", path.display());
    move |error| RefsFault::Unable(format!("{what}: {error}"))
}

/// Makes a folder for its owner alone; one that is there must be such a folder.
fn private(path: &Path) -> Result<(), RefsFault> {
    let made = DirBuilder::new().mode(0o700).create(path);
    match made {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(path).map_err(unable("look at", path))?;
            let own = rustix::process::geteuid().as_raw();
            if !found.is_dir() || found.uid() != own || found.mode() & 0o077 != 0 {
                let shown = path.display();
                return Err(RefsFault::Unable(format!(
                    "{shown} is not a folder for its owner alone (chmod 700 {shown})"
                )));
            }
            Ok(())
        }
        Err(error) => Err(unable("make", path)(error)),
    }
}

/// Writes a file for its owner alone, whole or not at all.
fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), RefsFault> {
    let beside = path.with_extension("new");
    let written = || -> io::Result<()> {
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        path.parent()
            .map_or(Ok(()), |above| File::open(above)?.sync_all())
    };
    written().map_err(unable("write", path))
}

/// Reads a file that may be anything: no link, no pipe, not more than a secret has.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() != 1 {
        return Err(io::Error::other("it is not a file of its own"));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 64 KiB"));
    }
    Ok(bytes)
}

impl Refs {
    /// Takes the secrets of a connection, which need not exist; `state` is the state folder, which
    /// does. `name` is a name that was checked.
    pub fn take(state: &Path, name: &crate::name::PlanId) -> Result<Self, RefsFault> {
        let above = state.join("secrets");
        private(&above)?;
        let work = above.join(".work");
        private(&work)?;
        let path = work.join(format!("{name}.lock"));
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path);
        let lock = lock.map_err(unable("open", &path))?;
        rustix::fs::flock(lock.as_fd(), FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| RefsFault::Busy)?;
        let refs = Self {
            above,
            name: name.to_string(),
            _lock: lock,
        };
        // What somebody lent who was killed.
        refs.clear()?;
        Ok(refs)
    }

    fn work(&self) -> PathBuf {
        self.above.join(".work").join(&self.name)
    }

    fn clear(&self) -> Result<(), RefsFault> {
        remove_all(&self.work())
    }

    fn folder(&self) -> PathBuf {
        self.above.join(&self.name)
    }

    /// The secrets that there are, by name, in order.
    pub fn names(&self) -> Result<Vec<RefId>, RefsFault> {
        let folder = self.folder();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unable("read", &folder)(error)),
        };
        let name = |entry: io::Result<fs::DirEntry>| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            RefId::parse(name.strip_suffix(RING).unwrap_or(&name)).ok()
        };
        let mut names: Vec<RefId> = entries.filter_map(name).collect();
        names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        names.dedup();
        Ok(names)
    }

    /// A secret.
    pub fn get(&self, name: &RefId) -> Result<Hidden, RefsFault> {
        get(&self.folder(), name)
    }

    /// Keeps a secret: in the keyring if there is one that answers, else in a file.
    pub fn put(&self, name: &RefId, secret: &Hidden) -> Result<(), RefsFault> {
        let folder = self.folder();
        private(&folder)?;
        let (file, marker) = places(&folder, name);
        let before = fs::read_to_string(&marker).ok();
        let account = match before {
            Some(account) => account,
            None => format!("{} {name} {}", self.name, chance()?),
        };
        if keychain::remember(SERVICE, &account, secret.expose()).is_ok() {
            write(&marker, account.as_bytes(), 0o600)?;
            return remove(&file);
        }
        // None to be had, or it is locked: a file for its owner alone keeps it as well.
        write(&file, secret.expose().as_bytes(), 0o600)?;
        if marker.exists() {
            let _ = keychain::forget(SERVICE, &account);
            remove(&marker)?;
        }
        Ok(())
    }

    /// Forgets a secret.
    pub fn forget(&self, name: &RefId) -> Result<(), RefsFault> {
        let (file, marker) = places(&self.folder(), name);
        if let Ok(account) = fs::read_to_string(&marker) {
            match keychain::forget(SERVICE, &account) {
                Ok(()) | Err(RingFault::None) => {}
                Err(why) => {
                    let why = format!("the keyring does not forget the secret `{name}`: {why}");
                    return Err(RefsFault::Unable(why));
                }
            }
        }
        remove(&file)?;
        remove(&marker)
    }

    /// Forgets all of them, and that there were some.
    pub fn forget_all(&self) -> Result<(), RefsFault> {
        self.clear()?;
        for name in self.names()? {
            self.forget(&name)?;
        }
        remove_all(&self.folder())
    }

    /// Lends secrets to a process that runs the files of a skill.
    pub fn lend(&self, secrets: &[(RefId, Hidden)], skill: &Bundle) -> Result<Lent, RefsFault> {
        self.clear()?;
        let lent = Lent {
            folder: self.work(),
        };
        private(&lent.folder)?;
        for folder in [lent.empty(), lent.refs(), lent.out(), lent.skill()] {
            private(&folder)?;
        }
        for (path, file) in &skill.files {
            let at = lent.skill().join(path);
            if let Some(above) = at.parent() {
                let mut made = DirBuilder::new();
                made.recursive(true)
                    .mode(0o700)
                    .create(above)
                    .map_err(unable("make", above))?;
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

/// A secret of a connection, for whoever only reads: no lock is needed, since each is whole.
pub fn secret(state: &Path, connection: &str, name: &RefId) -> Result<Hidden, RefsFault> {
    get(&state.join("secrets").join(connection), name)
}

fn places(folder: &Path, name: &RefId) -> (PathBuf, PathBuf) {
    (
        folder.join(name.as_str()),
        folder.join(format!("{name}{RING}")),
    )
}

fn get(folder: &Path, name: &RefId) -> Result<Hidden, RefsFault> {
    let (file, marker) = places(folder, name);
    let missing = || RefsFault::Missing(name.clone());
    let bytes = match fs::read_to_string(&marker) {
        Ok(account) => keychain::recall(SERVICE, &account).map_err(|why| match why {
            RingFault::Missing => missing(),
            why => RefsFault::Unable(format!("the keyring does not give `{name}`: {why}")),
        })?,
        Err(_) => match read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
            Err(error) => return Err(unable("read", &file)(error)),
        },
    };
    value(bytes).map_err(|why| RefsFault::Unable(format!("the secret `{name}` {why}")))
}

fn chance() -> Result<String, RefsFault> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| RefsFault::Unable(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), RefsFault> {
    let mut options = File::options();
    let opened = options.write(true).create_new(true).mode(mode).open(path);
    opened
        .and_then(|mut file| file.write_all(bytes))
        .map_err(unable("write", path))
}

fn remove(path: &Path) -> Result<(), RefsFault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unable("remove", path)(error)),
        _ => Ok(()),
    }
}

fn remove_all(path: &Path) -> Result<(), RefsFault> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unable("remove", path)(error)),
        _ => Ok(()),
    }
}
