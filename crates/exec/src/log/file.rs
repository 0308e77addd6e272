use std::{
    fs::File,
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    sync::Arc,
};

use rustix::fs::OFlags;

use crate::disk::files::FileIdentity;

/// Opens a file of a run; `None` if there is none. A pipe would be waited for, and a link leads elsewhere: both are
/// errors, since wf makes neither.
pub(super) fn open_regular(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    match opened {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file of a log: a growing one, or a part of an archive.
#[derive(Debug)]
pub(super) struct LogFile {
    file: Arc<File>,
    start: u64,
    /// The length of a part of an archive.
    length: Option<u64>,
}

impl LogFile {
    /// Opens a file; `None` if there is none.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = open_regular(path)?;
        Ok(file.map(|file| Self { file: Arc::new(file), start: 0, length: None }))
    }

    /// Returns the part of an archive from `start` on.
    pub(super) fn within(archive: Arc<File>, start: u64, length: u64) -> Self {
        Self { file: archive, start, length: Some(length) }
    }

    /// Returns its place: the file and the offset in it.
    pub(super) fn identity(&self) -> io::Result<(FileIdentity, u64)> {
        Ok((rustix::fs::fstat(&*self.file)?.into(), self.start))
    }

    /// Returns the length in bytes.
    pub(super) fn length(&self) -> io::Result<u64> {
        self.length.map_or_else(|| Ok(self.file.metadata()?.len()), Ok)
    }

    /// Reads bytes from a position on, as far as there are any. Returns how many.
    pub(super) fn read_at(&self, bytes: &mut [u8], position: u64) -> io::Result<usize> {
        let left = self.length.map_or(u64::MAX, |length| length.saturating_sub(position));
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        self.file.read_at(bytes.get_mut(..most).unwrap_or_default(), self.start + position)
    }

    /// Fills a buffer from a position on.
    pub(super) fn read_exact_at(&self, bytes: &mut [u8], position: u64) -> io::Result<()> {
        let end = position + bytes.len() as u64;
        if self.length.is_some_and(|length| end > length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.file.read_exact_at(bytes, self.start + position)
    }
}
