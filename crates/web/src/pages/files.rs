//! The artifacts of a run, to be saved by a browser: they are files of others. The text of one is shown on a page, escaped, a picture
//! has an address of its own, and nothing else of them is shown.
//!
//! A stored file is compared with its digest before it is sent and again while it is. Each part waits for the next one, so
//! a browser never has the end of a file that was changed meanwhile.

use std::io::{self, Read as _};

use axum::{
    body::Bytes,
    extract::Path,
    http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde::Deserialize;

use crate::{
    caller::PageCaller,
    query::PageQuery,
    respond,
    site::Site,
    visit::{LoginSite, Visit},
};
use wf_app::{
    CommandError,
    records::{ComparedFile, open_artifact_with},
    views::{ArtifactImage, artifact_image, file_text, find_run, state_reader},
    watch::record_artifact_read,
};
use wf_base::digest::Sha256Digest;

/// The number of bytes read at once.
const CHUNK: usize = 64 * 1024;

/// The way in which a file is wanted, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct FileQuery {
    /// `page`: on a page; `text`: on a page, as it is; `image`: a picture alone; empty: to be saved.
    #[serde(default)]
    view: String,
}

/// Sends an artifact of a run, by its digest, or the page with its text. The last part of the address is the name under
/// which it is saved.
pub(crate) async fn file(
    visit: Visit,
    Path((run, digest, _name)): Path<(String, String, String)>,
    PageQuery(query): PageQuery<FileQuery>,
) -> Response {
    if query.view == "image" {
        return match image(&visit.site, run, digest).await {
            Ok(Some(answer)) => answer,
            Ok(None) => respond::missing(&visit.site),
            Err(error) => respond::failure(&visit.site, &error),
        };
    }
    if matches!(query.view.as_str(), "page" | "text") {
        let is_source = query.view == "text";
        let login = visit.site.login.clone();
        let read = move |caller: &PageCaller| {
            let (Some(reader), Ok(digest)) = (state_reader(caller)?, digest.parse::<Sha256Digest>()) else {
                return Ok(None);
            };
            let Some(run) = find_run(&reader, &run)? else { return Ok(None) };
            let text = file_text(&reader, &run, &digest, is_source)?;
            if text.is_some() {
                record_artifact_read(&caller.with_login(&login), &run, digest);
            }
            Ok(text)
        };
        return visit.show("file.html", read).await;
    }
    match saved_artifact(&visit.site, run, digest).await {
        Ok(Some(file)) => file,
        Ok(None) => respond::missing(&visit.site),
        Err(error) => respond::failure(&visit.site, &error),
    }
}

/// Returns the answer with a picture among the artifacts of a run; `None`: there is none. Its type is that of its first bytes, and it may
/// do nothing even if a browser opens it alone.
async fn image(site: &LoginSite, run: String, digest: String) -> Result<Option<Response>, CommandError> {
    let read = site.change(move |caller| {
        let (Some(reader), Ok(digest)) = (state_reader(caller)?, digest.parse::<Sha256Digest>()) else {
            return Ok(None);
        };
        let Some(run) = find_run(&reader, &run)? else { return Ok(None) };
        let image = artifact_image(&reader, &run, &digest)?;
        if image.is_some() {
            record_artifact_read(caller, &run, digest);
        }
        Ok(image)
    });
    let Some(ArtifactImage { media_type, bytes }) = read.await? else {
        return Ok(None);
    };
    let headers = [
        (CONTENT_TYPE, media_type),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    Ok(Some((headers, bytes).into_response()))
}

/// Returns the answer with an artifact of a run, by its digest, and records that the login has read it; `None`: there is none.
pub(crate) async fn saved_artifact(
    site: &LoginSite,
    run: String,
    digest: String,
) -> Result<Option<Response>, CommandError> {
    let opened = site.change(move |caller| {
        let (Some(reader), Ok(digest)) = (state_reader(caller)?, digest.parse::<Sha256Digest>()) else {
            return Ok(None);
        };
        let Some(run) = find_run(&reader, &run)? else { return Ok(None) };
        let opened = open_artifact_with(&reader, &run, &digest)?;
        if opened.is_some() {
            record_artifact_read(caller, &run, digest);
        }
        Ok(opened)
    });
    Ok(opened.await?.map(|opened| send(Site::clone(site), opened.file)))
}

/// A file on its way: what was read of it and is not sent.
struct SentFile {
    file: ComparedFile,
    next: Bytes,
}

impl SentFile {
    /// Returns the part to send, once there is another one or the content was compared up to the end.
    fn next_part(&mut self) -> io::Result<Bytes> {
        let after = self.read_part()?;
        Ok(std::mem::replace(&mut self.next, after))
    }

    fn read_part(&mut self) -> io::Result<Bytes> {
        let mut bytes = vec![0; CHUNK];
        let length = self.file.read(&mut bytes)?;
        bytes.truncate(length);
        Ok(bytes.into())
    }
}

fn send(site: Site, file: ComparedFile) -> Response {
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_DISPOSITION, "attachment".to_owned()),
        (CONTENT_LENGTH, file.size().to_string()),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox".to_owned()),
    ];
    let sent = SentFile { file, next: Bytes::new() };
    let parts = stream::unfold((site, Some(sent)), |(site, sent)| async move {
        let mut sent = sent?;
        let part = site.read_stream(move |_| {
            // Nothing is held back before the first part.
            let is_first = sent.next.is_empty();
            let part =
                if is_first { sent.next_part().and_then(|_| sent.next_part()) } else { sent.next_part() };
            Ok((part, sent))
        });
        match part.await {
            Ok((Ok(bytes), _)) if bytes.is_empty() => None,
            Ok((Ok(bytes), sent)) => Some((Ok(bytes), (site, Some(sent)))),
            Ok((Err(error), _)) => Some((Err(error), (site, None))),
            Err(error) => Some((Err(io::Error::other(error.message)), (site, None))),
        }
    });
    (headers, respond::streamed(parts)).into_response()
}
