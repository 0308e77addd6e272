//! The admitted browsers: each opened a link with a key for one use, and has the access of its link.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::rate::{RateLimit, RateUse};
use wf_base::{digest::Sha256Digest, time::Moment};

/// The time after which a link is no longer valid.
const LINK_TIME: Duration = Duration::from_mins(15);

/// The time without a request after which a login ends.
const IDLE_TIME: Duration = Duration::from_hours(12);

/// The time after which a login ends, however it is used.
pub(crate) const MAX_TIME: Duration = Duration::from_hours(24 * 7);

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
    /// It may pause, resume and start goals, undo runs, decide suggestions, and enter secrets, too.
    Operate,
}

/// The keys of links nobody has opened, and the browsers that opened one. Only digests of keys are kept, and they are
/// looked up by digest: how long taking says nothing about a key.
#[derive(Debug, Default)]
pub(crate) struct Logins {
    /// The time without an operation after which a browser may only look; `None`: as long as its login.
    expires_after: Option<Duration>,
    links: Mutex<BTreeMap<Sha256Digest, LoginLink>>,
    browsers: Mutex<BTreeMap<Sha256Digest, Login>>,
    wrong_links: Mutex<RateUse>,
    wrong_tokens: Mutex<RateUse>,
}

/// A link nobody has opened.
#[derive(Clone, Copy, Debug)]
struct LoginLink {
    since: Moment,
    access: LoginAccess,
}

/// A browser that was let in.
#[derive(Clone, Copy, Debug)]
struct Login {
    access: LoginAccess,
    since: Moment,
    last: Moment,
    posts: RateUse,
    /// The time of its last operation.
    operated: Moment,
}

impl Login {
    fn is_over(self, now: Moment) -> bool {
        now.since(self.last) > IDLE_TIME || now.since(self.since) > MAX_TIME
    }
}

impl Logins {
    /// Returns no logins, whose access to operate expires after a time without an operation.
    pub fn new(expires_after: Option<Duration>) -> Self {
        Self { expires_after, ..Self::default() }
    }

    /// Returns the key of a new link giving an access.
    pub fn add_link(&self, access: LoginAccess, now: Moment) -> Result<String, LinkError> {
        let key = random_key()?;
        let mut links = lock(&self.links);
        links.retain(|_, link| now.since(link.since) <= LINK_TIME);
        make_room(&mut links, |link| link.since);
        links.insert(digest(&key), LoginLink { since: now, access });
        Ok(key)
    }

    /// True if a link is valid. It stays so.
    pub fn is_link(&self, link: &str, now: Moment) -> bool {
        lock(&self.links).get(&digest(link)).is_some_and(|link| now.since(link.since) <= LINK_TIME)
    }

    /// Uses up the key of a link, and returns the key of the browser that opened it; `None` if the link is not valid.
    pub fn open(&self, link: &str, now: Moment) -> Result<Option<String>, LinkError> {
        let link = lock(&self.links).remove(&digest(link));
        let Some(link) = link.filter(|link| now.since(link.since) <= LINK_TIME) else {
            return Ok(None);
        };
        let key = random_key()?;
        let mut browsers = lock(&self.browsers);
        browsers.retain(|_, login| !login.is_over(now));
        make_room(&mut browsers, |login| login.last);
        let posts = RateUse::default();
        browsers
            .insert(digest(&key), Login { access: link.access, since: now, last: now, posts, operated: now });
        Ok(Some(key))
    }

    /// Returns the access of the browser with a key; `None` if it was not let in, or its login has ended.
    pub fn access(&self, key: &str, now: Moment) -> Option<LoginAccess> {
        let mut browsers = lock(&self.browsers);
        let login = browsers.get_mut(&digest(key)).filter(|login| !login.is_over(now))?;
        login.last = now;
        // It stays so: a new link gives the access back.
        if self.expires_after.is_some_and(|time| now.since(login.operated) > time) {
            login.access = LoginAccess::Look;
        }
        Some(login.access)
    }

    /// Counts a change the browser with a key asks for; the error is the time until it may.
    pub fn take_post(&self, key: &str, now: Moment) -> Result<(), Duration> {
        let mut browsers = lock(&self.browsers);
        browsers.get_mut(&digest(key)).map_or(Ok(()), |login| login.posts.take(POST_RATE, now))
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
        if let Some(login) = lock(&self.browsers).get_mut(&digest(key)) {
            login.operated = now;
        }
    }

    /// Ends the login of a browser.
    pub fn close(&self, key: &str) {
        lock(&self.browsers).remove(&digest(key));
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
        for access in [LoginAccess::Look, LoginAccess::Operate] {
            let key = logins.open(&logins.add_link(access, now).unwrap(), now).unwrap().unwrap();
            assert_eq!(logins.access(&key, now), Some(access));
        }
        assert!(LoginAccess::Look < LoginAccess::Operate);
    }

    #[test]
    fn a_browser_that_does_not_operate_may_only_look_after_a_while() {
        let minute = |minute: i64| Moment::from_millis(minute * 60_000);
        let logins = Logins::new(Some(Duration::from_mins(30)));
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
