use crate::cli::Workspace;
use crate::cli::revision::past_text;
use crate::digest::Digest;
use crate::store::Reader;

/// A file of a workspace as it was when it had a digest: as a run was recorded with it, or as git
/// knows it.
pub(super) fn text_of(workspace: &Workspace, path: &str, digest: Digest) -> Option<String> {
    let recorded = Reader::open(&workspace.state).ok();
    let recorded = recorded.and_then(|reader| reader.text(&digest).ok().flatten());
    recorded.or_else(|| past_text(&workspace.root, path, digest))
}
