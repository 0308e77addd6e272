//! The public keys of browsers to be enrolled: each is shown as words, and a person compares them with those on the browser.
//!
//! They are in a file of the state folder, for its owner alone: the server writes it, and the command line reads it. Nothing
//! counts by it. A key becomes one of an approver only where a person adds it.

use std::{collections::BTreeSet, fs, io, os::unix::fs::MetadataExt as _, path::Path, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{APPROVERS, Caller, CliExitCode, CommandError, PrivateFile, usage_error, watch};
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

/// The words for the access of logins, from the least.
const ACCESSES: [&str; 3] = ["look", "operate", "start"];

/// The longest name of a login beside its key, in characters.
const MAX_SHOWN_NAME: usize = 60;

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
    /// Returns its asker and its time in words. The name, which the browser chose, is the last of them, between quotes that it cannot
    /// close: it says nothing in the place of the others.
    pub fn origin(&self, now: Moment) -> String {
        let access =
            if self.access.is_empty() { String::new() } else { format!(", which may {}", self.access) };
        let (at, ago) = (moment(self.at), elapsed(now.since(self.at)));
        format!(
            "login {}{access}, asked at {at} UTC, {ago} ago; its name: {}",
            self.login,
            quoted(&self.name)
        )
    }

    /// Returns the id of the asking login.
    pub fn login(&self) -> &str {
        &self.login
    }

    /// Returns the rank of the access that its login had.
    fn rank(&self) -> Option<usize> {
        ACCESSES.iter().position(|access| *access == self.access)
    }
}

/// Returns a name between quotes that are nowhere in it, and not longer than a name is.
fn quoted(name: &str) -> String {
    let is_quote = |c: char| matches!(c, '"' | '“' | '”' | '„' | '‟' | '«' | '»' | '″');
    let plain: String = name.chars().map(|c| if is_quote(c) { '\'' } else { c }).collect();
    let cut: String = plain.chars().take(MAX_SHOWN_NAME).collect();
    let rest = if cut.len() < plain.len() { " …" } else { "" };
    format!("“{cut}”{rest}")
}

/// The login that asks for a key of its own, among those that are open.
#[derive(Clone, Copy, Debug)]
pub struct KeyAsker<'a> {
    /// The word for what it may do.
    pub access: &'a str,
    /// The ids of the logins that have not ended: what others asked for has ended with them.
    pub open_logins: &'a BTreeSet<String>,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct AskedKeys {
    keys: Vec<AskedKey>,
}

/// Notes a key to be enrolled for the asking login.
pub fn ask_enrolment(caller: &dyn Caller, key: &str, asker: KeyAsker<'_>) -> Result<AskedKey, CommandError> {
    let login = caller.login().ok_or_else(|| usage_error("only a browser asks to be enrolled"))?;
    let key = ApproverKey::parse(key.trim()).map_err(|error| usage_error(error.to_string()))?;
    let (login, name) = (login.id.clone(), login.name.clone());
    let asked = AskedKey { key, login, name, access: asker.access.to_owned(), at: caller.host().now() };
    change(caller, |keys| {
        keys.retain(|other| asker.open_logins.contains(&other.login));
        add(keys, &asked)
    })??;
    watch::record_quietly(caller, WorkspaceAction::KeyRequested { key: asked.key.id() });
    Ok(asked)
}

/// Adds a key before the others. It stays with the login that asked for it first. A login has the latest of its own alone, so no
/// login takes the places of all others; of too many, the oldest of those with the least access is left out, and never for one
/// with less.
fn add(keys: &mut Vec<AskedKey>, asked: &AskedKey) -> Result<(), CommandError> {
    if keys.iter().any(|other| other.key == asked.key && other.login != asked.login) {
        let error = usage_error("another login asks for this key already");
        return Err(error.hint("it can ask again once that has ended, or in an hour"));
    }
    keys.retain(|other| other.key != asked.key);
    keys.insert(0, asked.clone());
    let mut own = 0;
    keys.retain(|other| {
        own += usize::from(other.login == asked.login);
        other.login != asked.login || own <= MAX_KEYS_OF_LOGIN
    });
    if keys.len() > MAX_KEYS {
        let least = (0..keys.len()).rev().min_by_key(|at| keys.get(*at).map(AskedKey::rank));
        let left = least.map(|at| keys.remove(at));
        if left.is_some_and(|left| left.key == asked.key) {
            let error = usage_error(format!("{MAX_KEYS} keys ask already, of logins that may do more"));
            return Err(error.hint("ask again once one of them is enrolled, or in an hour"));
        }
    }
    Ok(())
}

/// Returns the keys to be enrolled of logins that have not ended, the last one first.
pub fn asked_keys(
    caller: &dyn Caller,
    open_logins: &BTreeSet<String>,
) -> Result<Vec<AskedKey>, CommandError> {
    let mut asked = noted_keys(caller)?;
    asked.retain(|asked| open_logins.contains(&asked.login));
    Ok(asked)
}

