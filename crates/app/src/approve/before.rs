use crate::{Host, Workspace, revision::past_text};
use wf_base::digest::Sha256Digest;
use wf_store::StoreReader;

/// Returns a file of a workspace as it was when it had a digest: as a run recorded it, or as git
/// has it.
pub fn text_by_digest(
    host: &Host,
    workspace: &Workspace,
    path: &str,
    digest: Sha256Digest,
) -> Option<String> {
    let recorded = StoreReader::open(&workspace.state).ok();
    let recorded = recorded.and_then(|reader| reader.sources().text(&digest).ok().flatten());
    recorded.or_else(|| past_text(host, workspace, path, digest))
}
