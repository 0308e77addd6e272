//! How a process is told what was wrong with the attempt before it: by a file, and by a variable
//! where it is small enough.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::{Env, Unable};
use crate::machine::Correction;

/// The largest correction that goes into a variable, in bytes: the system refuses programs whose
/// environment is too large.
pub const LARGEST: usize = 64 * 1024;

/// The file of a correction, beside the attempt's log: `build.2.correction.json`.
pub fn path(log: &Path) -> PathBuf {
    log.with_extension("correction.json")
}

/// Writes a correction where only its owner can read it, whole or not at all, and gives the
/// variables that name it. Done again, it does the same.
pub fn hand_over(correction: &Correction, log: &Path) -> Result<Env, Unable> {
    let file = path(log);
    let failed = |error: &dyn std::fmt::Display| {
        Unable::environmental(format!("cannot write the correction: {error}"))
    };
    let json = serde_json::to_string(correction).map_err(|error| failed(&error))?;
    write(&file, &json).map_err(|error| failed(&error))?;
    let mut env = vec![("WF_CORRECTION_FILE".to_owned(), file.display().to_string())];
    if json.len() <= LARGEST {
        env.push(("WF_CORRECTION".to_owned(), json));
    }
    Ok(env)
}

fn write(file: &Path, json: &str) -> std::io::Result<()> {
    let part = file.with_extension("part");
    // What an engine left here that died while it wrote is not whole.
    let _ = fs::remove_file(&part);
    let mut options = fs::OpenOptions::new();
    let mut to = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&part)?;
    writeln!(to, "{json}")?;
    drop(to);
    fs::rename(&part, file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{LARGEST, hand_over, path};
    use crate::machine::{Correction, Gap, Place};
    use crate::name::Name;

    fn correction(what_was_wrong: String) -> Correction {
        Correction {
            place: Place::of(&Name::parse("build").unwrap()),
            attempt: 1,
            looped: None,
            class: None,
            what_was_wrong,
            what_to_do: "mend it".into(),
            failed: Vec::new(),
            gaps: vec![Gap {
                attempt: 1,
                failed: 1,
                of: 2,
            }],
        }
    }

    #[test]
    fn a_correction_is_a_file_of_its_owner_and_a_variable() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("build.2.log");
        let told = correction("it was red".into());
        for _ in 0..2 {
            let env = hand_over(&told, &log).unwrap();
            let names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["WF_CORRECTION_FILE", "WF_CORRECTION"]);
            assert_eq!(env[0].1, path(&log).display().to_string());
            let text = std::fs::read_to_string(&env[0].1).unwrap();
            assert_eq!(text.trim_end(), env[1].1);
            let back: Correction = serde_json::from_str(&text).unwrap();
            assert_eq!(back, told);
            let mode = std::fs::metadata(&env[0].1).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 1);
    }

    #[test]
    fn what_is_too_large_for_a_variable_is_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let env = hand_over(
            &correction("x".repeat(LARGEST)),
            &dir.path().join("a.2.log"),
        )
        .unwrap();
        assert_eq!(env.len(), 1);
        assert!(std::fs::metadata(&env[0].1).unwrap().len() > LARGEST as u64);
    }
}
