//! The admitted browsers: each opened a link with a key for one use, and has the access of its link.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::rate::{RateLimit, RateUse};
use wf_app::{PrivateFile, PrivateFileVersion};
use wf_base::{digest::Sha256Digest, time::Moment};

/// The file of the logins in the state folder.
pub(crate) const LOGIN_FILE: &str = "logins.json";

/// The time after which a link is no longer valid.
const LINK_TIME: Duration = Duration::from_mins(15);

/// The time without a request after which a login ends.
const IDLE_TIME: Duration = Duration::from_hours(12);

/// The time after which a login ends, however it is used.
pub(crate) const MAX_TIME: Duration = Duration::from_hours(24 * 7);

/// The most addresses of sites that are known.
const MAX_ORIGINS: usize = 8;

/// The precision of the time of the last request: it is written no more often.
const LAST_PRECISION: Duration = Duration::from_mins(5);

/// The most browsers, and the most links nobody has opened; the oldest give way.
const MAX_LOGINS: usize = 64;

/// The rate at which a browser may change something: more than a person does, less than a flood.
const POST_RATE: RateLimit = RateLimit { burst: 60, interval: Duration::from_millis(500) };

/// The rate of invalid links and of wrong tokens.
const GUESS_RATE: RateLimit = RateLimit { burst: 20, interval: Duration::from_secs(3) };

/// The system has no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read random bytes from the system: {0}")]
pub struct LinkError(#[from] getrandom::Error);

/// The access of a browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginAccess {
    /// It sees the pages, and may sign answers with a key of its own.
    #[default]
    Look,
    /// It may cancel, resume and undo runs, pause, resume and run goals, dismiss suggestions, and enter secrets, too.
    Operate,
    /// It may start plans, retry runs and accept suggestions, too.
    Start,
}

/// The keys of links nobody has opened, and the browsers that opened one. Only digests of keys are kept, and they are
/// looked up by digest: how long taking says nothing about a key. They are in a file, so that a browser stays logged in
/// when the server is started anew.
#[derive(Debug, Default)]
pub(crate) struct Logins {
    /// The time without an operation after which a browser that is let in may only look; `None`: as long as its login.
    expires_after: Option<Duration>,
    file: Option<PrivateFile>,
    table: Mutex<VersionedTable>,
    posts: Mutex<BTreeMap<Sha256Digest, RateUse>>,
    wrong_links: Mutex<RateUse>,
    wrong_tokens: Mutex<RateUse>,
}

/// The logins as the file has them.
#[derive(Debug, Default)]
struct VersionedTable {
    version: Option<PrivateFileVersion>,
    table: LoginTable,
}

/// The links and the browsers, by the digests of their keys.
#[derive(Debug, Default, Deserialize, Serialize)]
struct LoginTable {
    /// The addresses of the sites that servers have opened, the last one first.
    #[serde(default)]
    origins: Vec<String>,
    links: BTreeMap<Sha256Digest, LoginLink>,
    browsers: BTreeMap<Sha256Digest, Login>,
}

/// A link nobody has opened.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct LoginLink {
    since: Moment,
    access: LoginAccess,
}

/// A browser that was let in.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Login {
    access: LoginAccess,
    since: Moment,
    last: Moment,
    /// The time of its last operation.
    operated: Moment,
    /// The time without an operation after which it may only look, in milliseconds, as the server that let it in has it;
    /// `None`: as long as its login.
    #[serde(default)]
    expires_after: Option<i64>,
}

impl Login {
    /// True if it has not operated for too long. It stays so: a new link gives the access back.
    fn is_expired(self, now: Moment) -> bool {
        let time =
            self.expires_after.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
        time.is_some_and(|time| now.since(self.operated) > time)
    }

    fn is_over(self, now: Moment) -> bool {
        now.since(self.last) > IDLE_TIME || now.since(self.since) > MAX_TIME
    }
}

