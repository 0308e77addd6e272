//! The admitted browsers: each opened a link with a key for one use, and has the access of its link.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;

use crate::{
    login_table::{Login, LoginAccess, LoginLink, LoginTable, MAX_LOGINS, ServedSite, login_id, login_name},
    rate::{RateLimit, RateUse},
};
use wf_app::{ActLogin, PrivateFile, PrivateFileVersion};
use wf_base::{digest::Sha256Digest, time::Moment};

/// The file of the logins in the state folder.
pub(crate) const LOGIN_FILE: &str = "logins.json";

/// The time after which a link is no longer valid.
const LINK_TIME: Duration = Duration::from_mins(15);

/// The most sites that are known.
const MAX_SITES: usize = 8;

/// The precision of the time of the last request: it is written no more often.
const LAST_PRECISION: Duration = Duration::from_mins(5);

/// The rate at which a browser may change something: more than a person does, less than a flood.
const POST_RATE: RateLimit = RateLimit { burst: 60, interval: Duration::from_millis(500) };

/// The rate of invalid links and of wrong tokens.
const GUESS_RATE: RateLimit = RateLimit { burst: 20, interval: Duration::from_secs(3) };

/// The system has no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read random bytes from the system: {0}")]
pub struct LinkError(#[from] getrandom::Error);

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

/// A login that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenLogin {
    pub act_login: ActLogin,
    pub access: LoginAccess,
}

/// A login, as people see it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LoginRow {
    pub id: String,
    pub name: String,
    pub access: LoginAccess,
    pub since: Moment,
    /// The time of its last request, to some minutes.
    pub last: Moment,
    /// The moment at which it ends if nobody uses it.
    pub end: Moment,
}

impl Logins {
    /// Returns the logins of a file, whose access to operate expires after a time without an operation.
    pub fn new(expires_after: Option<Duration>, file: Option<PrivateFile>) -> Self {
        Self { expires_after, file, ..Self::default() }
    }

    /// Notes a site that was opened, for links that other processes make. What listened at its address has ended.
    pub fn add_site(&self, site: ServedSite) {
        self.change(|table| {
            table.sites.retain(|known| known.origin != site.origin && known.listen != site.listen);
            table.sites.insert(0, site);
            table.sites.truncate(MAX_SITES);
        });
    }

    /// Returns the sites that this process and others have opened, the last one first.
    pub fn sites(&self) -> Vec<ServedSite> {
        self.current().table.sites.clone()
    }

    /// Returns the key of a new link giving an access to somebody with a name.
    pub fn add_link(&self, access: LoginAccess, name: &str, now: Moment) -> Result<String, LinkError> {
        let key = random_key()?;
        self.change(|table| {
            table.links.retain(|_, link| now.since(link.since) <= LINK_TIME);
            make_room(&mut table.links, |link| (link.access, link.since));
            table.links.insert(digest(&key), LoginLink { since: now, access, name: login_name(name) });
        });
        Ok(key)
    }

    /// True if a link is valid. It stays so.
    pub fn is_link(&self, link: &str, now: Moment) -> bool {
        let current = self.current();
        current.table.links.get(&digest(link)).is_some_and(|link| now.since(link.since) <= LINK_TIME)
    }

    /// Uses up the key of a link, and returns the key of the browser that opened it, on a device; `None` if the link is
    /// not valid.
    pub fn open(&self, link: &str, device: &str, now: Moment) -> Result<Option<String>, LinkError> {
        if !self.is_link(link, now) {
            return Ok(None);
        }
        let key = random_key()?;
        let is_opened = self.change(|table| {
            let Some(LoginLink { access, name, .. }) = table.links.remove(&digest(link)) else {
                return false;
            };
            let name = if name.is_empty() { device.to_owned() } else { format!("{name} · {device}") };
            self.insert(table, &key, access, &name, now);
            true
        });
        Ok(is_opened.then_some(key))
    }

    /// Returns the key of a new login without a link, for a program.
    pub fn add_login(&self, access: LoginAccess, name: &str, now: Moment) -> Result<String, LinkError> {
        let key = random_key()?;
        self.change(|table| self.insert(table, &key, access, name, now));
        Ok(key)
    }

    fn insert(&self, table: &mut LoginTable, key: &str, access: LoginAccess, name: &str, now: Moment) {
        table.browsers.retain(|_, login| !login.is_over(now));
        make_room(&mut table.browsers, |login| (login.access, login.last));
        let expires_after = self.expires_after.and_then(|time| i64::try_from(time.as_millis()).ok());
        let name = login_name(name);
        let login = Login { name, access, since: now, last: now, operated: now, expires_after };
        table.browsers.insert(digest(key), login);
    }

