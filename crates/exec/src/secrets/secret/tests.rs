use super::{PlanSecrets, SecretText};
use crate::{HostEnv, work::executor::ProcessExecutor};
use std::sync::Arc;
use wf_base::name::EnvName;
use wf_model::{SecretDeclaration, SecretSource};

async fn read(source: SecretSource, dir: &std::path::Path) -> Result<SecretText, String> {
    let host = HostEnv::from([
        ("SET".into(), "from env\n".into()),
        ("EMPTY".into(), String::new()),
        ("WORD".into(), "Password".into()),
        ("PATH".into(), "/usr/bin:/bin".into()),
    ]);
    let name = EnvName::parse("TOKEN").unwrap();
    let secret = SecretDeclaration { name: name.clone(), source, masked: true };
    let secrets = secrets_in(dir, vec![secret], Arc::new(host));
    let read = secrets.get_secret(&name).await.map_err(|error| error.to_string());
    assert_eq!(secrets.known().await.len(), usize::from(read.is_ok()));
    read
}

/// A workspace, and its state.
fn secrets_in(dir: &std::path::Path, declared: Vec<SecretDeclaration>, host: Arc<HostEnv>) -> PlanSecrets {
    PlanSecrets::new(declared, host, dir, &dir.join(".wf"), ProcessExecutor::InProcess)
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
        (command("printf 'two words\n\n'"), Ok("two words\n")),
        (command("echo true"), Err("secret `TOKEN`: is too weak to be masked in logs: it is shorter")),
        (env("WORD"), Err("is a common word")),
        (command("printf \"$SET\""), Ok("from env")),
        (env("UNSET"), Err("secret `TOKEN`: environment variable UNSET is not set")),
        (env("EMPTY"), Err("secret `TOKEN`: is empty")),
        (file("none"), Err("secret `TOKEN`: cannot read ")),
        (file("long"), Err("secret `TOKEN`: is longer than 64 KiB")),
        (file("bytes"), Err("secret `TOKEN`: is not UTF-8")),
        (command("echo hush; exit 3"), Err("secret `TOKEN`: `sh`, which prints it, failed: exit code 3")),
        (SecretSource::Command(vec!["no_such".into()]), Err("program `")),
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
    let source = command("echo x >> count; echo s3cr3t-t0ken");
    let name = EnvName::parse("TOKEN").unwrap();
    let secret = SecretDeclaration { name: name.clone(), source, masked: true };
    let secrets = secrets_in(dir.path(), vec![secret], Arc::default());
    let (first, second) = tokio::join!(secrets.get_secret(&name), secrets.get_secret(&name));
    assert_eq!(first.unwrap().expose(), "s3cr3t-t0ken");
    assert!(!format!("{second:?} {secrets:?}").contains("s3cr3t-t0ken"));
    assert_eq!(std::fs::read_to_string(dir.path().join("count")).unwrap(), "x\n");
}

/// Secrets by their names, with where they come from and whether they are masked.
fn declared(secrets: &[(&str, SecretSource, bool)], dir: &std::path::Path) -> PlanSecrets {
    let host = HostEnv::from([
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("SET".into(), "from the environment".into()),
        ("PIN".into(), "1234".into()),
    ]);
    let secrets = secrets.iter().map(|(name, source, masked)| SecretDeclaration {
        name: EnvName::parse(name).unwrap(),
        source: source.clone(),
        masked: *masked,
    });
    secrets_in(dir, secrets.collect(), Arc::new(host))
}

async fn known(secrets: &PlanSecrets) -> Vec<String> {
    let known = secrets.known().await;
    known.iter().map(|value| value.expose().to_owned()).collect()
}

#[tokio::test]
async fn a_weak_value_may_be_used_if_the_plan_says_so() {
    let pin = ("PIN", SecretSource::Env("PIN".into()), false);
    let secrets = declared(&[pin], std::path::Path::new("/"));
    let value = secrets.get_secret(&EnvName::parse("PIN").unwrap()).await;
    assert_eq!(value.unwrap().expose(), "1234");
    assert_eq!(known(&secrets).await, [""; 0]);
}

#[tokio::test]
async fn variables_and_files_are_masked_before_they_are_needed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("key"), "an old key").unwrap();
    let all = [
        ("A", SecretSource::Env("SET".into()), true),
        ("B", SecretSource::File("key".into()), true),
        ("C", command("echo asked; touch asked"), true),
        ("D", SecretSource::Env("UNSET".into()), true),
        ("E", SecretSource::Env("SET".into()), true),
    ];
    let secrets = declared(&all, dir.path());
    assert_eq!(known(&secrets).await, ["an old key", "from the environment"]);
    assert!(!dir.path().join("asked").exists());
    // The value at the time of use counts; the earlier value stays hidden.
    std::fs::write(dir.path().join("key"), "the new key").unwrap();
    let key = secrets.get_secret(&EnvName::parse("B").unwrap()).await.unwrap();
    assert_eq!(key.expose(), "the new key");
    assert_eq!(known(&secrets).await, ["an old key", "from the environment", "the new key"]);
}
