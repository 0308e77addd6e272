//! Secrets a setup asks for in a browser: the setup says what it waits for, another process hands the value over, and
//! the setup takes it away at once.
//!
//! The two meet in `<state>/secrets/.prompts/CONNECTION/`, which only the owner can read. `REF.json` describes a
//! prompt, and the setup has it locked, so a prompt ends with its process, however that ends. `REF` is the value; once
//! it was taken, the file is empty, and says that no other value is wanted.
//!
//! **Invariant:** a prompt is answered once: a value appears whole, and never in the place of another.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};

use wf_base::{
    name::{PlanId, RefId},
    redact::{SecretWeakness, weakness},
    time::Moment,
};

use super::{
    super::secret::{SecretText, SecretValueError, value},
    ConnectionSecretError, ConnectionSecrets, chance, private, read, remove, unable, write,
};

/// The folder of all prompts, below that of the secrets.
const PROMPTS: &str = ".prompts";

/// A secret a setup waits for. It has no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretPrompt {
    /// The connection set up.
    pub connection: PlanId,
    /// The id standing for the secret.
    pub ref_id: RefId,
    /// A description of the secret, by the skill.
    pub label: String,
    /// The way to find it, by the skill; may be empty.
    pub guidance: String,
    /// The time since which the setup waits.
    pub since: Moment,
    /// The time until which it waits.
    pub expires: Moment,
}

/// The reason why an entered secret is not handed over. Never contains a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretEntryError {
    /// No setup waits for it.
    #[error("no setup waits for this secret, or not any more; start `wf connection add` again")]
    Unknown,
    /// A value was entered before.
    #[error("this secret was entered already, and the setup goes on with it")]
    Duplicate,
    /// The value is not usable as a secret.
    #[error("the secret {0}; enter another one")]
    Unfit(#[from] SecretValueError),
    #[error("the secret is too weak to be masked: {0}; enter another one")]
    Weak(SecretWeakness),
    /// The system reports an error.
    #[error(transparent)]
    Unable(#[from] ConnectionSecretError),
}

/// A prompt of a setup in this process. It waits until this is dropped.
#[derive(Debug)]
pub struct OpenPrompt {
    ref_id: RefId,
    path: PathBuf,
    /// The description, locked while this exists.
    _description: File,
}

impl ConnectionSecrets {
    pub(super) fn prompts(&self) -> PathBuf {
        self.above.join(PROMPTS).join(&self.name)
    }

    pub fn open_prompt(&self, prompt: &SecretPrompt) -> Result<OpenPrompt, ConnectionSecretError> {
        let folder = self.prompts();
        private(&self.above.join(PROMPTS))?;
        private(&folder)?;
        let path = folder.join(prompt.ref_id.as_str());
        remove(&path)?;
        let (beside, shown) = (path.with_extension("opening"), path.with_extension("json"));
        let opened = || -> io::Result<File> {
            let mut file =
                File::options().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            file.write_all(&serde_json::to_vec(prompt)?)?;
            // It is locked before it can be seen: what is seen and not locked is over.
            file.lock()?;
            fs::rename(&beside, &shown)?;
            Ok(file)
        };
        let description = opened().map_err(unable("write", &shown))?;
        Ok(OpenPrompt { ref_id: prompt.ref_id.clone(), path, _description: description })
    }
}

impl OpenPrompt {
    /// Returns the id of the secret.
    pub fn ref_id(&self) -> &RefId {
        &self.ref_id
    }

    /// Takes the value away, once it was entered.
    pub fn take_secret(&self) -> Result<Option<SecretText>, ConnectionSecretError> {
        let bytes = match read(&self.path) {
            Ok(bytes) if !bytes.is_empty() => bytes,
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unable("read", &self.path)(error)),
        };
        write(&self.path, b"", 0o600)?;
        let name = &self.ref_id;
        value(bytes)
            .map(Some)
            .map_err(|reason| ConnectionSecretError::Unable(format!("secret `{name}` {reason}")))
    }
}

/// Returns the prompts waiting for a value, in order.
pub fn secret_prompts(state: &Path) -> Vec<SecretPrompt> {
    let folders = fs::read_dir(state.join("secrets").join(PROMPTS)).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let paths =
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut prompts: Vec<SecretPrompt> = paths
        .filter(|path| is_open(path) && !path.with_extension("").exists())
        .filter_map(|path| serde_json::from_slice(&read(&path).ok()?).ok())
        .collect();
    prompts.sort_by(|a, b| (a.since, a.connection.as_str()).cmp(&(b.since, b.connection.as_str())));
    prompts
}

