//! Secrets: read when first needed, once a run, and never shown.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::OFlags;
use tokio::sync::{Mutex, watch};

use super::probe::Probe;
use super::process::Command;
use super::{Hands, Host, Stop};
use crate::machine::Exit;
use crate::model::{Secret, SecretSource};
use crate::name::EnvName;

/// The longest secret, in bytes.
const LONGEST: usize = 64 * 1024;

/// How long a program may take to print a secret: it may have to ask a vault.
const PATIENCE: Duration = Duration::from_secs(30);

/// A value that must not be seen.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(Arc<str>);

/// Why a secret has no value. Names the secret, never its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("secret `{name}`: {why}")]
pub struct BadSecret {
    /// Which.
    pub name: EnvName,
    /// Why.
    pub why: String,
}

/// The secrets of a plan.
pub struct Secrets {
    declared: Vec<Secret>,
    host: Arc<Host>,
    root: PathBuf,
    hands: Hands,
    /// What is read; held while one is read, so that none is read twice.
    known: Mutex<BTreeMap<EnvName, Hidden>>,
}

impl From<&str> for Hidden {
    fn from(value: &str) -> Self {
        Self(value.into())
    }
}

impl Hidden {
    /// The value itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// How secrets travel to the process that must not show them: on a socket of their owner, and
/// nowhere else.
pub(super) mod exposed {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Hidden;

    pub(in crate::exec) fn serialize<S: Serializer>(
        secrets: &[Hidden],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(secrets.iter().map(Hidden::expose))
    }

    pub(in crate::exec) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Hidden>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        Ok(texts
            .iter()
            .map(|text| Hidden::from(text.as_str()))
            .collect())
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden(…)")
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.declared.iter().map(|secret| &secret.name))
            .finish()
    }
}

impl Secrets {
    /// Takes the declarations; nothing is read yet.
    pub fn new(declared: Vec<Secret>, host: Arc<Host>, root: PathBuf, hands: Hands) -> Self {
        Self {
            declared,
            host,
            root,
            hands,
            known: Mutex::default(),
        }
    }

    /// A secret's value, read if it was not read before.
    pub async fn get(&self, name: &EnvName) -> Result<Hidden, BadSecret> {
        let mut known = self.known.lock().await;
        if let Some(value) = known.get(name) {
            return Ok(value.clone());
        }
        let value = self.read(name).await.map_err(|why| BadSecret {
            name: name.clone(),
            why,
        })?;
        known.insert(name.clone(), value.clone());
        Ok(value)
    }

    /// Every value read so far: what a mask must hide.
    pub async fn known(&self) -> Vec<Hidden> {
        self.known.lock().await.values().cloned().collect()
    }

    async fn read(&self, name: &EnvName) -> Result<Hidden, String> {
        let secret = self.declared.iter().find(|secret| secret.name == *name);
        let bytes = match &secret.ok_or("is not declared")?.source {
            SecretSource::Env(variable) => of_variable(&self.host, variable)?,
            SecretSource::File(path) => of_file(&self.root.join(path))?,
            SecretSource::Command(argv) => self.of_command(argv).await?,
        };
        if bytes.len() > LONGEST {
            return Err(format!("is longer than {} KiB", LONGEST / 1024));
        }
        let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 text")?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        match text.strip_suffix('\r').unwrap_or(text) {
            "" => Err("is empty".into()),
            text => Ok(Hidden(text.into())),
        }
    }

    /// The program is the user's own, so it sees all of the engine's environment.
    async fn of_command(&self, argv: &[String]) -> Result<Vec<u8>, String> {
        let command = Command {
            argv: argv.to_vec(),
            env: (*self.host).clone().into_iter().collect(),
            cwd: self.root.clone(),
        };
        let probe = Probe {
            command,
            timeout: PATIENCE,
            grace: Duration::from_secs(1),
            keep: LONGEST + 1,
        };
        let (_told, stop) = watch::channel(Stop::No);
        let probed = self.hands.probe(probe, stop).await;
        let program = argv.first().map_or("", String::as_str);
        match probed.exit {
            exit if exit.is_success() => Ok(probed.out),
            Exit::Unable { why, .. } => Err(why),
            exit => Err(format!("`{program}` was to print it: {exit}")),
        }
    }
}