/// Returns the keys to be enrolled, whatever has become of their logins.
pub(super) fn noted_keys(caller: &dyn Caller) -> Result<Vec<AskedKey>, CommandError> {
    let text = file(caller).read().map_err(|error| unreadable(&error))?;
    Ok(current(text.as_deref(), caller.host().now()))
}

/// Finds the key with these words among those to be enrolled.
pub fn find_asked(
    caller: &dyn Caller,
    words: &str,
    open_logins: &BTreeSet<String>,
) -> Result<AskedKey, CommandError> {
    let mut asked = asked_keys(caller, open_logins)?.into_iter();
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
    if noted_keys(caller)?.iter().all(|asked| asked.key != *key) {
        return Ok(());
    }
    change(caller, |keys| keys.retain(|asked| asked.key != *key))
}

/// Forgets the keys of a login: it has ended.
pub fn forget_asked_by(caller: &dyn Caller, login: &str) -> Result<(), CommandError> {
    if noted_keys(caller)?.iter().all(|asked| asked.login != login) {
        return Ok(());
    }
    change(caller, |keys| keys.retain(|asked| asked.login != login))
}

fn file(caller: &dyn Caller) -> PrivateFile {
    PrivateFile::new(&caller.host().workspace(), FILE)
}

fn change<T>(caller: &dyn Caller, edit: impl FnOnce(&mut Vec<AskedKey>) -> T) -> Result<T, CommandError> {
    let file = file(caller);
    let replace = || -> io::Result<T> {
        let locked = file.lock()?;
        let mut keys = current(file.read()?.as_deref(), caller.host().now());
        let edited = edit(&mut keys);
        locked.replace(&serde_json::to_string(&AskedKeys { keys })?)?;
        Ok(edited)
    };
    replace().map_err(|error| CommandError::new(CliExitCode::State, format!("cannot write {FILE}: {error}")))
}

/// Returns another text after each change of the approvers, and of the keys to be enrolled.
pub fn keys_version(caller: &dyn Caller) -> String {
    let workspace = caller.host().workspace();
    let of_file = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some(format!("{}.{}.{}", metadata.ino(), metadata.mtime_nsec(), metadata.mtime()))
    };
    let files = [workspace.root.join(APPROVERS), workspace.state.join(FILE)];
    files.iter().map(|file| of_file(file).unwrap_or_default()).collect::<Vec<_>>().join("~")
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
        let origin = "login 1a2b, asked at 2026-11-23 09:30:00 UTC, 3m 05s ago; its name: “ada”";
        assert_eq!(asked.origin(later), origin);
        asked.access = "operate".into();
        assert!(asked.origin(later).starts_with("login 1a2b, which may operate, asked at"));
        // A name says nothing in the place of what follows it.
        asked.name = format!("ada” (login 1a2b, which may start) \"asked{}", " now".repeat(40));
        let origin = asked.origin(later);
        let name = origin.rsplit_once("its name: ").unwrap().1;
        assert!(name.starts_with("“ada' (login") && name.ends_with("” …"), "{name}");
        assert_eq!((name.matches('”').count(), name.contains('"')), (1, false), "{name}");
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
        for (login, number) in [("ada", 1), ("eve", 2), ("eve", 3), ("eve", 4), ("eve", 5), ("eve", 4)] {
            add(&mut keys, &asked(login, number)).unwrap();
        }
        assert_eq!(keys, [asked("eve", 4), asked("eve", 5), asked("ada", 1)]);
        let taken = add(&mut keys, &asked("bob", 5)).unwrap_err();
        assert!(taken.message.contains("another login asks"), "{}", taken.message);
        assert_eq!(
            keys,
            [asked("eve", 4), asked("eve", 5), asked("ada", 1)],
            "it stays with who asked first"
        );
        for number in 10..40 {
            add(&mut keys, &asked(&format!("login {number}"), number)).unwrap();
        }
        assert_eq!((keys.len(), &keys[0]), (MAX_KEYS, &asked("login 39", 39)));
    }

    #[test]
    fn who_may_do_more_is_not_displaced_by_those_who_may_do_less() {
        let asked = |access: &str, number: u8| AskedKey {
            key: wf_sign::Signer::from_bytes(&[number; 32]).public().into(),
            login: format!("login {number}"),
            name: String::new(),
            access: access.into(),
            at: Moment::from_millis(i64::from(number)),
        };
        let mut keys = Vec::new();
        add(&mut keys, &asked("operate", 1)).unwrap();
        for number in 10..60 {
            add(&mut keys, &asked("look", number)).unwrap();
        }
        assert_eq!((keys.len(), keys.last()), (MAX_KEYS, Some(&asked("operate", 1))));
        for number in 60..76 {
            let _ = add(&mut keys, &asked("start", number));
        }
        assert!(keys.iter().all(|key| key.access == "start"), "{keys:?}");
        let before = keys.clone();
        assert!(add(&mut keys, &asked("look", 90)).is_err() && keys == before);
    }

    #[test]
    fn words_are_no_key() {
        let words = ApproverKey::parse(KEY).unwrap().words();
        assert!(is_words(&words) && is_words(&words.replace('-', " ")));
        assert!(!is_words(KEY) && !is_words("passkey:localhost:04ab") && !is_words(""));
    }
}
