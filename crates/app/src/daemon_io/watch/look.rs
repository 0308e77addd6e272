use std::{
    ffi::{OsStr, OsString},
    io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::PathBuf,
    time::Duration,
};

use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags},
    io::Errno,
};
use tokio::{io::unix::AsyncFd, time::Instant};

use super::places::{self, WatchedFolders};

/// The silence before a report of changes.
pub const QUIET_PERIOD: Duration = Duration::from_millis(100);

/// The longest time that changes are held back, however many there are.
pub const MAX_DELAY: Duration = Duration::from_secs(1);

/// The number of events taken at once.
const EVENT_BATCH: usize = 4096;

/// A watch on folders and files.
#[derive(Debug)]
pub struct FileWatcher {
    pub(super) queue: AsyncFd<OwnedFd>,
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    places: WatchedFolders,
    /// The times of the first and the last unreported change.
    unreported: Option<(Instant, Instant)>,
    /// True if folders came or went.
    folders_changed: bool,
}

/// One event of the kernel.
struct InotifyEvent {
    number: i32,
    flags: ReadFlags,
    name: Option<OsString>,
}

impl FileWatcher {
    /// Starts the watch; needs a Tokio runtime with I/O. Fails with a message if the system's limits do not
    /// allow it. Paths should be absolute.
    #[expect(deprecated, reason = "its replacement is unsafe; the descriptor is owned, and is never another")]
    pub fn new(folders: &[PathBuf], files: &[PathBuf]) -> io::Result<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(watch_error)?;
        let places = places::watch_folders(&queue, folders, files)?;
        Ok(Self {
            queue: AsyncFd::new(queue)?,
            folders: folders.to_vec(),
            files: files.to_vec(),
            places,
            unreported: None,
            folders_changed: false,
        })
    }

    /// Waits until something changed and was quiet for a while. May be dropped at any point: the next call
    /// reports what it saw. An error counts as a change, too: new files may be unwatched until the next
    /// change is seen.
    pub async fn wait_for_change(&mut self) -> io::Result<()> {
        loop {
            let Some((first, last)) = self.unreported else {
                self.read_events().await?;
                continue;
            };
            let end = (last + QUIET_PERIOD).min(first + MAX_DELAY);
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(end) => {}
                taken = self.read_events() => {
                    taken?;
                    continue;
                }
            }
            self.unreported = None;
            if self.folders_changed {
                self.rewatch()?;
            }
            return Ok(());
        }
    }

    /// Watches the files existing now, and no longer the previous ones.
    fn rewatch(&mut self) -> io::Result<()> {
        let queue = self.queue.get_ref();
        let places = places::watch_folders(queue, &self.folders, &self.files)?;
        for number in self.places.keys() {
            if !places.contains_key(number) {
                // It may have gone by itself.
                let _ = inotify::remove_watch(queue, *number);
            }
        }
        self.places = places;
        self.folders_changed = false;
        Ok(())
    }

    /// Waits for events, and takes all that are available.
    async fn read_events(&mut self) -> io::Result<()> {
        let mut ready = self.queue.readable().await?;
        let (events, is_all) = read(self.queue.get_ref())?;
        if is_all {
            ready.clear_ready();
        }
        drop(ready);
        for event in events {
            self.handle_event(&event);
        }
        Ok(())
    }

    fn handle_event(&mut self, event: &InotifyEvent) {
        let is_folder = event.flags.contains(ReadFlags::ISDIR);
        let place = self.places.get(&event.number);
        let (counts, moved) = match (&event.name, place) {
            _ if event.flags.contains(ReadFlags::QUEUE_OVERFLOW) => (true, true),
            // No longer watched.
            (_, None) => (false, false),
            (Some(name), Some(place)) => {
                let awaited = place.is_awaited(name);
                (place.counts(name, is_folder), is_folder || awaited)
            }
            // The folder itself was deleted or moved.
            (None, Some(_)) => (true, true),
        };
        if event.flags.contains(ReadFlags::IGNORED) {
            self.places.remove(&event.number);
        }
        if counts {
            let now = Instant::now();
            let first = self.unreported.map_or(now, |(first, _)| first);
            self.unreported = Some((first, now));
            self.folders_changed |= moved;
        }
    }
}

/// Returns the error for a failed watch. Two limits share one number.
fn watch_error(error: Errno) -> io::Error {
    if error == Errno::MFILE {
        return io::Error::other(
            "cannot watch files: either this process has too many open files, or this user has \
             reached the limit of inotify instances; raise it with `sysctl \
             fs.inotify.max_user_instances=1024`",
        );
    }
    io::Error::new(io::Error::from(error).kind(), format!("cannot watch files: {error}"))
}

/// Reads the kernel's events; true if there are no more.
fn read(queue: &OwnedFd) -> io::Result<(Vec<InotifyEvent>, bool)> {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut reader = inotify::Reader::new(queue, &mut buffer);
    let mut events = Vec::new();
    while events.len() < EVENT_BATCH || !reader.is_buffer_empty() {
        match reader.next() {
            Ok(event) => events.push(InotifyEvent {
                number: event.wd(),
                flags: event.events(),
                name: event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned()),
            }),
            Err(Errno::AGAIN) => return Ok((events, true)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((events, false))
}
