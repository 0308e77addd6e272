//! The keyring of the user: the Secret Service on Linux, the keychain on macOS. Built with the
//! feature `keyring`; without it the language refuses plans that need one.

/// What an entry holds. Somebody may be asked to unlock the keyring, so this may take a while.
#[cfg(feature = "keyring")]
pub(super) async fn read(service: &str, account: &str) -> Result<Vec<u8>, String> {
    let of = format!("the entry of service `{service}` and account `{account}`");
    let (service, account) = (service.to_owned(), account.to_owned());
    let asked = tokio::task::spawn_blocking(move || match keyring::v1::Entry::store_status() {
        Ok(()) => value(&keyring_core::Entry::new(&service, &account).map_err(|e| why(&e))?),
        Err(error) => Err(format!("no keyring can be reached: {error}")),
    });
    match tokio::time::timeout(super::PATIENCE, asked).await {
        Ok(Ok(Ok(value))) => Ok(value),
        Ok(Ok(Err(why))) => Err(format!("{of}: {why}")),
        Ok(Err(_)) => Err(format!("{of} could not be read")),
        Err(_) => Err(format!(
            "{of}: the keyring did not answer in time; is it locked?"
        )),
    }
}

#[cfg(not(feature = "keyring"))]
#[expect(clippy::unused_async, reason = "with the feature it waits")]
pub(super) async fn read(_: &str, _: &str) -> Result<Vec<u8>, String> {
    Err("this wf was built without the feature `keyring`".into())
}

#[cfg(feature = "keyring")]
fn value(entry: &keyring_core::Entry) -> Result<Vec<u8>, String> {
    entry.get_secret().map_err(|error| why(&error))
}

/// The reason, without what some errors carry of the value.
#[cfg(feature = "keyring")]
fn why(error: &keyring_core::Error) -> String {
    use keyring_core::Error;
    match error {
        Error::NoEntry => "the keyring has none".into(),
        Error::Ambiguous(_) => "the keyring has more than one".into(),
        Error::BadEncoding(_) | Error::BadDataFormat(..) => "it is damaged".into(),
        Error::NoStorageAccess(error) => format!("the keyring cannot be opened: {error}"),
        error => error.to_string(),
    }
}

#[cfg(all(test, feature = "keyring"))]
mod tests {
    use super::value;
    use keyring_core::api::CredentialStoreApi as _;
    use keyring_core::{Error, mock};

    #[test]
    fn an_entry_is_read() {
        let store = mock::Store::new().unwrap();
        let entry = store.build("mail", "robot", None).unwrap();
        assert_eq!(value(&entry), Err("the keyring has none".into()));
        entry.set_password("tr0ub4dor").unwrap();
        assert_eq!(value(&entry), Ok(b"tr0ub4dor".to_vec()));
    }

    #[test]
    fn a_reason_holds_no_value() {
        let store = mock::Store::new().unwrap();
        let entry = store.build("mail", "robot", None).unwrap();
        let credential: &mock::Cred = entry.as_any().downcast_ref().unwrap();
        credential.set_error(Error::BadEncoding(b"tr0ub4dor".to_vec()));
        assert_eq!(value(&entry), Err("it is damaged".into()));
    }
}
