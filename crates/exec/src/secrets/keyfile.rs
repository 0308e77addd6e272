//! The folder where a user keeps the keys that sign approvals.
//!
//! `NAME.pem` is a private key and `NAME.pub` its public key. **Invariant:** a private key is written atomically, under
//! a new name and for its owner alone; it is read only from a file no other user can read. Sandboxes never show the
//! folder: see [`folders`].

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};

use crate::HostEnv;
use wf_base::remedy::{Remedy, UserAction};

/// The largest key file to read, in bytes.
const MAX_KEY_FILE_BYTES: u64 = 64 * 1024;

/// The permissions that other users must not have on private keys: any.
const FORBIDDEN_ON_PRIVATE: u32 = 0o077;

/// The permission that other users must not have on public keys: to write.
const FORBIDDEN_ON_PUBLIC: u32 = 0o022;

/// The default key name of earlier versions, still used where such a key exists.
pub const DEFAULT_KEY_NAME: &str = "default";

/// The longest name of a key.
const MAX_KEY_NAME_LENGTH: usize = 64;

/// Returns the key name for a user, derived from the login name.
pub fn named_after(owner: &str) -> Option<String> {
    let lower = owner.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    name.truncate(MAX_KEY_NAME_LENGTH);
    let name = name.trim_end_matches('-');
    (!name.is_empty()).then(|| name.to_owned())
}

/// A folder of keys, which may not exist yet.
#[derive(Clone, Debug)]
pub struct KeyFolder {
    dir: PathBuf,
}

/// The reason why keys cannot be stored or used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFolderError {
    /// The environment names no folder.
    #[error("no folder for keys: none of WF_KEYS, XDG_CONFIG_HOME and HOME is set")]
    NoFolder,
    #[error("WF_KEYS must be an absolute path, not {}", .0.display())]
    Relative(PathBuf),
    /// Other users can read or change it.
    #[error("other users can read or change {}", .0.display())]
    Open(PathBuf),
    /// It belongs to another user.
    #[error("{} belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// It is a link, a pipe or another special file.
    #[error("{} is not a regular file", .0.display())]
    Odd(PathBuf),
    /// There is no key of this name.
    #[error("key `{name}` not found in {}", .dir.display())]
    Missing {
        /// The requested name.
        name: String,
        dir: PathBuf,
    },
    /// The name is taken.
    #[error("key `{name}` already exists in {}", .dir.display())]
    Exists { name: String, dir: PathBuf },
    /// The name is not valid as the name of a key.
    #[error("`{0}` is not a valid key name")]
    Name(String),
    /// The system reports an error.
    #[error("cannot {doing} {}: {cause}", .path.display())]
    System {
        /// The operation.
        doing: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
}

impl KeyFolderError {
    /// Returns advice for the user.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::NoFolder => "set WF_KEYS=/path/to/keys".into(),
            Self::Relative(_) => "use an absolute path".into(),
            Self::Open(path) if path.is_dir() => format!("chmod 700 {}", path.display()).into(),
            Self::Open(path) => format!("chmod 600 {}", path.display()).into(),
            Self::Foreign(_) | Self::Odd(_) => {
                "keys must be regular files owned by the user who runs wf: check who created it".into()
            }
            Self::Missing { .. } => Remedy::from("list the keys with ")
                .quoted(UserAction::ListKeys)
                .text(", create one with ")
                .quoted(UserAction::CreateKey),
            Self::Exists { .. } => Remedy::from("keys are never overwritten: choose another name, or ")
                .quoted(UserAction::RotateKey),
            Self::Name(_) => "use lower-case words and numbers, joined by hyphens".into(),
            Self::System { .. } => "check the folder and its owner".into(),
        }
    }
}

/// Returns every folder that may contain keys in an environment. No sandbox may show them.
pub fn folders(host: &HostEnv) -> Vec<PathBuf> {
    let var = |name: &str| host.get(name).filter(|value| !value.is_empty());
    let below = |name: &str, rest: &str| var(name).map(|base| Path::new(base).join(rest));
    let folders = [
        var("WF_KEYS").map(PathBuf::from),
        below("XDG_CONFIG_HOME", "wf/keys"),
        below("HOME", ".config/wf/keys"),
    ];
    folders.into_iter().flatten().filter(|dir| dir.is_absolute()).collect()
}

