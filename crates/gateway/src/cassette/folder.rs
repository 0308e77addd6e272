//! Recordings with only the newest messages of a conversation, made whole.

use super::RecordedExchange;
use std::{
    collections::BTreeMap,
    fs, io,
    io::{ErrorKind, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tempfile::NamedTempFile;
use wf_base::digest::Sha256Digest;
use wf_core::agent::{KnownConversations, Message};

/// A folder of recorded exchanges, and its use.
#[derive(Debug)]
pub struct Cassette {
    folder: PathBuf,
    /// True if calls are answered from it; else they are recorded.
    is_replay: bool,
    /// True if the folder is created with the first exchange.
    is_created_late: bool,
    /// The number of replies given to each request.
    pub(super) played: Mutex<BTreeMap<Sha256Digest, u32>>,
    /// The conversations this process recorded, by the names of their recordings.
    recorded: Mutex<KnownConversations>,
    pub(super) last_read: LastRead,
}

/// The reason why a cassette cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CassetteError {
    /// It has recordings already.
    #[error("{} has recordings already", .0.display())]
    Used(PathBuf),
    /// There is no such folder.
    #[error("{} is not a folder of recordings: {reason}", path.display())]
    NoFolder { path: PathBuf, reason: String },
    /// A file of it cannot be read.
    #[error("cannot read the recording {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// There is no space left to record an exchange.
    #[error("no space left to record the exchange in {}", .0.display())]
    NoSpace(PathBuf),
    /// An exchange cannot be recorded.
    #[error("cannot record the exchange in {}: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: String },
}

impl Cassette {
    /// Begins a recording. The folder is created; it may have no recordings, since those of two runs could not be
    /// told apart.
    pub fn create(folder: &Path) -> Result<Self, CassetteError> {
        let cassette = Self::extend(folder)?;
        if cassette.files()?.is_empty() { Ok(cassette) } else { Err(CassetteError::Used(folder.to_owned())) }
    }

    /// Goes on with a recording. The folder is created if it is missing.
    pub fn extend(folder: &Path) -> Result<Self, CassetteError> {
        let unwritable = |reason: String| CassetteError::Unwritable { path: folder.to_owned(), reason };
        fs::create_dir_all(folder).map_err(|error| unwritable(error.to_string()))?;
        // A folder that cannot be written is found before a model is paid.
        NamedTempFile::new_in(folder).map_err(|error| unwritable(error.to_string()))?;
        Ok(Self::new(folder.to_owned(), false))
    }

    /// Takes the folder of a run's exchanges, which is created with the first one.
    pub fn of_run(folder: PathBuf) -> Self {
        Self { is_created_late: true, ..Self::new(folder, false) }
    }

    /// Takes the folder of a run's exchanges, from which calls are answered. It has none if no model was called.
    pub fn replay_of_run(folder: PathBuf) -> Self {
        Self::new(folder, true)
    }

    fn new(folder: PathBuf, is_replay: bool) -> Self {
        Self {
            folder,
            is_replay,
            is_created_late: false,
            played: Mutex::default(),
            recorded: Mutex::default(),
            last_read: LastRead::default(),
        }
    }

    /// Opens a recording, from which calls are answered.
    pub fn open(folder: &Path) -> Result<Self, CassetteError> {
        let cassette = Self::new(folder.to_owned(), true);
        if cassette.files()?.is_empty() {
            let reason = "it has none".to_owned();
            return Err(CassetteError::NoFolder { path: folder.to_owned(), reason });
        }
        Ok(cassette)
    }

    /// True if calls are answered from it; else they are recorded.
    pub fn is_replay(&self) -> bool {
        self.is_replay
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn recorded(&self) -> MutexGuard<'_, KnownConversations> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an exchange without the messages another recording has.
    fn shortened(&self, exchange: &RecordedExchange) -> RecordedExchange {
        let mut short = exchange.clone();
        if let Some(beginning) = self.recorded().beginning(&exchange.request.messages) {
            short.request.messages.drain(..beginning.messages);
            short.continues = Some(beginning.name);
        }
        short
    }

    /// Records an exchange. The same request made again gets the next number.
    pub fn record(&self, exchange: &RecordedExchange) -> Result<(), CassetteError> {
        let unwritable = |reason: String| CassetteError::Unwritable { path: self.folder.clone(), reason };
        let text = serde_json::to_string_pretty(&self.shortened(exchange))
            .map_err(|error| unwritable(error.to_string()))?;
        let write = || {
            if self.is_created_late {
                fs::create_dir_all(&self.folder)?;
            }
            // Its mode is 0600.
            let mut file = NamedTempFile::new_in(&self.folder)?;
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            file.as_file().sync_data()?;
            Ok(file)
        };
        let mut file = write().map_err(|error: std::io::Error| match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => CassetteError::NoSpace(self.folder.clone()),
            _ => unwritable(error.to_string()),
        })?;
        let digest = exchange.digest();
        for number in 1_u32.. {
            // The name is taken or not, in one step: calls are made concurrently.
            match file.persist_noclobber(self.path(&digest, number)) {
                Ok(_) => {
                    self.recorded().add(&exchange.request.messages, &recording_name(&digest, number));
                    break;
                }
                Err(taken) if taken.error.kind() == ErrorKind::AlreadyExists => file = taken.file,
                Err(failed) => return Err(unwritable(failed.error.to_string())),
            }
        }
        Ok(())
    }

    /// Reads the exchange with a number; `None` if there is none.
    pub(super) fn read_recording(
        &self,
        digest: &Sha256Digest,
        number: u32,
    ) -> Result<Option<RecordedExchange>, CassetteError> {
        let path = self.path(digest, number);
        let exchange = match read_exchange(&path, &self.last_read) {
            Ok(exchange) => exchange,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CassetteError::Unreadable { path, reason: error.to_string() }),
        };
        if exchange.digest() != *digest {
            let reason = "its request was modified, so its name is not that of the request".to_owned();
            return Err(CassetteError::Unreadable { path, reason });
        }
        Ok(Some(exchange))
    }

    /// Returns the paths of all exchanges, sorted by name.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>, CassetteError> {
        let entries = fs::read_dir(&self.folder).map_err(|error| CassetteError::NoFolder {
            path: self.folder.clone(),
            reason: error.to_string(),
        })?;
        let paths = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = paths.filter(|path| is_recording(path)).collect();
        files.sort();
        Ok(files)
    }

    fn path(&self, digest: &Sha256Digest, number: u32) -> PathBuf {
        self.folder.join(format!("{}.json", recording_name(digest, number)))
    }
}