    /// Returns the login of the browser with a key; `None` if it was not let in, or its login has ended.
    pub fn find(&self, key: &str, now: Moment) -> Option<OpenLogin> {
        let key = digest(key);
        let login = self.current().table.browsers.get(&key).filter(|login| !login.is_over(now))?.clone();
        if now.since(login.last) > LAST_PRECISION {
            self.change(|table| {
                if let Some(login) = table.browsers.get_mut(&key) {
                    login.last = now;
                }
            });
        }
        Some(OpenLogin { act_login: login.act_login(&key), access: login.present_access(now) })
    }

    /// Returns the logins that have not ended, the last one first.
    pub fn list(&self, now: Moment) -> Vec<LoginRow> {
        let current = self.current();
        let open = current.table.browsers.iter().filter(|(_, login)| !login.is_over(now));
        let mut rows: Vec<LoginRow> = open
            .map(|(key, login)| LoginRow {
                id: login_id(key),
                name: login.name.clone(),
                access: login.present_access(now),
                since: login.since,
                last: login.last,
                end: login.end(),
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.last));
        rows
    }

    /// Returns the ids of the logins that have not ended.
    pub fn open_ids(&self, now: Moment) -> BTreeSet<String> {
        let current = self.current();
        let open = current.table.browsers.iter().filter(|(_, login)| !login.is_over(now));
        open.map(|(key, _)| login_id(key)).collect()
    }

    /// Gives the login with an id another name. Returns false if there is none.
    pub fn rename(&self, id: &str, name: &str) -> bool {
        self.change(|table| {
            let login = table.browsers.iter_mut().find(|(key, _)| login_id(key) == id);
            login.map(|(_, login)| login.name = login_name(name)).is_some()
        })
    }

