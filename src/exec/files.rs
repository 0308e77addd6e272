//! Files inside the workspace.

use std::io;
use std::path::Path;

use super::Unable;
use crate::digest::Digest;
use crate::machine::Artifact;

/// Puts a file's content away under its digest; gives the digest and the size.
pub type Keep<'a> = dyn FnMut(&Path) -> io::Result<(Digest, u64)> + 'a;

/// Brings a content back to a path, whose folder exists.
pub type Fetch<'a> = dyn FnMut(&Digest, &Path) -> io::Result<()> + 'a;

/// Puts the files that globs match away. A glob that matches nothing is an error.
pub fn collect(
    _root: &Path,
    _globs: &[String],
    _keep: &mut Keep<'_>,
) -> Result<Vec<Artifact>, Unable> {
    todo!()
}

/// Brings files back.
pub fn restore(_root: &Path, _files: &[Artifact], _fetch: &mut Fetch<'_>) -> Result<(), Unable> {
    todo!()
}