impl KeyFolder {
    /// Returns the folder an environment names: `$WF_KEYS`, else `$XDG_CONFIG_HOME/wf/keys`, else
    /// `$HOME/.config/wf/keys`.
    pub fn from_env(host: &HostEnv) -> Result<Self, KeyFolderError> {
        if let Some(named) = host.get("WF_KEYS").map(Path::new)
            && named.is_relative()
            && !named.as_os_str().is_empty()
        {
            return Err(KeyFolderError::Relative(named.to_path_buf()));
        }
        let dir = folders(host).into_iter().next();
        dir.map(|dir| Self { dir }).ok_or(KeyFolderError::NoFolder)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the names of the keys, sorted.
    pub fn names(&self) -> Result<Vec<String>, KeyFolderError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(system("read", &self.dir)(error)),
        };
        let name = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let name = name.strip_suffix(".pem")?.to_owned();
            is_name(&name).then_some(name)
        };
        let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
        names.sort();
        Ok(names)
    }

    pub fn private(&self, name: &str) -> Result<String, KeyFolderError> {
        self.ensure_private()?;
        self.text(name, "pem", FORBIDDEN_ON_PRIVATE)
    }

    pub fn public(&self, name: &str) -> Result<String, KeyFolderError> {
        self.text(name, "pub", FORBIDDEN_ON_PUBLIC)
    }

    /// Stores a new key under an unused name.
    pub fn add(&self, name: &str, private: &str, public: &str) -> Result<(), KeyFolderError> {
        if !is_name(name) {
            return Err(KeyFolderError::Name(name.into()));
        }
        let mut make = DirBuilder::new();
        make.recursive(true).mode(0o700).create(&self.dir).map_err(system("make", &self.dir))?;
        self.ensure_private()?;
        // Concurrent creations of a key of the same name are serialised: their files must not mix.
        // The system releases the lock in any case.
        let dir = File::open(&self.dir).map_err(system("read", &self.dir))?;
        dir.lock().map_err(system("lock", &self.dir))?;
        let (pem, pub_) = (self.path(name, "pem"), self.path(name, "pub"));
        let exists = || KeyFolderError::Exists { name: name.into(), dir: self.dir.clone() };
        if fs::symlink_metadata(&pem).is_ok() {
            return Err(exists());
        }
        // The public key comes first: a private key without it could not be named.
        let public_file = self.write_temporary(public)?;
        public_file.persist(&pub_).map_err(|error| system("write", &pub_)(error.error))?;
        let private_file = self.write_temporary(private)?;
        private_file.persist_noclobber(&pem).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(),
            _ => system("write", &pem)(error.error),
        })?;
        dir.sync_all().map_err(system("write", &self.dir))
    }

    /// Renames a key to an unused name.
    pub fn rename(&self, name: &str, to: &str) -> Result<(), KeyFolderError> {
        let (private, public) = (self.private(name)?, self.public(name)?);
        self.add(to, &private, &public)?;
        for kind in ["pem", "pub"] {
            let path = self.path(name, kind);
            fs::remove_file(&path).map_err(system("remove", &path))?;
        }
        Ok(())
    }

    fn path(&self, name: &str, kind: &str) -> PathBuf {
        self.dir.join(format!("{name}.{kind}"))
    }

    fn write_temporary(&self, text: &str) -> Result<tempfile::NamedTempFile, KeyFolderError> {
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&self.dir)
            .map_err(system("write into", &self.dir))?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all());
        written.map_err(system("write into", &self.dir))?;
        Ok(file)
    }

    /// Checks that only the owner can look into the folder.
    fn ensure_private(&self) -> Result<(), KeyFolderError> {
        match fs::metadata(&self.dir) {
            Ok(found) => ensure_owned(&self.dir, &found, FORBIDDEN_ON_PRIVATE),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(system("read", &self.dir)(error)),
        }
    }

    fn text(&self, name: &str, kind: &str, permissions: u32) -> Result<String, KeyFolderError> {
        if !is_name(name) {
            return Err(KeyFolderError::Name(name.into()));
        }
        let path = self.path(name, kind);
        match guarded_text(&path, permissions) {
            Err(KeyFolderError::System { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                Err(KeyFolderError::Missing { name: name.into(), dir: self.dir.clone() })
            }
            read => read,
        }
    }
}

/// Reads a small file that belongs to this user and that no other user can read.
pub fn private_text(path: &Path) -> Result<String, KeyFolderError> {
    guarded_text(path, FORBIDDEN_ON_PRIVATE)
}

/// Reads a small file of this user denying other users the given permissions.
fn guarded_text(path: &Path, permissions: u32) -> Result<String, KeyFolderError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let mut file = match opened {
        Ok(opened) => File::from(opened),
        Err(rustix::io::Errno::LOOP) => return Err(KeyFolderError::Odd(path.into())),
        Err(error) => return Err(system("read", path)(error.into())),
    };
    let metadata = file.metadata().map_err(system("read", path))?;
    if !metadata.is_file() || metadata.len() > MAX_KEY_FILE_BYTES {
        return Err(KeyFolderError::Odd(path.into()));
    }
    ensure_owned(path, &metadata, permissions)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(system("read", path))?;
    Ok(text)
}

fn ensure_owned(path: &Path, metadata: &fs::Metadata, permissions: u32) -> Result<(), KeyFolderError> {
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeyFolderError::Foreign(path.into()));
    }
    if metadata.mode() & permissions != 0 {
        return Err(KeyFolderError::Open(path.into()));
    }
    Ok(())
}

fn system(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> KeyFolderError {
    let path = path.to_path_buf();
    move |cause| KeyFolderError::System { doing, path: path.clone(), cause }
}

/// True for lower-case words and numbers, joined by hyphens.
fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let word = |word: &str| !word.is_empty() && word.bytes().all(letter);
    text.len() <= MAX_KEY_NAME_LENGTH && text.split('-').all(word)
}

#[cfg(test)]
mod tests;