    /// Ends the login with an id. Returns false if there is none.
    pub fn end(&self, id: &str) -> bool {
        self.change(|table| {
            let before = table.browsers.len();
            table.browsers.retain(|key, _| login_id(key) != id);
            table.browsers.len() < before
        })
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
            if let Some(login) =
                table.browsers.get_mut(&digest(key)).filter(|login| login.access == login.present_access(now))
            {
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

/// Removes the entry of the lowest rank if there are as many as permitted.
fn make_room<T>(entries: &mut BTreeMap<Sha256Digest, T>, rank: impl Fn(&T) -> (LoginAccess, Moment)) {
    if entries.len() >= MAX_LOGINS {
        let oldest = entries.iter().min_by_key(|(_, entry)| rank(entry)).map(|(key, _)| *key);
        oldest.map(|key| entries.remove(&key));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{
        super::login_table::IDLE_TIME, GUESS_RATE, LINK_TIME, LoginAccess, Logins, MAX_LOGINS, POST_RATE,
    };
    use std::time::Duration;
    use wf_base::time::Moment;

    fn access_of(logins: &Logins, key: &str, now: Moment) -> Option<LoginAccess> {
        logins.find(key, now).map(|login| login.access)
    }

    #[test]
    fn a_link_opens_one_browser_once() {
        let (logins, now) = (Logins::default(), Moment::from_millis(0));
        let link = logins.add_link(LoginAccess::Look, "ada", now).unwrap();
        let key = logins.open(&link, "a phone", now).unwrap().expect("it is valid");
        assert_eq!(logins.open(&link, "a phone", now), Ok(None));
        assert_eq!(logins.open(&key, "a phone", now), Ok(None));
        assert_eq!(access_of(&logins, &key, now), Some(LoginAccess::Look));
        assert_eq!((access_of(&logins, &link, now), access_of(&logins, "", now)), (None, None));
        logins.close(&key);
        assert!(access_of(&logins, &key, now).is_none());
    }

    #[test]
    fn a_browser_has_the_access_of_its_link() {
        let (logins, now) = (Logins::default(), Moment::from_millis(0));
        for access in [LoginAccess::Look, LoginAccess::Operate, LoginAccess::Start] {
            let key =
                logins.open(&logins.add_link(access, "ada", now).unwrap(), "a phone", now).unwrap().unwrap();
            assert_eq!(access_of(&logins, &key, now), Some(access));
        }
        assert!(LoginAccess::Look < LoginAccess::Operate && LoginAccess::Operate < LoginAccess::Start);
        let read = serde_json::from_str::<LoginAccess>("\"operate\"").ok();
        assert_eq!(read, Some(LoginAccess::Operate), "as files of earlier servers have it");
    }

    #[test]
    fn a_browser_that_does_not_operate_may_only_look_after_a_while() {
        let minute = |minute: i64| Moment::from_millis(minute * 60_000);
        let logins = Logins::new(Some(Duration::from_mins(30)), None);
        let link = logins.add_link(LoginAccess::Operate, "ada", minute(0)).unwrap();
        let key = logins.open(&link, "a phone", minute(0)).unwrap().unwrap();
        assert_eq!(access_of(&logins, &key, minute(30)), Some(LoginAccess::Operate));
        logins.renew(&key, minute(30));
        assert_eq!(access_of(&logins, &key, minute(60)), Some(LoginAccess::Operate));
        assert_eq!(access_of(&logins, &key, minute(61)), Some(LoginAccess::Look));
        logins.renew(&key, minute(61));
        assert_eq!(
            access_of(&logins, &key, minute(61)),
            Some(LoginAccess::Look),
            "nothing but a link gives it back"
        );
        let link = logins.add_link(LoginAccess::Operate, "ada", minute(61)).unwrap();
        let again = logins.open(&link, "a phone", minute(61)).unwrap().unwrap();
        assert_eq!(access_of(&logins, &again, minute(61)), Some(LoginAccess::Operate));
    }

    #[test]
    fn links_and_logins_end() {
        let (logins, now) = (Logins::default(), Moment::from_millis(0));
        let late = now.after(LINK_TIME).after(LINK_TIME);
        let link = logins.add_link(LoginAccess::Look, "ada", now).unwrap();
        assert_eq!(logins.open(&link, "a phone", late), Ok(None));
        let key = logins
            .open(&logins.add_link(LoginAccess::Look, "ada", now).unwrap(), "a phone", now)
            .unwrap()
            .unwrap();
        let mut at = now;
        for _ in 0..13 {
            at = at.after(IDLE_TIME);
            assert!(access_of(&logins, &key, at).is_some(), "{at}");
        }
        assert!(access_of(&logins, &key, at.after(IDLE_TIME)).is_some());
        assert!(access_of(&logins, &key, at.after(IDLE_TIME).after(IDLE_TIME)).is_none(), "a week is over");
    }

    #[test]
    fn the_oldest_browser_gives_way() {
        let logins = Logins::default();
        let key = |at: i64| {
            let now = Moment::from_millis(at);
            logins
                .open(&logins.add_link(LoginAccess::Look, "ada", now).unwrap(), "a phone", now)
                .unwrap()
                .unwrap()
        };
        let keys: Vec<String> = (0..=i64::try_from(MAX_LOGINS).unwrap()).map(key).collect();
        let now = Moment::from_millis(1_000);
        let open: Vec<bool> = keys.iter().map(|key| access_of(&logins, key, now).is_some()).collect();
        assert_eq!((open.first(), open.get(1)), (Some(&false), Some(&true)));
    }

    #[test]
    fn browsers_that_only_look_give_way_to_others_first() {
        let logins = Logins::default();
        let open = |access, at: i64| {
            let now = Moment::from_millis(at);
            logins.open(&logins.add_link(access, "ada", now).unwrap(), "a phone", now).unwrap().unwrap()
        };
        let operator = open(LoginAccess::Operate, 0);
        let lookers: Vec<String> = (1..200).map(|at| open(LoginAccess::Look, at)).collect();
        let now = Moment::from_millis(1_000);
        assert_eq!(access_of(&logins, &operator, now), Some(LoginAccess::Operate));
        let count = lookers.iter().filter(|key| access_of(&logins, key, now).is_some()).count();
        assert_eq!(count, MAX_LOGINS - 1);
    }

    #[test]
    fn a_login_has_a_name_and_is_ended_by_its_id() {
        let (logins, now) = (Logins::default(), Moment::from_millis(0));
        let link = logins.add_link(LoginAccess::Operate, "ada", now).unwrap();
        let key = logins.open(&link, "Firefox on Linux", now).unwrap().unwrap();
        let program = logins.add_login(LoginAccess::Look, "a dashboard", now.after(LINK_TIME)).unwrap();
        let names = || logins.list(now.after(LINK_TIME)).into_iter().map(|row| row.name).collect::<Vec<_>>();
        assert_eq!(names(), ["a dashboard", "ada · Firefox on Linux"]);
        let id = logins.find(&key, now).unwrap().act_login.id;
        assert!(logins.rename(&id, " ada at\nhome ") && !logins.rename("none", "x"));
        assert_eq!(logins.find(&key, now).unwrap().act_login.name, "ada at home");
        assert!(logins.end(&id) && !logins.end(&id));
        assert_eq!(names(), ["a dashboard"]);
        let later = now.after(LINK_TIME);
        assert!(access_of(&logins, &program, later).is_some() && access_of(&logins, &key, later).is_none());
    }

    #[test]
    fn each_browser_changes_things_at_its_own_rate() {
        let (logins, now) = (Logins::default(), Moment::from_millis(0));
        let key = || {
            logins
                .open(&logins.add_link(LoginAccess::Look, "ada", now).unwrap(), "a phone", now)
                .unwrap()
                .unwrap()
        };
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
