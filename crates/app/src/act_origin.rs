use crate::{Caller, keys::author};
use wf_base::digest::Sha256Digest;

/// The origin of an act of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActOrigin {
    /// The command line: the key of its user is recorded.
    CommandLine,
    /// A browser, of which nobody knows who uses it: no key is recorded.
    Browser,
}

impl ActOrigin {
    /// Returns the key of the author, and true for a browser.
    pub(crate) fn author(self, caller: &dyn Caller) -> (Option<Sha256Digest>, bool) {
        match self {
            Self::CommandLine => (author(caller.host()).map(|key| key.public.id()), false),
            Self::Browser => (None, true),
        }
    }
}