fn of_variable(host: &Host, name: &str) -> Result<Vec<u8>, String> {
    let value = host
        .get(name)
        .ok_or(format!("the variable {name} is not set"))?;
    Ok(value.clone().into_bytes())
}

fn of_file(path: &Path) -> Result<Vec<u8>, String> {
    let unable = |error| format!("cannot read {}: {error}", path.display());
    let mut bytes = Vec::new();
    // Without waiting: a pipe would hold the engine up until somebody writes to it.
    let opened = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path);
    let regular = |file: File| {
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::other("it is not a file"))
        }
    };
    opened
        .and_then(regular)
        .and_then(|file| file.take(LONGEST as u64 + 1).read_to_end(&mut bytes))
        .map_err(unable)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Hidden, Secrets};
    use crate::exec::{Hands, Host};
    use crate::model::{Secret, SecretSource};
    use crate::name::EnvName;
    use std::sync::Arc;

    async fn read(source: SecretSource, dir: &std::path::Path) -> Result<Hidden, String> {
        let host = Host::from([
            ("SET".into(), "from env\n".into()),
            ("EMPTY".into(), String::new()),
            ("PATH".into(), "/usr/bin:/bin".into()),
        ]);
        let name = EnvName::parse("TOKEN").unwrap();
        let secret = Secret {
            name: name.clone(),
            source,
        };
        let secrets = Secrets::new(vec![secret], Arc::new(host), dir.to_path_buf(), Hands::Own);
        let read = secrets.get(&name).await.map_err(|error| error.to_string());
        assert_eq!(secrets.known().await.len(), usize::from(read.is_ok()));
        read
    }

    fn command(text: &str) -> SecretSource {
        SecretSource::Command(["sh", "-c", text].map(String::from).into())
    }

    #[tokio::test]
    async fn values_come_from_where_the_plan_says() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("token"), "from file\r\n").unwrap();
        std::fs::write(dir.path().join("long"), "x".repeat(100_000)).unwrap();
        std::fs::write(dir.path().join("bytes"), b"\xff\xfe").unwrap();
        let file = |name: &str| SecretSource::File(name.into());
        let env = |name: &str| SecretSource::Env(name.into());
        for (source, expected) in [
            (env("SET"), Ok("from env")),
            (file("token"), Ok("from file")),
            (command("printf 'two\n\n'"), Ok("two\n")),
            (command("printf \"$SET\""), Ok("from env")),
            (
                env("UNSET"),
                Err("secret `TOKEN`: the variable UNSET is not set"),
            ),
            (env("EMPTY"), Err("secret `TOKEN`: is empty")),
            (file("none"), Err("secret `TOKEN`: cannot read ")),
            (file("long"), Err("secret `TOKEN`: is longer than 64 KiB")),
            (file("bytes"), Err("secret `TOKEN`: is not UTF-8")),
            (
                command("echo hush; exit 3"),
                Err("secret `TOKEN`: `sh` was to print it: exit code 3"),
            ),
            (
                SecretSource::Command(vec!["no_such".into()]),
                Err("there is no program"),
            ),
        ] {
            match (read(source, dir.path()).await, expected) {
                (Ok(value), Ok(expected)) => assert_eq!(value.expose(), expected),
                (Err(error), Err(part)) => {
                    assert!(error.contains(part), "{error}");
                    assert!(!error.contains("hush"), "{error}");
                }
                (found, _) => panic!("{found:?}, not {expected:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_secret_is_read_once_and_never_shown() {
        let dir = tempfile::tempdir().unwrap();
        let source = command("echo x >> count; echo s3cret");
        let name = EnvName::parse("TOKEN").unwrap();
        let secret = Secret {
            name: name.clone(),
            source,
        };
        let secrets = Secrets::new(
            vec![secret],
            Arc::default(),
            dir.path().to_path_buf(),
            Hands::Own,
        );
        let (first, second) = tokio::join!(secrets.get(&name), secrets.get(&name));
        assert_eq!(first.unwrap().expose(), "s3cret");
        assert!(!format!("{second:?} {secrets:?}").contains("s3cret"));
        assert_eq!(
            std::fs::read_to_string(dir.path().join("count")).unwrap(),
            "x\n"
        );
    }
}
