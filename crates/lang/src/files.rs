use std::{
    collections::BTreeMap,
    fs,
    fs::File,
    io,
    io::Read,
    path::{Path, PathBuf},
};

/// The largest readable file, in bytes.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The source of spec files. Paths are relative to the workspace.
pub trait SpecFileSource {
    /// Returns the content of a file.
    fn read(&self, path: &str) -> Result<Vec<u8>, FileReadError>;

    /// True if links lead a path out of the workspace.
    fn leads_out(&self, path: &str) -> bool;

    /// True if the workspace has no such file. A source that knows some files alone, as the record of a run, says false.
    fn is_missing(&self, _path: &str) -> bool {
        false
    }

    /// Returns the names of the files of a folder, in order; none if it cannot be read.
    fn names(&self, folder: &str) -> Vec<String>;
}

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileReadError {
    /// It does not exist.
    #[error("no such file")]
    Missing,
    #[error("this is a directory, not a file")]
    Directory,
    /// It is something else without an end, such as a pipe or a device.
    #[error("this is a pipe, a socket or a device, not a file")]
    Special,
    /// It is larger than [`MAX_FILE`].
    #[error("the file is larger than {} MiB", MAX_FILE >> 20)]
    TooLarge,
    /// The system denies access.
    #[error("the file cannot be read: {0}")]
    Refused(String),
}

/// The files below a folder of the disk.
#[derive(Clone, Debug)]
pub struct DiskFiles {
    root: PathBuf,
}

/// The files in memory, by path: for tests, and for the texts a run was started with.
#[derive(Clone, Debug, Default)]
pub struct InMemoryFiles(pub BTreeMap<String, Vec<u8>>);

impl DiskFiles {
    /// Reads below `root`, the workspace.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }
}

impl SpecFileSource for DiskFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileReadError> {
        let path = self.root.join(path);
        // A pipe must not even be opened: opening it would wait for a writer.
        let about = fs::metadata(&path).map_err(|error| refused(&error))?;
        if about.is_dir() {
            return Err(FileReadError::Directory);
        }
        if !about.is_file() {
            return Err(FileReadError::Special);
        }
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(|error| refused(&error))?;
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| refused(&error))?;
        bounded(bytes)
    }

    fn is_missing(&self, path: &str) -> bool {
        !self.root.join(path).is_file()
    }

    /// An unresolvable path leads nowhere; reading it reports so.
    fn leads_out(&self, path: &str) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        match (real(&self.root), real(&self.root.join(path))) {
            (Some(root), Some(file)) => !file.starts_with(root),
            _ => false,
        }
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
        names.sort();
        names
    }
}

impl SpecFileSource for InMemoryFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileReadError> {
        let bytes = self.0.get(path).ok_or(FileReadError::Missing)?;
        bounded(bytes.clone())
    }

    fn leads_out(&self, _: &str) -> bool {
        false
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let below = |path: &String| path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned);
        let mut names: Vec<String> = self.0.keys().filter_map(below).collect();
        names.retain(|name| !name.contains('/'));
        names
    }
}

fn bounded(bytes: Vec<u8>) -> Result<Vec<u8>, FileReadError> {
    if bytes.len() as u64 > MAX_FILE {
        return Err(FileReadError::TooLarge);
    }
    Ok(bytes)
}

fn refused(error: &io::Error) -> FileReadError {
    match error.kind() {
        // A path with a NUL byte, or below something that is no folder, names nothing.
        io::ErrorKind::NotFound | io::ErrorKind::InvalidInput | io::ErrorKind::NotADirectory => {
            FileReadError::Missing
        }
        _ => FileReadError::Refused(error.to_string()),
    }
}

/// Returns the path `used` means in the file `from`; both relative to the workspace. `None` if
/// it lies outside the workspace or names nothing.
pub(super) fn join_paths(from: &str, used: &str) -> Option<String> {
    if used.starts_with('/') {
        return None;
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(used.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{DiskFiles, SpecFileSource, join_paths};

    #[test]
    fn each_thing_that_is_no_file_has_its_own_answer() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "text").unwrap();
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        let big = std::fs::File::create(dir.path().join("big")).unwrap();
        big.set_len(super::MAX_FILE + 1).unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .unwrap();
        let disk = DiskFiles::new(dir.path());
        assert_eq!(disk.read("file").unwrap(), b"text");
        for (path, answer) in [
            ("nothing", "no such file"),
            ("nu\0ll", "no such file"),
            ("file/below", "no such file"),
            ("folder", "this is a directory, not a file"),
            ("pipe", "this is a pipe, a socket or a device, not a file"),
            ("big", "the file is larger than 64 MiB"),
        ] {
            assert_eq!(disk.read(path).unwrap_err().to_string(), answer, "{path}");
        }
        for (link, to, out) in [("in", "file", false), ("out", "..", true), ("off", "no", false)] {
            std::os::unix::fs::symlink(to, dir.path().join(link)).unwrap();
            assert_eq!(disk.leads_out(link), out, "{link}");
        }
        let devices = DiskFiles::new("/dev");
        assert!(devices.read("zero").is_err());
    }

    #[test]
    fn paths_stay_inside() {
        for (from, used, path) in [
            ("plan.md", "other.md", Some("other.md")),
            ("a/b/plan.md", "other.md", Some("a/b/other.md")),
            ("a/b/plan.md", "../other.md", Some("a/other.md")),
            ("a/b/plan.md", "./c//./other.md", Some("a/b/c/other.md")),
            ("a/plan.md", "../../other.md", None),
            ("plan.md", "/etc/passwd", None),
            ("plan.md", "", None),
            ("a/plan.md", "..", None),
        ] {
            assert_eq!(join_paths(from, used).as_deref(), path, "{from} {used}");
        }
    }
}