impl Logins {
    /// Returns the logins of a file, whose access to operate expires after a time without an operation.
    pub fn new(expires_after: Option<Duration>, file: Option<PrivateFile>) -> Self {
        Self { expires_after, file, ..Self::default() }
    }

    /// Notes the address of the site, for links that other processes make.
    pub fn add_origin(&self, origin: &str) {
        self.change(|table| {
            table.origins.retain(|known| known != origin);
            table.origins.insert(0, origin.to_owned());
            table.origins.truncate(MAX_ORIGINS);
        });
    }

    /// Returns the addresses of the sites that this process and others have opened, the last one first.
    pub fn origins(&self) -> Vec<String> {
        self.current().table.origins.clone()
    }

    /// Returns the key of a new link giving an access.
    pub fn add_link(&self, access: LoginAccess, now: Moment) -> Result<String, LinkError> {
        let key = random_key()?;
        self.change(|table| {
            table.links.retain(|_, link| now.since(link.since) <= LINK_TIME);
            make_room(&mut table.links, |link| link.since);
            table.links.insert(digest(&key), LoginLink { since: now, access });
        });
        Ok(key)
    }

    /// True if a link is valid. It stays so.
    pub fn is_link(&self, link: &str, now: Moment) -> bool {
        let current = self.current();
        current.table.links.get(&digest(link)).is_some_and(|link| now.since(link.since) <= LINK_TIME)
    }

    /// Uses up the key of a link, and returns the key of the browser that opened it; `None` if the link is not valid.
    pub fn open(&self, link: &str, now: Moment) -> Result<Option<String>, LinkError> {
        if !self.is_link(link, now) {
            return Ok(None);
        }
        let key = random_key()?;
        let is_opened = self.change(|table| {
            let Some(LoginLink { access, .. }) = table.links.remove(&digest(link)) else {
                return false;
            };
            table.browsers.retain(|_, login| !login.is_over(now));
            make_room(&mut table.browsers, |login| login.last);
            let expires_after = self.expires_after.and_then(|time| i64::try_from(time.as_millis()).ok());
            let login = Login { access, since: now, last: now, operated: now, expires_after };
            table.browsers.insert(digest(&key), login);
            true
        });
        Ok(is_opened.then_some(key))
    }

    /// Returns the access of the browser with a key; `None` if it was not let in, or its login has ended.
    pub fn access(&self, key: &str, now: Moment) -> Option<LoginAccess> {
        let key = digest(key);
        let login = *self.current().table.browsers.get(&key).filter(|login| !login.is_over(now))?;
        if now.since(login.last) > LAST_PRECISION {
            self.change(|table| {
                if let Some(login) = table.browsers.get_mut(&key) {
                    login.last = now;
                }
            });
        }
        Some(if login.is_expired(now) { LoginAccess::Look } else { login.access })
    }

    /// True if the login of the browser with a key has not ended. That is no use of it.
    pub fn is_open(&self, key: &str, now: Moment) -> bool {
        self.current().table.browsers.get(&digest(key)).is_some_and(|login| !login.is_over(now))
    }

    /// Counts a change the browser with a key asks for; the error is the time until it may.
    pub fn take_post(&self, key: &str, now: Moment) -> Result<(), Duration> {
        if !self.is_open(key, now) {
            return Ok(());
        }
        let mut posts = lock(&self.posts);
        if posts.len() > MAX_LOGINS {
            posts.clear();
        }
        posts.entry(digest(key)).or_default().take(POST_RATE, now)
    }

    /// Counts a link that is not valid; the error is the time until the next one is looked at. A valid one is never
    /// refused: its key cannot be guessed.
    pub fn count_wrong_link(&self, now: Moment) -> Result<(), Duration> {
        lock(&self.wrong_links).take(GUESS_RATE, now)
    }

    /// Returns the time during which no token is compared, since too many were wrong: a person chose it.
    pub fn wait_for_token(&self, now: Moment) -> Option<Duration> {
        lock(&self.wrong_tokens).wait(GUESS_RATE, now)
    }

