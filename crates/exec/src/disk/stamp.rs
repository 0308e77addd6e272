//! The identity and the version of a file, from its metadata.

use rustix::fs::Stat;

/// The device and the inode of a file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

/// The metadata of one version of a file: it differs even if the file was changed and put back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileStamp {
    /// The kind and the permissions.
    pub(crate) mode: u32,
    pub(crate) inode: u64,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The modification time in nanoseconds since 1970.
    pub(crate) modified: i64,
    /// The change time in nanoseconds since 1970.
    pub(crate) changed: i64,
}

impl From<Stat> for FileIdentity {
    fn from(stat: Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

impl From<Stat> for FileStamp {
    fn from(stat: Stat) -> Self {
        let nanos = |seconds: i64, rest: u64| {
            let rest = i64::try_from(rest).unwrap_or_default();
            seconds.saturating_mul(1_000_000_000).saturating_add(rest)
        };
        Self {
            mode: stat.st_mode,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}
