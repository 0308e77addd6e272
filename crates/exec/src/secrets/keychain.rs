//! The keyring of the user: the Secret Service on Linux, the keychain on macOS. Requires the
//! feature `keyring`; without it there is none.

/// The timeout for a keyring. The user may be asked to unlock it.
#[cfg(feature = "keyring")]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// The reason why a keyring cannot read or store an entry.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum KeyringError {
    /// Built without keyring support.
    #[error("this wf was built without the feature `keyring`")]
    None,
    /// The entry does not exist.
    #[error("no such entry in the keyring")]
    Missing,
    /// The keyring cannot be reached, or the entry cannot be used.
    #[error("{0}")]
    Other(String),
}

/// Returns the value of an entry.
pub async fn read_secret(service: &str, account: &str) -> Result<Vec<u8>, KeyringError> {
    let (of, on) = (service.to_owned(), account.to_owned());
    let answer = tokio::task::spawn_blocking(move || recall(&of, &on)).await;
    answer.unwrap_or_else(|_| Err(KeyringError::Other("cannot read it".into())))
}

/// Returns the value of an entry. Blocks for up to 30 seconds.
#[cfg(feature = "keyring")]
pub fn recall(service: &str, account: &str) -> Result<Vec<u8>, KeyringError> {
    with_entry(service, account, value)
}

/// Stores a value in an entry. Blocks for up to 30 seconds.
#[cfg(feature = "keyring")]
pub fn remember(service: &str, account: &str, value: &str) -> Result<(), KeyringError> {
    let value = value.to_owned();
    with_entry(service, account, move |entry| entry.set_password(&value).map_err(|error| fault(&error)))
}

/// Deletes an entry; a missing one is no error. Blocks for up to 30 seconds.
#[cfg(feature = "keyring")]
pub fn forget(service: &str, account: &str) -> Result<(), KeyringError> {
    let gone = with_entry(service, account, |entry| entry.delete_credential().map_err(|error| fault(&error)));
    match gone {
        Err(KeyringError::Missing) => Ok(()),
        other => other,
    }
}

/// Fails: there is no keyring.
#[cfg(not(feature = "keyring"))]
pub fn forget(_: &str, _: &str) -> Result<(), KeyringError> {
    Err(KeyringError::None)
}

/// Fails: there is no keyring.
#[cfg(not(feature = "keyring"))]
pub fn recall(_: &str, _: &str) -> Result<Vec<u8>, KeyringError> {
    Err(KeyringError::None)
}

/// Fails: there is no keyring.
#[cfg(not(feature = "keyring"))]
pub fn remember(_: &str, _: &str, _: &str) -> Result<(), KeyringError> {
    Err(KeyringError::None)
}

/// Queries the keyring in a separate thread: one waiting for the user must not block the program.
#[cfg(feature = "keyring")]
#[expect(
    clippy::disallowed_methods,
    reason = "commands that ask have no runtime, and the answer may never come"
)]
fn with_entry<T: Send + 'static>(
    service: &str,
    account: &str,
    ask: impl FnOnce(&keyring_core::Entry) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, KeyringError> {
    let (service, account) = (service.to_owned(), account.to_owned());
    let (tell, answer) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let entry = match keyring::v1::Entry::store_status() {
            Ok(()) => keyring_core::Entry::new(&service, &account).map_err(|reason| fault(&reason)),
            Err(reason) => Err(KeyringError::Other(format!("cannot reach a keyring: {reason}"))),
        };
        // After the timeout there is no receiver.
        let _ = tell.send(entry.and_then(|entry| ask(&entry)));
    });
    let late = || KeyringError::Other("the keyring did not answer in time; is it locked?".into());
    answer.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(late()))
}

#[cfg(feature = "keyring")]
fn value(entry: &keyring_core::Entry) -> Result<Vec<u8>, KeyringError> {
    entry.get_secret().map_err(|error| fault(&error))
}

/// Describes an error without the parts of the value that some errors carry.
#[cfg(feature = "keyring")]
fn fault(error: &keyring_core::Error) -> KeyringError {
    use keyring_core::Error;
    KeyringError::Other(match error {
        Error::NoEntry => return KeyringError::Missing,
        Error::Ambiguous(_) => "several matching entries in the keyring".into(),
        Error::BadEncoding(_) | Error::BadDataFormat(..) => "the entry is damaged".into(),
        Error::NoStorageAccess(error) => format!("cannot open the keyring: {error}"),
        error => error.to_string(),
    })
}

#[cfg(all(test, feature = "keyring"))]
mod tests {
    use super::{KeyringError, value};
    use keyring_core::{Error, api::CredentialStoreApi as _, mock};

    #[test]
    fn an_entry_is_read() {
        let store = mock::Store::new().unwrap();
        let entry = store.build("mail", "robot", None).unwrap();
        assert_eq!(value(&entry), Err(KeyringError::Missing));
        entry.set_password("tr0ub4dor").unwrap();
        assert_eq!(value(&entry), Ok(b"tr0ub4dor".to_vec()));
    }

    #[test]
    fn a_reason_holds_no_value() {
        let store = mock::Store::new().unwrap();
        let entry = store.build("mail", "robot", None).unwrap();
        let credential: &mock::Cred = entry.as_any().downcast_ref().unwrap();
        credential.set_error(Error::BadEncoding(b"tr0ub4dor".to_vec()));
        let told = value(&entry).unwrap_err();
        assert_eq!(told, KeyringError::Other("the entry is damaged".into()));
    }
}
