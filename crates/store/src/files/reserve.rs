use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

/// The size of a reserve on a large disk, in bytes.
const LARGEST: u64 = 8 * 1024 * 1024;

/// The part of the free space that becomes the reserve on a small one.
const PART: u64 = 4;

/// The free space, in bytes, below which nothing is begun: there would be no room for its end.
const LEAST: u64 = 256 * 1024;

/// Space on the disk of the state a process keeps for the end of what it runs. It is given back when the disk is
/// almost full; from then on nothing more may begin.
///
/// It is a file without a name, so it is gone with its process.
#[derive(Debug)]
pub struct SpaceReserve {
    folder: PathBuf,
    kept: Mutex<Option<KeptSpace>>,
    is_low: AtomicBool,
}

#[derive(Debug)]
struct KeptSpace {
    _file: Option<File>,
    size: u64,
}

impl SpaceReserve {
    /// Creates a reserve in a folder, without any space yet.
    pub(crate) fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), kept: Mutex::default(), is_low: AtomicBool::new(false) }
    }

    /// Takes space, if there is some. A file system that cannot set space aside is watched all the same.
    pub(crate) fn fill(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(free) = free_space(&self.folder).filter(|_| kept.is_none()) else {
            return;
        };
        if free < LEAST {
            return self.is_low.store(true, Ordering::Release);
        }
        let size = (free / PART).min(LARGEST);
        let file = tempfile::tempfile_in(&self.folder).ok();
        let file = file.filter(|file| fallocate(file, FallocateFlags::empty(), 0, size).is_ok());
        *kept = Some(KeptSpace { _file: file, size });
    }

    /// Gives the space back if the disk is almost full.
    pub(crate) fn watch(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_short = |kept: &KeptSpace| free_space(&self.folder).is_some_and(|free| free < kept.size);
        if kept.as_ref().is_some_and(is_short) {
            *kept = None;
            self.is_low.store(true, Ordering::Release);
        }
    }

    /// Gives the space back at once, since a write found no room. False if there was none to give.
    pub fn release(&self) -> bool {
        self.is_low.store(true, Ordering::Release);
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }

    /// True once the disk was almost full: what runs may end, and nothing more may begin.
    pub fn is_low(&self) -> bool {
        self.is_low.load(Ordering::Acquire)
    }
}

/// Returns the free space on the disk of a folder, in bytes; `None`: it is unknown.
pub(crate) fn free_space(folder: &Path) -> Option<u64> {
    let disk = statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::SpaceReserve;

    #[test]
    fn space_is_given_back_once_and_nothing_begins_then() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = SpaceReserve::of(dir.path());
        assert!(!reserve.is_low());
        reserve.fill();
        reserve.watch();
        assert!(!reserve.is_low(), "this disk has space");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the reserve has no name");
        assert!(reserve.release() && !reserve.release());
        assert!(reserve.is_low());
    }
}
