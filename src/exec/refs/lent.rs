use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};

use super::{MOST, RefsFault, read, unable};
use crate::exec::secret::{Hidden, value};
use crate::mask::weakness;
use crate::name::RefId;

/// What is lent to one process; gone when it is dropped.
#[derive(Debug)]
pub struct Lent {
    pub(super) folder: PathBuf,
}

impl Lent {
    /// A folder without anything in it.
    pub fn empty(&self) -> PathBuf {
        self.folder.join("empty")
    }

    /// Copies of the secrets, by name.
    pub fn refs(&self) -> PathBuf {
        self.folder.join("refs")
    }

    /// Where the process writes new ones.
    pub fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// A copy of the skill, with the bytes that were checked.
    pub fn skill(&self) -> PathBuf {
        self.folder.join("skill")
    }

    /// Lends another secret.
    pub fn add(&self, name: &RefId, secret: &Hidden) -> Result<(), RefsFault> {
        let refs = self.refs();
        // The process may have done to its folder whatever it liked.
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

    /// What the process has written so far that is a secret by its form, to be masked. What is not is
    /// found by [`Lent::written`].
    pub fn so_far(&self) -> Vec<Hidden> {
        let entries = fs::read_dir(self.out()).into_iter().flatten().flatten();
        let bytes = entries
            .take(MOST)
            .filter_map(|entry| read(&entry.path()).ok());
        bytes.filter_map(|bytes| value(bytes).ok()).collect()
    }

    /// What the process wrote, once it has ended.
    pub fn written(&self) -> Result<Vec<(RefId, Hidden)>, RefsFault> {
        let out = self.out();
        let wrong = |what: String| RefsFault::Written(what);
        let mut found = Vec::new();
        for entry in fs::read_dir(&out).map_err(unable("read", &out))? {
            let entry = entry.map_err(unable("read", &out))?;
            if found.len() >= MOST {
                return Err(wrong(format!("there are more than {MOST}")));
            }
            let name = entry.file_name().into_string().ok();
            let name = name.and_then(|name| RefId::parse(&name).ok());
            let name = name.ok_or_else(|| {
                wrong("a file's name is not lower-case letters, digits, `_` and `-`".into())
            })?;
            let bytes = read(&entry.path()).map_err(|why| wrong(format!("`{name}`: {why}")))?;
            let secret = value(bytes).map_err(|why| wrong(format!("`{name}` {why}")))?;
            if let Some(weak) = weakness(secret.expose()) {
                return Err(wrong(format!("`{name}` is too weak to be hidden: {weak}")));
            }
            found.push((name, secret));
        }
        found.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
        Ok(found)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
