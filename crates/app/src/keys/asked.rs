//! The public keys of browsers to be enrolled: each is shown as words, and a person compares them with those on the browser.
//!
//! They are in a file of the state folder, for its owner alone: the server writes it, and the command line reads it. Nothing
//! counts by it. A key becomes one of an approver only where a person adds it.

use std::{io, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Caller, CliExitCode, CommandError, PrivateFile, usage_error, watch};
use wf_base::{time::Moment, untrusted::hides};
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
    pub at: Moment,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct AskedKeys {
    keys: Vec<AskedKey>,
}

/// Notes a key to be enrolled for the asking login.
pub fn ask_enrolment(caller: &dyn Caller, key: &str) -> Result<AskedKey, CommandError> {
    let login = caller.login().ok_or_else(|| usage_error("only a browser asks to be enrolled"))?;
    let key = ApproverKey::parse(key.trim()).map_err(|error| usage_error(error.to_string()))?;
    let asked = AskedKey { key, login: login.id.clone(), name: login.name.clone(), at: caller.host().now() };
    change(caller, |keys| {
        keys.retain(|other| other.key != asked.key);
        keys.insert(0, asked.clone());
        let mut own = 0;
        keys.retain(|other| {
            own += usize::from(other.login == asked.login);
            other.login != asked.login || own <= MAX_KEYS_OF_LOGIN
        });
    })?;
    watch::record_quietly(caller, WorkspaceAction::KeyRequested { key: asked.key.id() });
    Ok(asked)
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
        keys.truncate(MAX_KEYS);
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
    let is_current = |asked: &AskedKey| asked.at <= now && now.since(asked.at) <= TIME && !hides(&asked.name);
    read.keys.into_iter().filter(is_current).collect()
}

#[cfg(test)]
mod tests {
    use super::{AskedKey, AskedKeys, TIME, current, is_words};
    use wf_base::time::Moment;
    use wf_sign::ApproverKey;

    const KEY: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

    #[test]
    fn a_browser_asks_for_an_hour() {
        let at = Moment::from_millis(5_000);
        let key = ApproverKey::parse(KEY).unwrap();
        let asked = AskedKey { key, login: "1a".into(), name: "ada · Safari on iPhone".into(), at };
        let text = serde_json::to_string(&AskedKeys { keys: vec![asked.clone()] }).unwrap();
        assert_eq!(current(Some(&text), at.after(TIME)), [asked]);
        assert!(current(Some(&text), at.after(TIME * 2)).is_empty());
        for other in [None, Some(""), Some("{\"keys\": [{}]}"), Some("[]")] {
            assert!(current(other, at).is_empty(), "{other:?}");
        }
    }

    #[test]
    fn words_are_no_key() {
        let words = ApproverKey::parse(KEY).unwrap().words();
        assert!(is_words(&words) && is_words(&words.replace('-', " ")));
        assert!(!is_words(KEY) && !is_words("passkey:localhost:04ab") && !is_words(""));
    }
}
