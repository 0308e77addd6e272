//! The table of logins: what the file in the state folder says of links and browsers.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use wf_app::{ActLogin, PrivateFile};
use wf_base::{digest::Sha256Digest, time::Moment, untrusted::untrusted};

/// The time without a request after which a login ends.
pub(crate) const IDLE_TIME: Duration = Duration::from_hours(12);

/// The time after which a login ends, however it is used.
pub(crate) const MAX_TIME: Duration = Duration::from_hours(24 * 7);

/// The time by which a login may seem to begin later than now: clocks are set back by a little, files by hand.
const CLOCK_DRIFT: Duration = Duration::from_mins(5);

/// The most browsers, and the most links nobody has opened; the oldest with the least access give way.
pub(crate) const MAX_LOGINS: usize = 64;

/// The longest name of a login, in characters.
pub(crate) const MAX_NAME: usize = 60;

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

impl LoginAccess {
    /// Returns its word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Operate => "operate",
            Self::Start => "start",
        }
    }
}

/// The links and the browsers, by the digests of their keys.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct LoginTable {
    /// The sites that servers have opened, the last one first.
    #[serde(default)]
    pub sites: Vec<ServedSite>,
    pub links: BTreeMap<Sha256Digest, LoginLink>,
    pub browsers: BTreeMap<Sha256Digest, Login>,
}

/// A site that a server has opened.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ServedSite {
    /// The beginning of every address of a page, as browsers reach it.
    pub origin: String,
    /// The address of this machine at which its server listens.
    pub listen: SocketAddr,
    /// The beginning of the addresses of this workspace there; empty if it is the only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// The place of its logins, if it is one of several workspaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logins: Option<SharedLogins>,
}

/// The place of the logins to several workspaces.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct SharedLogins {
    /// The state folder with them: of one of the workspaces.
    pub state: PathBuf,
    /// The digest of all of the workspaces: a login to some of them is none to others.
    pub workspaces: Sha256Digest,
}

impl SharedLogins {
    /// Returns their file.
    pub fn file(&self) -> PrivateFile {
        PrivateFile::in_state(&self.state, &format!("logins-{}.json", self.workspaces.short()))
    }
}

impl ServedSite {
    /// Returns the beginning of the addresses of the workspace.
    pub fn address(&self) -> String {
        format!("{}{}", self.origin, self.base)
    }
}

/// A link nobody has opened.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct LoginLink {
    pub since: Moment,
    pub access: LoginAccess,
    /// The name of whoever it is for.
    #[serde(default)]
    pub name: String,
}

/// A browser or a program that was let in.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Login {
    /// The name by which people know it.
    #[serde(default)]
    pub name: String,
    pub access: LoginAccess,
    pub since: Moment,
    pub last: Moment,
    /// The time of its last operation.
    pub operated: Moment,
    /// The time without an operation after which it may only look, in milliseconds, as the server that let it in has it;
    /// `None`: as long as its login.
    #[serde(default)]
    pub expires_after: Option<i64>,
}

impl Login {
    /// Returns its present access. One that has not operated for too long may only look: a new link gives the access back.
    pub fn present_access(&self, now: Moment) -> LoginAccess {
        let time =
            self.expires_after.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
        let is_expired = time.is_some_and(|time| now.since(self.operated) > time);
        if is_expired { LoginAccess::Look } else { self.access }
    }

    /// True if it has ended. One that begins in the future has: nobody was let in then.
    pub fn is_over(&self, now: Moment) -> bool {
        let is_later = |at: Moment| at.since(now) > CLOCK_DRIFT;
        let is_unused = now.since(self.last) > IDLE_TIME || now.since(self.since) > MAX_TIME;
        is_unused || is_later(self.since) || is_later(self.last)
    }

    /// Returns the moment at which it ends if nobody uses it.
    pub fn end(&self) -> Moment {
        self.last.after(IDLE_TIME).min(self.since.after(MAX_TIME))
    }

    /// Returns it as the records of its acts name it.
    pub fn act_login(&self, key: &Sha256Digest) -> ActLogin {
        ActLogin { id: login_id(key), name: self.name.clone() }
    }
}

/// Returns the id of the login with a digest of a key. It is no secret, and opens nothing.
pub(crate) fn login_id(key: &Sha256Digest) -> String {
    key.short()
}

/// Returns a name on one line, with visible characters alone, and not too long.
pub(crate) fn login_name(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = words.chars().take(MAX_NAME).collect();
    untrusted(&short).to_string()
}

/// Returns the words for the program that sent a `User-Agent`, as `Firefox on Linux`.
pub(crate) fn device_name(user_agent: &str) -> String {
    // Each browser also names those it once had to look like: the first of these that occurs is meant.
    let browsers = [("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome")];
    let systems = [
        ("Android", "Android"),
        ("iPhone", "an iPhone"),
        ("iPad", "an iPad"),
        ("Mac OS X", "macOS"),
        ("Windows", "Windows"),
        ("Linux", "Linux"),
    ];
    let find = |names: &[(&str, &'static str)]| {
        names.iter().find(|(sign, _)| user_agent.contains(sign)).map(|(_, name)| *name)
    };
    let safari = || user_agent.contains("Safari/").then_some("Safari");
    match (find(&browsers).or_else(safari), find(&systems)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) => name.to_owned(),
        (None, Some(system)) => format!("a browser on {system}"),
        (None, None) => "a browser".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_its_browser_and_its_system() {
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36";
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1 Version/18.1 Safari/604.1";
        for (sent, name) in [
            (chrome, "Chrome on Linux"),
            (phone, "Safari on an iPhone"),
            (&format!("{chrome} Edg/131.0"), "Edge on Linux"),
            ("Mozilla/5.0 (Windows NT 10.0; rv:133.0) Gecko/20100101 Firefox/133.0", "Firefox on Windows"),
            ("curl/8.5.0", "a browser"),
            ("", "a browser"),
        ] {
            assert_eq!(device_name(sent), name, "{sent}");
        }
    }

    #[test]
    fn a_name_is_one_short_line() {
        assert_eq!(login_name("  ada\n of\tthe team "), "ada of the team");
        assert!(!login_name("a\u{202e}b").contains('\u{202e}') && !login_name("a\nb").contains('\n'));
        assert_eq!(login_name(&"x".repeat(1_000)).len(), MAX_NAME);
    }

    #[test]
    fn a_login_that_begins_in_the_future_has_ended() {
        let now = Moment::from_millis(1_000_000_000);
        let login = |since: Moment, last: Moment| Login {
            name: String::new(),
            access: LoginAccess::Start,
            since,
            last,
            operated: now,
            expires_after: None,
        };
        assert!(!login(now, now).is_over(now) && !login(now.after(CLOCK_DRIFT), now).is_over(now));
        let later = now.after(CLOCK_DRIFT).after(CLOCK_DRIFT);
        assert!(login(later, now).is_over(now) && login(now, later).is_over(now));
    }
}
