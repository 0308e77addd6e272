//! The keyring of the user: the Secret Service on Linux, the keychain on macOS. Built with the
//! feature `keyring`; without it there is none.

/// How long a keyring may take. Somebody may be asked to unlock it.
#[cfg(feature = "keyring")]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// Why a keyring gives or takes nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RingFault {
    /// Built without it.
    #[error("this wf was built without the feature `keyring`")]
    None,
    /// It holds no such entry.
    #[error("the keyring has none")]
    Missing,
    /// It cannot be asked, or what it holds cannot be used.
    #[error("{0}")]
    Other(String),
}

/// What an entry holds.
pub async fn read(service: &str, account: &str) -> Result<Vec<u8>, String> {
    let (of, on) = (service.to_owned(), account.to_owned());
    let asked = tokio::task::spawn_blocking(move || recall(&of, &on)).await;
    let given = asked.unwrap_or_else(|_| Err(RingFault::Other("it could not be read".into())));
    given.map_err(|why| format!("the entry of service `{service}` and account `{account}`: {why}"))
}

/// What an entry holds. Blocks, for half a minute at most.
#[cfg(feature = "keyring")]
pub fn recall(service: &str, account: &str) -> Result<Vec<u8>, RingFault> {
    asked(service, account, value)
}

/// Keeps a value in an entry. Blocks, for half a minute at most.
#[cfg(feature = "keyring")]
pub fn remember(service: &str, account: &str, value: &str) -> Result<(), RingFault> {
    let value = value.to_owned();
    asked(service, account, move |entry| {
        entry.set_password(&value).map_err(|error| fault(&error))
    })
}

/// Forgets an entry; one that is not there is forgotten already. Blocks, for half a minute at most.
#[cfg(feature = "keyring")]
pub fn forget(service: &str, account: &str) -> Result<(), RingFault> {
    let gone = asked(service, account, |entry| {
        entry.delete_credential().map_err(|error| fault(&error))
    });
    match gone {
        Err(RingFault::Missing) => Ok(()),
        other => other,
    }
}

/// Forgets an entry: there is no keyring.
#[cfg(not(feature = "keyring"))]
pub fn forget(_: &str, _: &str) -> Result<(), RingFault> {
    Err(RingFault::None)
}

/// What an entry holds: there is no keyring.
#[cfg(not(feature = "keyring"))]
pub fn recall(_: &str, _: &str) -> Result<Vec<u8>, RingFault> {
    Err(RingFault::None)
}

/// Keeps a value in an entry: there is no keyring.
#[cfg(not(feature = "keyring"))]
pub fn remember(_: &str, _: &str, _: &str) -> Result<(), RingFault> {
    Err(RingFault::None)
}

/// Asks in a thread of its own: a keyring that waits for a person must not hold up the program.
#[cfg(feature = "keyring")]
#[expect(
    clippy::disallowed_methods,
    reason = "commands that ask have no runtime, and the answer may never come"
)]
fn asked<T: Send + 'static>(
    service: &str,
    account: &str,
    ask: impl FnOnce(&keyring_core::Entry) -> Result<T, RingFault> + Send + 'static,
) -> Result<T, RingFault> {
    let (service, account) = (service.to_owned(), account.to_owned());
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let entry = match keyring::v1::Entry::store_status() {
            Ok(()) => keyring_core::Entry::new(&service, &account).map_err(|why| fault(&why)),
            Err(why) => Err(RingFault::Other(format!(
                "no keyring can be reached: {why}"
            ))),
        };
        // Nobody listens any more once the patience is over.
        let _ = tell.send(entry.and_then(|entry| ask(&entry)));
    });
    let late = || RingFault::Other("the keyring did not answer in time; is it locked?".into());
    told.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(late()))
}

#[cfg(feature = "keyring")]
fn value(entry: &keyring_core::Entry) -> Result<Vec<u8>, RingFault> {
    entry.get_secret().map_err(|error| fault(&error))
}

/// The reason, without what some errors carry of the value.
#[cfg(feature = "keyring")]
fn fault(error: &keyring_core::Error) -> RingFault {
    use keyring_core::Error;
    RingFault::Other(match error {
        Error::NoEntry => return RingFault::Missing,
        Error::Ambiguous(_) => "the keyring has more than one".into(),
        Error::BadEncoding(_) | Error::BadDataFormat(..) => "it is damaged".into(),
        Error::NoStorageAccess(error) => format!("the keyring cannot be opened: {error}"),
        error => error.to_string(),
    })
}

#[cfg(all(test, feature = "keyring"))]
mod tests {
    use super::{RingFault, value};
    use keyring_core::api::CredentialStoreApi as _;
    use keyring_core::{Error, mock};

    #[test]
    fn an_entry_is_read() {
        let store = mock::Store::new().unwrap();
        let entry = store.build("mail", "robot", None).unwrap();
        assert_eq!(value(&entry), Err(RingFault::Missing));
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
        assert_eq!(told, RingFault::Other("it is damaged".into()));
    }
}
