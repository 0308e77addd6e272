//! The folder in which a person keeps the keys that sign approvals.
//!
//! `NAME.pem` is a private key and `NAME.pub` its public key. **Invariant:** a private key is
//! written under a name that nobody had before, whole, for its owner alone; and is read only from
//! a file that nobody else can read. Sandboxes never show the folder: see [`folders`].

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::Host;

/// The largest key file that is read, in bytes.
const LARGEST: u64 = 64 * 1024;

/// What others must not have of private keys: any permission.
const READ: u32 = 0o077;

/// What others must not have of public keys: the permission to write.
const CHANGE: u32 = 0o022;

/// The name that earlier versions gave a key where nobody gave one. It signs where it is.
pub const DEFAULT: &str = "default";

/// The longest name of a key.
const LONGEST: usize = 64;

/// The name of a key that belongs to somebody: their login name, as names of keys are written.
pub fn named_after(owner: &str) -> Option<String> {
    let lower = owner.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    name.truncate(LONGEST);
    let name = name.trim_end_matches('-');
    (!name.is_empty()).then(|| name.to_owned())
}

/// A folder of keys. It may not be there yet.
#[derive(Clone, Debug)]
pub struct Keys {
    dir: PathBuf,
}

/// Why keys cannot be kept or used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFault {
    /// Nothing says where.
    #[error("there is no folder for keys: neither WF_KEYS, XDG_CONFIG_HOME nor HOME is set")]
    NoFolder,
    /// The folder is named in a way that depends on where one stands.
    #[error("WF_KEYS must be an absolute path, not {}", .0.display())]
    Relative(PathBuf),
    /// Others can read or change it.
    #[error("others can read or change {}", .0.display())]
    Open(PathBuf),
    /// It is somebody else's.
    #[error("{} belongs to somebody else", .0.display())]
    Foreign(PathBuf),
    /// It is a link, a pipe or something else.
    #[error("{} is no plain file", .0.display())]
    Odd(PathBuf),
    /// There is no key of that name.
    #[error("there is no key `{name}` in {}", .dir.display())]
    Missing {
        /// What was asked for.
        name: String,
        /// Where.
        dir: PathBuf,
    },
    /// The name is taken.
    #[error("there is a key `{name}` in {} already", .dir.display())]
    Exists {
        /// The name.
        name: String,
        /// Where.
        dir: PathBuf,
    },
    /// The name cannot be the name of a file.
    #[error("`{0}` is no name for a key")]
    Name(String),
    /// The system refuses.
    #[error("cannot {doing} {}: {cause}", .path.display())]
    System {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        cause: io::Error,
    },
}

impl KeyFault {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::NoFolder => "name one: WF_KEYS=/path/to/keys".into(),
            Self::Relative(_) => "write the whole path, from / on".into(),
            Self::Open(path) if path.is_dir() => format!("chmod 700 {}", path.display()),
            Self::Open(path) => format!("chmod 600 {}", path.display()),
            Self::Foreign(_) | Self::Odd(_) => {
                "keys are read from plain files of who runs wf: look who put it there".into()
            }
            Self::Missing { .. } => "`wf key list` shows the keys, `wf key init` makes one".into(),
            Self::Exists { .. } => {
                "keys are never overwritten: choose another name, or `wf key rotate`".into()
            }
            Self::Name(_) => "use lower-case words and numbers, joined by hyphens".into(),
            Self::System { .. } => "look at the folder and its owner".into(),
        }
    }
}

/// Every folder in which keys may lie, by an environment. No sandbox may show them.
pub fn folders(host: &Host) -> Vec<PathBuf> {
    let var = |name: &str| host.get(name).filter(|value| !value.is_empty());
    let below = |name: &str, rest: &str| var(name).map(|base| Path::new(base).join(rest));
    let all = [
        var("WF_KEYS").map(PathBuf::from),
        below("XDG_CONFIG_HOME", "wf/keys"),
        below("HOME", ".config/wf/keys"),
    ];
    all.into_iter()
        .flatten()
        .filter(|dir| dir.is_absolute())
        .collect()
}

