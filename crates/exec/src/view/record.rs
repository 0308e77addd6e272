//! The record of a workspace when a run began: the list of its files, the ignored files, and the answers of git.

use super::declarations::ignored::IgnoreRules;
use crate::manifest::WorkspaceManifest;
use crate::originals::Originals;

/// The mark between the list of files and what git ignored, in a record: no line of the list is like it.
const RULES_MARK: &[u8] = b"\0ignored\0";

/// The mark before the state of repositories.
const ORIGINALS_MARK: &[u8] = b"\0originals\0";

/// A record of a workspace when a run began.
pub(super) struct WorkspaceRecord {
    pub(super) start_manifest: WorkspaceManifest,
    pub(super) ignored: IgnoreRules,
    pub(super) originals: Originals,
}

impl WorkspaceRecord {
    /// Joins its parts; the list of files is that of a manifest. Empty: the state of the workspace is unknown.
    pub(super) fn write(list: Vec<u8>, ignored: &IgnoreRules, originals: &Originals) -> Vec<u8> {
        let mut bytes = list;
        for (mark, part) in [(RULES_MARK, ignored.to_bytes()), (ORIGINALS_MARK, originals.to_bytes())] {
            if !part.is_empty() && !bytes.is_empty() {
                bytes.extend(mark);
                bytes.extend(part);
            }
        }
        bytes
    }

    /// Splits it into the list of files, what git ignored, and the state of repositories.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (rest, originals) = split(bytes, ORIGINALS_MARK);
        let (start, ignored) = split(rest, RULES_MARK);
        Some(Self {
            start_manifest: WorkspaceManifest::from_bytes(start).ok()?,
            ignored: IgnoreRules::from_bytes(ignored)?,
            originals: Originals::recorded(originals),
        })
    }
}

fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> (&'a [u8], &'a [u8]) {
    let at = bytes.windows(mark.len()).position(|part| part == mark);
    at.map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + mark.len()..]))
}
