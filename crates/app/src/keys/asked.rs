//! The public keys of browsers to be enrolled: each is shown as words, and a person compares them with those on the browser.
//!
//! They are in a file of the state folder, for its owner alone: the server writes it, and the command line reads it. Nothing
//! counts by it. A key becomes one of an approver only where a person adds it.

use std::{io, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Caller, CliExitCode, CommandError, PrivateFile, usage_error, watch};
use wf_base::{
    time::Moment,
    units::{elapsed, moment},
    untrusted::hides,
};
use wf_sign::ApproverKey;
use wf_store::feed::WorkspaceAction;

/// The file in the state folder.
const FILE: &str = "enrolments.json";

/// The time until a browser must ask again.
const TIME: Duration = Duration::from_hours(1);

/// The most keys of all browsers, and of one: its key and its passkey.
const MAX_KEYS: usize = 16;
const MAX_KEYS_OF_LOGIN: usize = 2;

/// A public key of a browser, to be enrolled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedKey {
    pub key: ApproverKey,
    /// The id of the asking login.
    login: String,
    /// Its name then.
    pub name: String,
    /// The word for what it could do then; empty: it was asked by an earlier version.
    #[serde(default)]
    access: String,
    pub at: Moment,
}

impl AskedKey {
    /// Returns its asker and its time in words.
    pub fn origin(&self, now: Moment) -> String {
        let access =
            if self.access.is_empty() { String::new() } else { format!(", which may {}", self.access) };
        let (at, ago) = (moment(self.at), elapsed(now.since(self.at)));
        format!("{} (login {}{access}) asked at {at} UTC, {ago} ago", self.name, self.login)
    }
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct AskedKeys {
    keys: Vec<AskedKey>,
}

/// Notes a key to be enrolled for the asking login, with the word for what that may do.
pub fn ask_enrolment(caller: &dyn Caller, key: &str, access: &str) -> Result<AskedKey, CommandError> {
    let login = caller.login().ok_or_else(|| usage_error("only a browser asks to be enrolled"))?;
    let key = ApproverKey::parse(key.trim()).map_err(|error| usage_error(error.to_string()))?;
    let (login, name) = (login.id.clone(), login.name.clone());
    let asked = AskedKey { key, login, name, access: access.to_owned(), at: caller.host().now() };
    change(caller, |keys| add(keys, &asked))?;
    watch::record_quietly(caller, WorkspaceAction::KeyRequested { key: asked.key.id() });
    Ok(asked)
}

/// Adds a key before the others. A login has the latest of its own alone, so no login takes the places of all others.
fn add(keys: &mut Vec<AskedKey>, asked: &AskedKey) {
    keys.retain(|other| other.key != asked.key);
    keys.insert(0, asked.clone());
    let mut own = 0;
    keys.retain(|other| {
        own += usize::from(other.login == asked.login);
        other.login != asked.login || own <= MAX_KEYS_OF_LOGIN
    });
    keys.truncate(MAX_KEYS);
}

/// Returns the keys to be enrolled, the last one first.
pub fn asked_keys(caller: &dyn Caller) -> Result<Vec<AskedKey>, CommandError> {
    let text = file(caller).read().map_err(|error| unreadable(&error))?;
    Ok(current(text.as_deref(), caller.host().now()))
}

/// Finds the key with these words among those to be enrolled.
pub fn find_asked(caller: &dyn Caller, words: &str) -> Result<AskedKey, CommandError> {
    let mut asked = asked_keys(caller)?.into_iter();
    let words = words.trim().to_ascii_lowercase().replace(' ', "-");
    asked.find(|asked| asked.key.words() == words).ok_or_else(|| {
        let hint = "compare each word with those on the browser; it asks for an hour, on its page \"Keys of this browser\"";
        usage_error("no browser asks for a key with these words").hint(hint)
    })
}

/// True if a text has the form of the words of a key.
pub fn is_words(text: &str) -> bool {
    let words: Vec<&str> = text.trim().split(['-', ' ']).collect();
    words.len() > 1
        && words.iter().all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// Forgets a key: it was enrolled.
pub(super) fn forget_asked(caller: &dyn Caller, key: &ApproverKey) -> Result<(), CommandError> {
    if asked_keys(caller)?.iter().all(|asked| asked.key != *key) {
        return Ok(());
    }
    change(caller, |keys| keys.retain(|asked| asked.key != *key))
}

/// Forgets the keys of a login: it has ended.
pub fn forget_asked_by(caller: &dyn Caller, login: &str) -> Result<(), CommandError> {
    if asked_keys(caller)?.iter().all(|asked| asked.login != login) {
        return Ok(());
    }
    change(caller, |keys| keys.retain(|asked| asked.login != login))
}

fn file(caller: &dyn Caller) -> PrivateFile {
    PrivateFile::new(&caller.host().workspace(), FILE)
}

fn change(caller: &dyn Caller, edit: impl FnOnce(&mut Vec<AskedKey>)) -> Result<(), CommandError> {
    let file = file(caller);
    let replace = || -> io::Result<()> {
        let locked = file.lock()?;
        let mut keys = current(file.read()?.as_deref(), caller.host().now());
        edit(&mut keys);
        locked.replace(&serde_json::to_string(&AskedKeys { keys })?)
    };
    replace().map_err(|error| CommandError::new(CliExitCode::State, format!("cannot write {FILE}: {error}")))
}

fn unreadable(error: &io::Error) -> CommandError {
    CommandError::new(CliExitCode::State, format!("cannot read {FILE}: {error}"))
}

/// Returns the keys of a file whose time is not over. An unreadable text has none: nothing is lost, browsers ask again.
fn current(text: Option<&str>, now: Moment) -> Vec<AskedKey> {
    let read: AskedKeys = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let hides_any =
        |asked: &AskedKey| [&asked.name, &asked.login, &asked.access].into_iter().any(|text| hides(text));
    let is_current = |asked: &AskedKey| asked.at <= now && now.since(asked.at) <= TIME && !hides_any(asked);
    read.keys.into_iter().filter(is_current).collect()
}

#[cfg(test)]
mod tests {
    use super::{AskedKey, AskedKeys, MAX_KEYS, TIME, add, current, is_words};
    use wf_base::time::Moment;
    use wf_sign::ApproverKey;

    const KEY: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

    #[test]
    fn a_browser_asks_for_an_hour() {
        let at = Moment::from_millis(5_000);
        let key = ApproverKey::parse(KEY).unwrap();
        let asked = AskedKey {
            key,
            login: "1a".into(),
            name: "ada · Safari on iPhone".into(),
            access: "look".into(),
            at,
        };
        let text = serde_json::to_string(&AskedKeys { keys: vec![asked.clone()] }).unwrap();
        assert_eq!(current(Some(&text), at.after(TIME)), [asked]);
        assert!(current(Some(&text), at.after(TIME * 2)).is_empty());
        for other in [None, Some(""), Some("{\"keys\": [{}]}"), Some("[]")] {
            assert!(current(other, at).is_empty(), "{other:?}");
        }
    }

    #[test]
    fn whoever_enrols_a_key_reads_who_asked_and_when() {
        let at = Moment::parse("2026-11-23T09:30:00Z").unwrap();
        let text =
            format!(r#"{{"keys": [{{"key": "{KEY}", "login": "1a2b", "name": "ada", "at": "{at}"}}]}}"#);
        let mut asked = current(Some(&text), at).remove(0);
        let later = at.after(std::time::Duration::from_secs(185));
        assert_eq!(asked.origin(later), "ada (login 1a2b) asked at 2026-11-23 09:30:00 UTC, 3m 05s ago");
        asked.access = "operate".into();
        assert!(asked.origin(later).starts_with("ada (login 1a2b, which may operate) asked"));
        let hidden = text.replace("1a2b", "a\u{202e}b");
        assert!(current(Some(&hidden), at).is_empty(), "nobody can read who asked");
    }

    #[test]
    fn no_login_takes_the_places_of_the_others() {
        let asked = |login: &str, number: u8| AskedKey {
            key: wf_sign::Signer::from_bytes(&[number; 32]).public().into(),
            login: login.into(),
            name: login.into(),
            access: String::new(),
            at: Moment::from_millis(0),
        };
        let mut keys = Vec::new();
        for (login, number) in [("ada", 1), ("eve", 2), ("eve", 3), ("eve", 4), ("eve", 5)] {
            add(&mut keys, &asked(login, number));
        }
        assert_eq!(keys, [asked("eve", 5), asked("eve", 4), asked("ada", 1)]);
        add(&mut keys, &asked("bob", 5));
        assert_eq!(keys, [asked("bob", 5), asked("eve", 4), asked("ada", 1)], "a key is there once");
        for number in 10..40 {
            add(&mut keys, &asked(&format!("login {number}"), number));
        }
        assert_eq!((keys.len(), &keys[0]), (MAX_KEYS, &asked("login 39", 39)));
    }

    #[test]
    fn words_are_no_key() {
        let words = ApproverKey::parse(KEY).unwrap().words();
        assert!(is_words(&words) && is_words(&words.replace('-', " ")));
        assert!(!is_words(KEY) && !is_words("passkey:localhost:04ab") && !is_words(""));
    }
}