impl Keys {
    /// The folder that an environment names: `$WF_KEYS`, else `$XDG_CONFIG_HOME/wf/keys`, else
    /// `$HOME/.config/wf/keys`.
    pub fn of(host: &Host) -> Result<Self, KeyFault> {
        if let Some(named) = host.get("WF_KEYS").map(Path::new)
            && named.is_relative()
            && !named.as_os_str().is_empty()
        {
            return Err(KeyFault::Relative(named.to_path_buf()));
        }
        let dir = folders(host).into_iter().next();
        dir.map(|dir| Self { dir }).ok_or(KeyFault::NoFolder)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The names of the keys, sorted.
    pub fn names(&self) -> Result<Vec<String>, KeyFault> {
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

    /// The text of a private key.
    pub fn private(&self, name: &str) -> Result<String, KeyFault> {
        self.guarded()?;
        self.text(name, "pem", READ)
    }

    /// The text of a public key.
    pub fn public(&self, name: &str) -> Result<String, KeyFault> {
        self.text(name, "pub", CHANGE)
    }

    /// Keeps a new key under a name that nobody has.
    pub fn add(&self, name: &str, private: &str, public: &str) -> Result<(), KeyFault> {
        if !is_name(name) {
            return Err(KeyFault::Name(name.into()));
        }
        let mut make = DirBuilder::new();
        make.recursive(true)
            .mode(0o700)
            .create(&self.dir)
            .map_err(system("make", &self.dir))?;
        self.guarded()?;
        // Of two that make a key of the same name at once one comes second: the files of both must
        // not be mixed. The system gives the lock back, whatever becomes of us.
        let dir = File::open(&self.dir).map_err(system("read", &self.dir))?;
        dir.lock().map_err(system("lock", &self.dir))?;
        let (pem, pub_) = (self.path(name, "pem"), self.path(name, "pub"));
        let exists = || KeyFault::Exists {
            name: name.into(),
            dir: self.dir.clone(),
        };
        if fs::symlink_metadata(&pem).is_ok() {
            return Err(exists());
        }
        // The public key first: a private key without it would be a key that nobody can name.
        let kept = self.whole(public)?;
        kept.persist(&pub_)
            .map_err(|error| system("write", &pub_)(error.error))?;
        let kept = self.whole(private)?;
        kept.persist_noclobber(&pem)
            .map_err(|error| match error.error.kind() {
                io::ErrorKind::AlreadyExists => exists(),
                _ => system("write", &pem)(error.error),
            })?;
        dir.sync_all().map_err(system("write", &self.dir))
    }

    /// Gives a key another name, which nobody has.
    pub fn rename(&self, name: &str, to: &str) -> Result<(), KeyFault> {
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

    fn whole(&self, text: &str) -> Result<tempfile::NamedTempFile, KeyFault> {
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&self.dir)
            .map_err(system("write into", &self.dir))?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.as_file().sync_all());
        written.map_err(system("write into", &self.dir))?;
        Ok(file)
    }

    /// The folder is one that only its owner can look into.
    fn guarded(&self) -> Result<(), KeyFault> {
        match fs::metadata(&self.dir) {
            Ok(found) => owned(&self.dir, &found, READ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(system("read", &self.dir)(error)),
        }
    }

    fn text(&self, name: &str, kind: &str, kept: u32) -> Result<String, KeyFault> {
        if !is_name(name) {
            return Err(KeyFault::Name(name.into()));
        }
        let path = self.path(name, kind);
        match guarded_text(&path, kept) {
            Err(KeyFault::System { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                Err(KeyFault::Missing {
                    name: name.into(),
                    dir: self.dir.clone(),
                })
            }
            read => read,
        }
    }
}

/// Reads a small file that only its owner, who we are, can read.
pub fn private_text(path: &Path) -> Result<String, KeyFault> {
    guarded_text(path, READ)
}

/// Reads a small file of ours to which others have none of some permissions.
fn guarded_text(path: &Path, kept: u32) -> Result<String, KeyFault> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let mut file = match opened {
        Ok(opened) => File::from(opened),
        Err(rustix::io::Errno::LOOP) => return Err(KeyFault::Odd(path.into())),
        Err(error) => return Err(system("read", path)(error.into())),
    };
    let found = file.metadata().map_err(system("read", path))?;
    if !found.is_file() || found.len() > LARGEST {
        return Err(KeyFault::Odd(path.into()));
    }
    owned(path, &found, kept)?;
    let mut text = String::new();
    file.read_to_string(&mut text)
        .map_err(system("read", path))?;
    Ok(text)
}

fn owned(path: &Path, found: &fs::Metadata, kept: u32) -> Result<(), KeyFault> {
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeyFault::Foreign(path.into()));
    }
    if found.mode() & kept != 0 {
        return Err(KeyFault::Open(path.into()));
    }
    Ok(())
}

fn system(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> KeyFault {
    let path = path.to_path_buf();
    move |cause| KeyFault::System {
        doing,
        path: path.clone(),
        cause,
    }
}

/// Lower-case words and numbers, joined by hyphens.
fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let word = |word: &str| !word.is_empty() && word.bytes().all(letter);
    text.len() <= LONGEST && text.split('-').all(word)
}

#[cfg(test)]
mod tests;
