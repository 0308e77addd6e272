//! Passes the findings on the previous attempt to a process: in a file, and in a variable if they
//! are small enough.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use wf_core::machine::AttemptFeedback;

use crate::{ProcessEnv, work_error::WorkError};

/// The largest correction passed in a variable, in bytes: the system refuses programs with a larger
/// environment.
pub const MAX_INLINE_BYTES: usize = 64 * 1024;

/// Returns the file of a correction, beside the attempt's log: `build.2.correction.json`.
pub fn path(log: &Path) -> PathBuf {
    log.with_extension("correction.json")
}

/// Writes a correction atomically, readable by its owner alone, and returns the variables naming it. Idempotent.
pub fn write_feedback(feedback: &AttemptFeedback, log: &Path) -> Result<ProcessEnv, WorkError> {
    let file = path(log);
    let failed = |error: &dyn std::fmt::Display| {
        WorkError::environmental(format!("cannot write the correction: {error}"))
    };
    let json = serde_json::to_string(feedback).map_err(|error| failed(&error))?;
    write(&file, &json).map_err(|error| failed(&error))?;
    let mut env = vec![("WF_CORRECTION_FILE".to_owned(), file.display().to_string())];
    if json.len() <= MAX_INLINE_BYTES {
        env.push(("WF_CORRECTION".to_owned(), json));
    }
    Ok(env)
}

fn write(file: &Path, json: &str) -> std::io::Result<()> {
    let part = file.with_extension("part");
    // A partial file of an engine that died while writing.
    let _ = fs::remove_file(&part);
    let mut options = fs::OpenOptions::new();
    let mut to = options.write(true).create_new(true).mode(0o600).open(&part)?;
    writeln!(to, "{json}")?;
    drop(to);
    fs::rename(&part, file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{MAX_INLINE_BYTES, path, write_feedback};
    use wf_base::name::Name;
    use wf_core::machine::{AttemptFeedback, FailureCount, TaskId};

    fn correction(what_was_wrong: String) -> AttemptFeedback {
        AttemptFeedback {
            task_id: TaskId::of_step(&Name::parse("build").unwrap()),
            attempt: 1,
            looped: None,
            failure_class: None,
            what_was_wrong,
            what_to_do: "mend it".into(),
            failed: Vec::new(),
            gaps: vec![FailureCount { attempt: 1, failed: 1, of: 2 }],
            guidance: None,
            person_guidance: None,
        }
    }

    #[test]
    fn a_correction_is_a_file_of_its_owner_and_a_variable() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("build.2.log");
        let told = correction("it was red".into());
        for _ in 0..2 {
            let env = write_feedback(&told, &log).unwrap();
            let names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["WF_CORRECTION_FILE", "WF_CORRECTION"]);
            assert_eq!(env[0].1, path(&log).display().to_string());
            let text = std::fs::read_to_string(&env[0].1).unwrap();
            assert_eq!(text.trim_end(), env[1].1);
            let back: AttemptFeedback = serde_json::from_str(&text).unwrap();
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
        let env =
            write_feedback(&correction("x".repeat(MAX_INLINE_BYTES)), &dir.path().join("a.2.log")).unwrap();
        assert_eq!(env.len(), 1);
        assert!(std::fs::metadata(&env[0].1).unwrap().len() > MAX_INLINE_BYTES as u64);
    }
}
