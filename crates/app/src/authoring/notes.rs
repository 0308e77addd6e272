//! The knowledge of a perceiver beside the wish, in a recording: without it, its first request could not be made again.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{CliExitCode, CommandError};
use wf_core::agent::authoring::PastWish;

/// The file beside the recorded exchanges.
const FILE: &str = "perceiver.json";

/// The knowledge of a perceiver beside the wish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PerceiverNotes {
    /// The last wishes of the workspace.
    pub(super) past: Vec<PastWish>,
    /// The answers to its questions, by round.
    pub(super) answers: Vec<Vec<String>>,
}

impl PerceiverNotes {
    /// Reads the notes of a recording; a recording without them has none.
    pub(super) fn read(folder: &Path) -> Result<Self, CommandError> {
        let path = folder.join(FILE);
        let unusable = |reason: String| {
            let message = format!("cannot read the recording {}: {reason}", path.display());
            CommandError::new(CliExitCode::Usage, message)
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| unusable(error.to_string())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(unusable(error.to_string())),
        }
    }

    /// Writes the notes, each text masked.
    pub(super) fn write(&self, folder: &Path, mask: impl Fn(&str) -> String) -> Result<(), CommandError> {
        let wishes = self.past.iter();
        let wishes = wishes.map(|wish| PastWish { input: mask(&wish.input), summary: mask(&wish.summary) });
        let answers = self.answers.iter().map(|round| round.iter().map(|answer| mask(answer)).collect());
        let masked = Self { past: wishes.collect(), answers: answers.collect() };
        let text = serde_json::to_string_pretty(&masked).unwrap_or_default();
        let path = folder.join(FILE);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        file.and_then(|mut file| writeln!(file, "{text}")).map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            CommandError::new(CliExitCode::State, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_masked_and_read_again() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(PerceiverNotes::read(dir.path()).unwrap(), PerceiverNotes::default());
        let wish = PastWish { input: "use KEY".into(), summary: "KEY".into() };
        let notes = PerceiverNotes { past: vec![wish], answers: vec![vec!["KEY".into()]] };
        notes.write(dir.path(), |text| text.replace("KEY", "***")).unwrap();
        let read = PerceiverNotes::read(dir.path()).unwrap();
        assert_eq!((read.past[0].input.as_str(), read.answers[0][0].as_str()), ("use ***", "***"));
        std::fs::write(dir.path().join(FILE), "{").unwrap();
        assert!(PerceiverNotes::read(dir.path()).unwrap_err().message.contains("perceiver.json"));
    }
}
