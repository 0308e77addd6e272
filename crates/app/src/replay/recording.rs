use std::{fs, io::Write as _, os::unix::fs::OpenOptionsExt as _, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::events::events_of;
use crate::{CliExitCode, CommandError, RunOptions, StateReader, Workspace};
use wf_base::{name::RunId, remedy::UserAction};
use wf_store::open_regular;

/// The file of a recording with the run.
const RUN: &str = "run.json";

/// The file of a recording with the events, one in a line.
const EVENTS: &str = "events.ndjson";

/// The version of these files.
const VERSION: u32 = 1;

/// The recorded run.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordedRun {
    v: u32,
    /// Its id.
    pub run: String,
    /// The path of its plan, relative to the workspace.
    pub plan: String,
    /// Its parameters.
    pub params: wf_model::JsonObject,
    /// The options of its start.
    pub options: Value,
}

/// Writes a run that ended into the folder of its recording: `wf replay` compares with it.
pub fn write_recording(folder: &Path, workspace: &Workspace, run: &RunId) -> Result<(), CommandError> {
    let state = StateReader::open(workspace)?;
    let reader = state.store();
    let row = reader.runs().get(run)?;
    let recorded = RecordedRun {
        v: VERSION,
        run: run.to_string(),
        plan: row.path,
        params: row.params,
        options: RunOptions::recorded(&reader.runs().config(run)?).write_to(Value::Null),
    };
    let events = events_of(reader, &workspace.root, run)?;
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    write(&folder.join(EVENTS), &lines)?;
    write(&folder.join(RUN), &format!("{:#}\n", serde_json::to_value(recorded).unwrap_or_default()))
}

/// Writes a file its owner alone can read, as the exchanges beside it.
fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        CommandError::new(CliExitCode::State, message)
    })
}

/// Reads a recording: the run, and its events.
pub fn read_recording(folder: &Path) -> Result<(RecordedRun, Vec<Value>), CommandError> {
    let run: RecordedRun = parse(&folder.join(RUN), |text| serde_json::from_str(text))?;
    if run.v != VERSION {
        return Err(unusable(&folder.join(RUN), "another version of wf wrote it"));
    }
    let events = parse(&folder.join(EVENTS), |text| text.lines().map(serde_json::from_str).collect())?;
    Ok((run, events))
}

fn parse<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Result<T, CommandError> {
    let text = open_regular(path).and_then(std::io::read_to_string);
    let text = text.map_err(|error| unusable(path, &error.to_string()))?;
    parse(&text).map_err(|error| unusable(path, &error.to_string()))
}

fn unusable(path: &Path, reason: &str) -> CommandError {
    let error = CommandError::new(CliExitCode::Usage, format!("cannot read {}: {reason}", path.display()));
    error.remedy("make a recording: ", UserAction::RecordRun)
}

#[cfg(test)]
mod tests {
    use super::{EVENTS, RUN, read_recording};
    use std::fs;

    #[test]
    fn a_recording_that_cannot_be_read_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let message = || read_recording(dir.path()).unwrap_err().message;
        assert!(message().contains(RUN), "{}", message());
        let run = |v: u32| {
            format!(r#"{{"v": {v}, "run": "ab", "plan": "plan.md", "params": {{}}, "options": null}}"#)
        };
        fs::write(dir.path().join(RUN), run(2)).unwrap();
        assert!(message().contains("another version"), "{}", message());
        fs::write(dir.path().join(RUN), run(1)).unwrap();
        fs::write(dir.path().join(EVENTS), "{}\n{").unwrap();
        assert!(message().contains(EVENTS), "{}", message());
        fs::write(dir.path().join(EVENTS), "{}\n{}\n").unwrap();
        let (run, events) = read_recording(dir.path()).unwrap();
        assert_eq!((run.plan.as_str(), events.len()), ("plan.md", 2));
    }
}
