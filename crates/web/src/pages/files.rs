//! The artifacts of a run, to be saved by a browser and never shown by it: they are files of others.

use std::{
    fs::File,
    io::{self, Read as _},
};

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::stream;

use crate::{respond, site::Site};
use wf_app::{
    records::open_artifact_with,
    views::{find_run, state_reader},
};
use wf_base::digest::Sha256Digest;

/// The number of bytes read at once.
const CHUNK: usize = 64 * 1024;

/// Sends an artifact of a run, by its digest. The last part of the address is the name under which it is saved.
pub(crate) async fn download(
    State(site): State<Site>,
    Path((run, digest, _name)): Path<(String, String, String)>,
) -> Response {
    let opened = site.read(move |caller| {
        let (Some(reader), Ok(digest)) = (state_reader(caller)?, digest.parse::<Sha256Digest>()) else {
            return Ok(None);
        };
        find_run(&reader, &run)?.map_or(Ok(None), |run| open_artifact_with(&reader, &run, &digest))
    });
    match opened.await {
        Ok(Some(file)) => send(site, file),
        Ok(None) => respond::missing(&site),
        Err(error) => respond::failure(&site, &error),
    }
}

fn send(site: Site, file: File) -> Response {
    let length = file.metadata().map(|file| file.len()).unwrap_or_default();
    let parts = stream::unfold((site, Some(file)), |(site, file)| async move {
        let mut file = file?;
        let part = site.read_stream(move |_| Ok((read_part(&mut file), file))).await;
        match part {
            Ok((Ok(bytes), _)) if bytes.is_empty() => None,
            Ok((Ok(bytes), file)) => Some((Ok(bytes), (site, Some(file)))),
            Ok((Err(error), _)) => Some((Err(error), (site, None))),
            Err(error) => Some((Err(io::Error::other(error.message)), (site, None))),
        }
    });
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_DISPOSITION, "attachment".to_owned()),
        (CONTENT_LENGTH, length.to_string()),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox".to_owned()),
    ];
    (headers, Body::from_stream(parts)).into_response()
}

fn read_part(file: &mut File) -> io::Result<Bytes> {
    let mut bytes = vec![0; CHUNK];
    let length = file.read(&mut bytes)?;
    bytes.truncate(length);
    Ok(bytes.into())
}