/// Returns the name of a recording without `.json`.
fn recording_name(digest: &Sha256Digest, number: u32) -> String {
    let suffix = if number > 1 { format!("-{number}") } else { String::new() };
    format!("{digest}{suffix}")
}

/// True if a file has the name of an exchange: beside them there may be a README or a `.gitignore`.
pub(super) fn is_recording(path: &Path) -> bool {
    let Some(stem) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json")) else {
        return false;
    };
    stem.split('-').next().is_some_and(|digest| digest.parse::<Sha256Digest>().is_ok())
}

/// The maximum size of a recorded exchange, with those it continues, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The conversations read last, by the names of their recordings without `.json`. The replay of a conversation
/// reads each recording once.
#[derive(Debug, Default)]
pub(super) struct LastRead(Mutex<BTreeMap<String, Vec<Message>>>);

impl LastRead {
    fn take(&self, name: &str) -> Option<Vec<Message>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    fn keep(&self, name: &str, messages: &[Message]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), messages.to_vec());
    }
}

/// Reads an exchange from a file, with the messages of the recordings it continues.
pub(super) fn read_exchange(path: &Path, last: &LastRead) -> io::Result<RecordedExchange> {
    let mut size = 0;
    let mut exchange = read_file(path, &mut size)?;
    let mut parts = vec![std::mem::take(&mut exchange.request.messages)];
    let mut continued = exchange.continues.take();
    while let Some(name) = continued {
        if let Some(messages) = last.take(&name) {
            parts.push(messages);
            break;
        }
        let before = path.with_file_name(format!("{name}.json"));
        // A name is no path: what is read is in the folder.
        if !is_recording(Path::new(&format!("{name}.json"))) || parts.len() > MAX_PARTS {
            return Err(io::Error::other(format!("it continues {name:?}, which is no recording of its own")));
        }
        let before = read_file(&before, &mut size);
        let before = before.map_err(|error| io::Error::other(format!("it continues {name}: {error}")))?;
        parts.push(before.request.messages);
        continued = before.continues;
    }
    exchange.request.messages = parts.into_iter().rev().flatten().collect();
    if let Some(name) = path.file_stem().and_then(|name| name.to_str()) {
        last.keep(name, &exchange.request.messages);
    }
    Ok(exchange)
}

/// The maximum number of recordings one continues: they may name each other in a circle.
const MAX_PARTS: usize = 10_000;

fn read_file(path: &Path, size: &mut u64) -> io::Result<RecordedExchange> {
    // Opening a pipe could wait for ever, and reading a folder or a device fail late.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let file = fs::File::open(path)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    *size += text.len() as u64;
    if *size > MAX_BYTES {
        let most = wf_base::units::size(MAX_BYTES);
        return Err(io::Error::other(format!("it has more than {most}")));
    }
    Ok(serde_json::from_str(&text)?)
}