    pub fn count_wrong_token(&self, now: Moment) {
        // One that is wrong while others are counted is refused with the next.
        let _ = lock(&self.wrong_tokens).take(GUESS_RATE, now);
    }

    /// Notes an operation of the browser with a key, which renews its access.
    pub fn renew(&self, key: &str, now: Moment) {
        self.change(|table| {
            if let Some(login) = table.browsers.get_mut(&digest(key)).filter(|login| !login.is_expired(now)) {
                login.operated = now;
            }
        });
    }

    /// Ends the login of a browser.
    pub fn close(&self, key: &str) {
        self.change(|table| table.browsers.remove(&digest(key)));
    }

    /// Returns the logins as the file has them now. Without a file, or one that cannot be read, those of this process.
    fn current(&self) -> MutexGuard<'_, VersionedTable> {
        let mut current = lock(&self.table);
        if let Some(file) = &self.file {
            current.follow(file);
        }
        current
    }

    /// Changes the logins, here and in the file. Where that cannot be written, they end with the server.
    fn change<T>(&self, change: impl FnOnce(&mut LoginTable) -> T) -> T {
        let mut current = lock(&self.table);
        let Some(file) = &self.file else {
            return change(&mut current.table);
        };
        let locked = file.lock();
        current.follow(file);
        let result = change(&mut current.table);
        let text = serde_json::to_string(&current.table).unwrap_or_default();
        if locked.and_then(|locked| locked.replace(&text)).is_ok() {
            current.version = file.version();
        }
        result
    }
}

impl VersionedTable {
    /// Reads the file if another process has changed it.
    fn follow(&mut self, file: &PrivateFile) {
        let version = file.version();
        // A state that is made anew has no such file: its server goes on.
        if version == self.version || version.is_none() {
            return;
        }
        // With another file in its place, nobody is logged in.
        let text = file.read().ok().flatten();
        let table = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        *self = Self { version, table };
    }
}

fn digest(key: &str) -> Sha256Digest {
    Sha256Digest::of_bytes(key.as_bytes())
}

