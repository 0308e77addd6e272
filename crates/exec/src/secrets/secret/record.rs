//! The record of the secrets that steps of a run were given: their fingerprints, so that a value which has changed since
//! is masked as it was.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use serde::{Deserialize, Serialize};

use wf_base::{name::EnvName, redact::SecretFingerprint};

/// The file in the folder of a run.
const FILE: &str = "secrets.ndjson";

const SALT_BYTES: usize = 16;

/// A secret a step was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SecretRecord {
    name: EnvName,
    fingerprint: SecretFingerprint,
}

/// Records a secret before a step gets it, unless it is recorded.
pub(super) fn add(run: &Path, name: &EnvName, secret: &str) -> io::Result<()> {
    if read_fingerprints(run)?.iter().any(|fingerprint| fingerprint.is_of(secret)) {
        return Ok(());
    }
    let mut salt = [0_u8; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(io::Error::other)?;
    let salt: String = salt.iter().map(|byte| format!("{byte:02x}")).collect();
    let record = SecretRecord { name: name.clone(), fingerprint: SecretFingerprint::of(secret, salt) };
    let line = serde_json::to_string(&record).map_err(io::Error::other)?;
    fs::create_dir_all(run)?;
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(run.join(FILE))?;
    // A line that a crash cut off ends here.
    file.write_all(format!("\n{line}\n").as_bytes())?;
    file.sync_data()?;
    File::open(run)?.sync_data()
}

/// Returns the fingerprints of the secrets that steps of a run were given, by the run's folder.
pub fn read_fingerprints(run: &Path) -> io::Result<Vec<SecretFingerprint>> {
    let text = match fs::read_to_string(run.join(FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    // A step starts only once its line is whole.
    let whole = text.lines().filter_map(|line| serde_json::from_str::<SecretRecord>(line).ok());
    Ok(whole.map(|record| record.fingerprint).collect())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use wf_base::name::EnvName;

    use super::{FILE, add, read_fingerprints};

    #[test]
    fn each_value_is_recorded_once_for_its_owner_alone_and_not_as_it_is() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(read_fingerprints(run.path()).unwrap(), []);
        let name = EnvName::parse("TOKEN").unwrap();
        for secret in ["first-value-1", "first-value-1", "second-value-2"] {
            add(run.path(), &name, secret).unwrap();
        }
        let file = run.path().join(FILE);
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("value"), "{text}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        // A crash cut the last line off.
        fs::write(&file, format!("{text}{{\"name\":\"TOK")).unwrap();
        add(run.path(), &name, "third-value-3").unwrap();
        let known = read_fingerprints(run.path()).unwrap();
        let has = |secret| known.iter().filter(|fingerprint| fingerprint.is_of(secret)).count();
        assert_eq!(
            ["first-value-1", "second-value-2", "third-value-3", "fourth-value-4"].map(has),
            [1, 1, 1, 0]
        );
    }
}
