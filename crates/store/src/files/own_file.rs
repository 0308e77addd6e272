use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A path of the state holding something other than a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTypeError {
    pub path: PathBuf,
    pub kind: &'static str,
}

impl fmt::Display for FileTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kind } = self;
        write!(f, "{} is {kind}, expected a regular file", path.display())
    }
}

impl std::error::Error for FileTypeError {}

/// Opens a file a person names, for reading. Anything but a regular file is refused, and nothing is waited for:
/// opening a pipe blocks until its other end is opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Refuses a pipe, a link, a folder or a device in the place of a state file, before it is opened:
/// opening a pipe blocks until its other end is opened, and a link leads elsewhere.
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
    Err(io::Error::other(FileTypeError { path, kind }))
}