/// Returns 256 random bits as hexadecimal digits.
fn random_key() -> Result<String, LinkError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Removes the oldest entry if there are as many as permitted.
fn make_room<T>(entries: &mut BTreeMap<Sha256Digest, T>, age: impl Fn(&T) -> Moment) {
    if entries.len() >= MAX_LOGINS {
        let oldest = entries.iter().min_by_key(|(_, entry)| age(entry)).map(|(key, _)| *key);
        oldest.map(|key| entries.remove(&key));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{GUESS_RATE, IDLE_TIME, LINK_TIME, LoginAccess, Logins, MAX_LOGINS, POST_RATE};
    use std::time::Duration;
    use wf_base::time::Moment;

    #[test]
    fn a_link_opens_one_browser_once() {
        let (logins, now) = (Logins::default(), Moment::from_millis(0));
        let link = logins.add_link(LoginAccess::Look, now).unwrap();
        let key = logins.open(&link, now).unwrap().expect("it is valid");
        assert_eq!(logins.open(&link, now), Ok(None));
        assert_eq!(logins.open(&key, now), Ok(None));
        assert_eq!(logins.access(&key, now), Some(LoginAccess::Look));
        assert_eq!((logins.access(&link, now), logins.access("", now)), (None, None));
        logins.close(&key);
        assert!(logins.access(&key, now).is_none());
    }

    #[test]
    fn a_browser_has_the_access_of_its_link() {
        let (logins, now) = (Logins::default(), Moment::from_millis(0));
        for access in [LoginAccess::Look, LoginAccess::Operate, LoginAccess::Start] {
            let key = logins.open(&logins.add_link(access, now).unwrap(), now).unwrap().unwrap();
            assert_eq!(logins.access(&key, now), Some(access));
        }
        assert!(LoginAccess::Look < LoginAccess::Operate && LoginAccess::Operate < LoginAccess::Start);
        let read = serde_json::from_str::<LoginAccess>("\"operate\"").ok();
        assert_eq!(read, Some(LoginAccess::Operate), "as files of earlier servers have it");
    }

    #[test]
    fn a_browser_that_does_not_operate_may_only_look_after_a_while() {
        let minute = |minute: i64| Moment::from_millis(minute * 60_000);
        let logins = Logins::new(Some(Duration::from_mins(30)), None);
        let link = logins.add_link(LoginAccess::Operate, minute(0)).unwrap();
        let key = logins.open(&link, minute(0)).unwrap().unwrap();
        assert_eq!(logins.access(&key, minute(30)), Some(LoginAccess::Operate));
        logins.renew(&key, minute(30));
        assert_eq!(logins.access(&key, minute(60)), Some(LoginAccess::Operate));
        assert_eq!(logins.access(&key, minute(61)), Some(LoginAccess::Look));
        logins.renew(&key, minute(61));
        assert_eq!(
            logins.access(&key, minute(61)),
            Some(LoginAccess::Look),
            "nothing but a link gives it back"
        );
        let link = logins.add_link(LoginAccess::Operate, minute(61)).unwrap();
        let again = logins.open(&link, minute(61)).unwrap().unwrap();
        assert_eq!(logins.access(&again, minute(61)), Some(LoginAccess::Operate));
    }

    #[test]
    fn links_and_logins_end() {
        let (logins, now) = (Logins::default(), Moment::from_millis(0));
        let late = now.after(LINK_TIME).after(LINK_TIME);
        let link = logins.add_link(LoginAccess::Look, now).unwrap();
        assert_eq!(logins.open(&link, late), Ok(None));
        let key = logins.open(&logins.add_link(LoginAccess::Look, now).unwrap(), now).unwrap().unwrap();
        let mut at = now;
        for _ in 0..13 {
            at = at.after(IDLE_TIME);
            assert!(logins.access(&key, at).is_some(), "{at}");
        }
        assert!(logins.access(&key, at.after(IDLE_TIME)).is_some());
        assert!(logins.access(&key, at.after(IDLE_TIME).after(IDLE_TIME)).is_none(), "a week is over");
    }

    #[test]
    fn the_oldest_browser_gives_way() {
        let logins = Logins::default();
        let key = |at: i64| {
            let now = Moment::from_millis(at);
            logins.open(&logins.add_link(LoginAccess::Look, now).unwrap(), now).unwrap().unwrap()
        };
        let keys: Vec<String> = (0..=i64::try_from(MAX_LOGINS).unwrap()).map(key).collect();
        let now = Moment::from_millis(1_000);
        let open: Vec<bool> = keys.iter().map(|key| logins.access(key, now).is_some()).collect();
        assert_eq!((open.first(), open.get(1)), (Some(&false), Some(&true)));
    }

    #[test]
    fn each_browser_changes_things_at_its_own_rate() {
        let (logins, now) = (Logins::default(), Moment::from_millis(0));
        let key = || logins.open(&logins.add_link(LoginAccess::Look, now).unwrap(), now).unwrap().unwrap();
        let (one, other) = (key(), key());
        for _ in 0..POST_RATE.burst {
            assert_eq!(logins.take_post(&one, now), Ok(()));
        }
        assert_eq!(logins.take_post(&one, now), Err(POST_RATE.interval));
        assert_eq!(logins.take_post(&other, now), Ok(()));
        assert_eq!(logins.take_post(&one, now.after(POST_RATE.interval)), Ok(()));
    }

    #[test]
    fn wrong_links_and_wrong_tokens_are_counted_apart() {
        let (logins, now) = (Logins::default(), Moment::from_millis(0));
        for _ in 0..GUESS_RATE.burst {
            assert_eq!(logins.wait_for_token(now), None);
            logins.count_wrong_token(now);
        }
        assert_eq!(logins.wait_for_token(now), Some(GUESS_RATE.interval));
        assert_eq!(logins.count_wrong_link(now), Ok(()));
    }
}