/// Hands the value of a secret over to the setup waiting for it.
pub fn enter_secret(
    state: &Path,
    connection: &PlanId,
    name: &RefId,
    secret: &str,
) -> Result<(), SecretEntryError> {
    let path = state.join("secrets").join(PROMPTS).join(connection.as_str()).join(name.as_str());
    let shown = path.with_extension("json");
    if !is_open(&shown) {
        return Err(SecretEntryError::Unknown);
    }
    let secret = value(secret.as_bytes().to_vec())?;
    if let Some(weak) = weakness(secret.expose()) {
        return Err(SecretEntryError::Weak(weak));
    }
    let beside = path.with_extension(format!("entry-{}", chance()?));
    let written = write_once(&beside, &path, &secret);
    if written.is_err() {
        remove(&beside)?;
    }
    match written {
        // The setup may have ended meanwhile: nothing stays that nobody takes.
        Ok(()) if !is_open(&shown) => {
            remove(&path)?;
            Err(SecretEntryError::Unknown)
        }
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(SecretEntryError::Duplicate),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(SecretEntryError::Unknown),
        Err(error) => Err(unable("write", &path)(error).into()),
    }
}

/// Writes a secret to a file beside, and makes that the file, which must not exist.
fn write_once(beside: &Path, path: &Path, secret: &SecretText) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(beside)?;
    file.write_all(secret.expose().as_bytes())?;
    file.sync_all()?;
    renameat_with(CWD, beside, CWD, path, RenameFlags::NOREPLACE)?;
    Ok(())
}

/// True if the process that opened a prompt still waits.
fn is_open(shown: &Path) -> bool {
    File::open(shown).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{super::ConnectionSecrets, SecretEntryError, SecretPrompt, enter_secret, secret_prompts};
    use wf_base::{
        name::{PlanId, RefId},
        time::Moment,
    };

    const KEY: &str = "kb-9f2c7a41d6e8b035";

    fn prompt() -> SecretPrompt {
        let (since, expires) = (Moment::from_millis(1), Moment::from_millis(2));
        let (connection, ref_id) = (PlanId::parse("box").unwrap(), RefId::parse("token").unwrap());
        SecretPrompt { connection, ref_id, label: "Key".into(), guidance: String::new(), since, expires }
    }

    #[test]
    fn a_prompt_is_answered_once() {
        let dir = tempfile::tempdir().unwrap();
        let asked = prompt();
        let enter = |text: &str| enter_secret(dir.path(), &asked.connection, &asked.ref_id, text);
        assert_eq!(enter(KEY), Err(SecretEntryError::Unknown));
        let secrets = ConnectionSecrets::take(dir.path(), &asked.connection).unwrap();
        let open = secrets.open_prompt(&asked).unwrap();
        assert_eq!(secret_prompts(dir.path()), [prompt()]);
        assert!(open.take_secret().unwrap().is_none());
        assert!(matches!(enter(""), Err(SecretEntryError::Unfit(_))));
        assert!(matches!(enter("aaaaaaaa"), Err(SecretEntryError::Weak(_))));
        assert_eq!(enter(KEY), Ok(()));
        assert_eq!((enter(KEY), secret_prompts(dir.path())), (Err(SecretEntryError::Duplicate), vec![]));
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&open.path), mode(&secrets.prompts())), (0o600, 0o700));
        assert_eq!(open.take_secret().unwrap().unwrap().expose(), KEY);
        assert_eq!(std::fs::read(&open.path).unwrap(), b"");
        assert!(open.take_secret().unwrap().is_none());
        assert_eq!(enter(KEY), Err(SecretEntryError::Duplicate), "it was taken");
        let again = secrets.open_prompt(&asked).unwrap();
        assert_eq!(enter(KEY), Ok(()), "the setup asks for it again");
        drop((open, again));
        assert_eq!(enter(KEY), Err(SecretEntryError::Unknown));
        let folder = secrets.prompts();
        drop(secrets);
        assert!(!folder.exists());
    }

    #[test]
    fn what_a_setup_left_that_died_is_no_prompt_and_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let asked = prompt();
        let folder = dir.path().join("secrets/.prompts/box");
        std::fs::create_dir_all(&folder).unwrap();
        for private in ["secrets", "secrets/.prompts", "secrets/.prompts/box"] {
            let mode = std::fs::Permissions::from_mode(0o700);
            std::fs::set_permissions(dir.path().join(private), mode).unwrap();
        }
        std::fs::write(folder.join("token.json"), serde_json::to_vec(&asked).unwrap()).unwrap();
        let entered = enter_secret(dir.path(), &asked.connection, &asked.ref_id, KEY);
        assert_eq!((entered, secret_prompts(dir.path())), (Err(SecretEntryError::Unknown), vec![]));
        std::fs::write(folder.join("token"), KEY).unwrap();
        let _secrets = ConnectionSecrets::take(dir.path(), &asked.connection).unwrap();
        assert!(!folder.exists());
    }
}
