use std::fmt;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A path of the state at which something else than a file stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAFile {
    /// The path.
    pub path: PathBuf,
    /// What stands there.
    pub kind: &'static str,
}

impl fmt::Display for NotAFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kind } = self;
        write!(f, "{} is {kind}, and must be a file", path.display())
    }
}

impl std::error::Error for NotAFile {}

/// Refuses a pipe, a link, a folder or a device in the place of a file of the state, before it is
/// opened: to open a pipe waits for whoever may open its other end, and a link leads elsewhere.
pub fn own_file(path: &Path) -> io::Result<()> {
    let kind = match path.symlink_metadata() {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let kind = if kind.is_file() {
        return Ok(());
    } else if kind.is_symlink() {
        "a link"
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    let path = path.to_path_buf();
    Err(io::Error::other(NotAFile { path, kind }))
}
