//! The reasons why a page is not fetched, each in a sentence for the model that asked for it.

use std::{error::Error, io, net::SocketAddr, str::FromStr, time::Duration};

use reqwest::{StatusCode, Url};

use wf_model::FetchHost;

use super::page::{MAX_PAGE_BYTES, MAX_REDIRECTS};

/// The mistake in an address, which keeps it from being a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchAddressMistake {
    #[error("the address is not valid ({0}): it must be like https://HOST/PATH")]
    Invalid(<Url as FromStr>::Err),
    #[error("the address has a user or a password, which is not allowed")]
    Credentials,
    /// The plan does not list the host.
    #[error("this step may not fetch from `{origin}`; it may from {}, by https", host_list(.hosts))]
    Unlisted {
        origin: String,
        /// The hosts of the plan.
        hosts: Vec<FetchHost>,
    },
}

/// The reason why a target gives no page.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("the call was stopped")]
    Stopped,
    #[error("no whole answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("cannot resolve `{host}`: {cause}")]
    Unresolved { host: String, cause: io::Error },
    /// The host has only addresses that are not connected to.
    #[error("`{host}` has no public address ({}), and others are not connected to", address_list(.found))]
    NotPublic { host: String, found: Vec<SocketAddr> },
    #[error("{}", innermost(.0))]
    Request(#[from] reqwest::Error),
    #[error(
        "it redirects to `{0}`, which is not on the same host: call the tool with that address to go there"
    )]
    OtherHost(Url),
    #[error("more than {MAX_REDIRECTS} redirects")]
    ManyRedirects,
    #[error("the page is compressed with `{0}`, which was not asked for")]
    Compressed(String),
    #[error("it is `{kind}`, and only text can be read (status {status})")]
    NotText { kind: String, status: StatusCode },
    #[error("it is no text: it contains NUL bytes")]
    Binary,
    #[error("it is larger than {} MiB", MAX_PAGE_BYTES / 1024 / 1024)]
    TooLarge,
    /// The page says that the request failed.
    #[error("status {status}\n{text}")]
    Status { status: StatusCode, text: String },
}

fn host_list(hosts: &[FetchHost]) -> String {
    hosts.iter().map(|host| format!("`{host}`")).collect::<Vec<_>>().join(", ")
}

fn address_list(found: &[SocketAddr]) -> String {
    found.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns the innermost cause: the outer ones only add locations.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
