use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use super::places::{self, Places};

/// Silence after which changes are told.
pub const QUIET: Duration = Duration::from_millis(100);

/// The longest that changes are kept back, however many there are.
pub const LONGEST: Duration = Duration::from_secs(1);

/// How many events are taken in one go.
const MANY: usize = 4096;

/// Watches folders and files.
#[derive(Debug)]
pub struct Watch {
    pub(super) queue: AsyncFd<OwnedFd>,
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    places: Places,
    /// When the first change, and the last, came that nobody was told of.
    untold: Option<(Instant, Instant)>,
    /// Whether folders came or went.
    moved: bool,
}

/// One event of the kernel.
struct Seen {
    number: i32,
    what: ReadFlags,
    name: Option<OsString>,
}

impl Watch {
    /// Watches from now on; needs a runtime of tokio with I/O. Fails where the system lets nobody
    /// watch that much, and says so. Paths should be absolute.
    #[expect(
        deprecated,
        reason = "its replacement is unsafe; the descriptor is owned, and is never another"
    )]
    pub fn new(folders: &[PathBuf], files: &[PathBuf]) -> io::Result<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(none)?;
        let places = places::find(&queue, folders, files)?;
        Ok(Self {
            queue: AsyncFd::new(queue)?,
            folders: folders.to_vec(),
            files: files.to_vec(),
            places,
            untold: None,
            moved: false,
        })
    }

    /// Waits until something changed, and was quiet for a while. May be dropped at any point: what
    /// it saw is told by the next one. An error is a change, too: what came to be may not be watched
    /// until the next one is seen.
    pub async fn changed(&mut self) -> io::Result<()> {
        loop {
            let Some((first, last)) = self.untold else {
                self.take().await?;
                continue;
            };
            let end = (last + QUIET).min(first + LONGEST);
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(end) => {}
                taken = self.take() => {
                    taken?;
                    continue;
                }
            }
            self.untold = None;
            if self.moved {
                self.look_again()?;
            }
            return Ok(());
        }
    }

    /// Watches what is there now, and no longer what was.
    fn look_again(&mut self) -> io::Result<()> {
        let queue = self.queue.get_ref();
        let places = places::find(queue, &self.folders, &self.files)?;
        for number in self.places.keys() {
            if !places.contains_key(number) {
                // It may have gone by itself.
                let _ = inotify::remove_watch(queue, *number);
            }
        }
        self.places = places;
        self.moved = false;
        Ok(())
    }

    /// Waits for events, and takes those that are there.
    async fn take(&mut self) -> io::Result<()> {
        let mut ready = self.queue.readable().await?;
        let (seen, is_all) = read(self.queue.get_ref())?;
        if is_all {
            ready.clear_ready();
        }
        drop(ready);
        for event in seen {
            self.see(&event);
        }
        Ok(())
    }

    fn see(&mut self, seen: &Seen) {
        let is_folder = seen.what.contains(ReadFlags::ISDIR);
        let place = self.places.get(&seen.number);
        let (counts, moved) = match (&seen.name, place) {
            _ if seen.what.contains(ReadFlags::QUEUE_OVERFLOW) => (true, true),
            // Not ours any more.
            (_, None) => (false, false),
            (Some(name), Some(place)) => {
                let awaited = place.is_awaited(name);
                (place.counts(name, is_folder), is_folder || awaited)
            }
            // The folder itself came to an end, or went elsewhere.
            (None, Some(_)) => (true, true),
        };
        if seen.what.contains(ReadFlags::IGNORED) {
            self.places.remove(&seen.number);
        }
        if counts {
            let now = Instant::now();
            let first = self.untold.map_or(now, |(first, _)| first);
            self.untold = Some((first, now));
            self.moved |= moved;
        }
    }
}

/// Says why nothing at all can be watched. Two limits share one number.
fn none(error: Errno) -> io::Error {
    if error == Errno::MFILE {
        return io::Error::other(
            "files cannot be watched: either this process has too many of them open, or this user \
             watches with as many programs as the system allows; raise that with \
             `sysctl fs.inotify.max_user_instances=1024`",
        );
    }
    io::Error::new(
        io::Error::from(error).kind(),
        format!("files cannot be watched: {error}"),
    )
}

/// Takes what the kernel has; says whether that is all.
fn read(queue: &OwnedFd) -> io::Result<(Vec<Seen>, bool)> {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut reader = inotify::Reader::new(queue, &mut buffer);
    let mut seen = Vec::new();
    while seen.len() < MANY || !reader.is_buffer_empty() {
        match reader.next() {
            Ok(event) => seen.push(Seen {
                number: event.wd(),
                what: event.events(),
                name: event
                    .file_name()
                    .map(|name| OsStr::from_bytes(name.to_bytes()).to_owned()),
            }),
            Err(Errno::AGAIN) => return Ok((seen, true)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((seen, false))
}
