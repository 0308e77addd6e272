//! The masks added while an attempt runs: values from its output file, and their chain with the masks before.

use std::{borrow::Cow, path::PathBuf, time::SystemTime};

use rustix::fs::OFlags;

use wf_base::redact::{MaskingStream, SecretMask, weakness};

use crate::{
    disk::files::{open_regular, read_bounded},
    step_files::{output_entry::masks, outputs::MAX_OUTPUT_FILE_BYTES},
};

/// The values an attempt wants to be masked while it runs: it writes them to its output file.
#[derive(Debug)]
pub(super) struct RuntimeMasks {
    output: PathBuf,
    /// The size of the output file and its last change, at the last look.
    stamp: Option<(u64, SystemTime)>,
    values: Vec<String>,
}

/// The values new since the last look.
pub(super) struct NewMasks {
    /// The mask of all values so far.
    pub(super) mask: SecretMask,
    /// The number of new ones that are too weak to be masked.
    pub(super) weak: usize,
}

impl RuntimeMasks {
    pub(super) fn new(output: PathBuf) -> Self {
        Self { output, stamp: None, values: Vec::new() }
    }

    /// Looks for new values. `all`: the last line counts also if it has no end.
    pub(super) fn look(&mut self, takes_all: bool) -> Option<NewMasks> {
        let about = self.output.symlink_metadata().ok()?;
        let stamp = about.modified().ok().map(|changed| (about.len(), changed));
        // Most output comes while nothing is written to the file.
        if stamp == self.stamp && !takes_all {
            return None;
        }
        self.stamp = stamp;
        let file = open_regular(&self.output, OFlags::RDONLY).ok()?;
        let bytes = read_bounded(file, MAX_OUTPUT_FILE_BYTES).ok()?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = if takes_all { bytes.as_slice() } else { bytes.get(..end).unwrap_or_default() };
        let values = masks(&String::from_utf8_lossy(lines)).into_iter();
        let new: Vec<String> = values.filter(|value| !self.values.contains(value)).collect();
        if new.is_empty() {
            return None;
        }
        let weak = new.iter().filter(|value| weakness(value).is_some()).count();
        self.values.extend(new);
        Some(NewMasks { mask: self.mask(), weak })
    }

    /// Returns the mask of all values so far.
    pub(super) fn mask(&self) -> SecretMask {
        SecretMask::new(self.values.iter().map(String::as_str))
    }
}

/// The masks the bytes of a stream pass, one after another: the mask of the secrets, then those of the values added by
/// the attempt.
pub(super) struct MaskChain(Vec<MaskingStream>);

impl MaskChain {
    pub(super) fn new(secrets: &SecretMask) -> Self {
        Self(vec![secrets.stream()])
    }

    /// Adds the mask of all values that came so far. It takes the place of the last such one, unless that has begun to
    /// see a value.
    pub(super) fn extend(&mut self, mask: &SecretMask) {
        if self.0.len() > 1 && self.0.last().is_some_and(MaskingStream::is_idle) {
            self.0.pop();
        }
        self.0.push(mask.stream());
    }

    /// Takes a chunk and returns the bytes that can be shown by now.
    pub(super) fn feed<'c>(&mut self, chunk: &'c [u8]) -> Cow<'c, [u8]> {
        self.0.iter_mut().fold(Cow::Borrowed(chunk), |bytes, mask| match bytes {
            Cow::Borrowed(bytes) => mask.feed(bytes),
            Cow::Owned(bytes) => Cow::Owned(mask.feed(&bytes).into_owned()),
        })
    }

    /// Returns the bytes held back, at the end of the input.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.0.iter_mut().fold(Vec::new(), |bytes, mask| {
            let mut rest = mask.feed(&bytes).into_owned();
            rest.extend(mask.finish());
            rest
        })
    }
}
