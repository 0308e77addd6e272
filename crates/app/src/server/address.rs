//! The servers that are spoken to, and the key for one.

use std::{net::IpAddr, path::Path};

use serde_json::Value;

use crate::{CommandError, Host, keys::from_private_file, usage_error};

/// The variable with the key for a server.
const KEY_VARIABLE: &str = "WF_SERVER_KEY";

/// The beginning of the place of a workspace at a server with several.
const WORKSPACES: &str = "/w/";

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// The scheme, the host and the port, and below them the place of a workspace among several; without a slash at the end.
    origin: String,
    /// True if it is this machine.
    is_local: bool,
}

impl ServerAddress {
    /// Reads an address: `https://NAME`, or `http://` to this machine; of a server with several workspaces, `/w/WORKSPACE` follows.
    pub fn parse(text: &str) -> Result<Self, CommandError> {
        let shown = shown_address(text);
        let refused = |reason: &str| {
            let error = usage_error(format!("--server {shown}: {reason}"));
            error.hint("use https://NAME or https://NAME:PORT, or http://localhost:PORT for a server on this machine")
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| refused("it has no scheme"))?;
        let place = rest.strip_suffix('/').unwrap_or(rest);
        let (authority, workspace) =
            place.split_once(WORKSPACES).map_or((place, None), |(authority, name)| (authority, Some(name)));
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        if authority.is_empty()
            || authority.contains(['/', '@', '?', '#', '\\', ' '])
            || !workspace.is_none_or(is_name)
        {
            return Err(refused("it is more, or less, than a scheme, a host, a port and `/w/WORKSPACE`"));
        }
        let is_local = is_local(authority);
        match scheme {
            "https" => {}
            "http" if is_local => {}
            "http" => {
                let error = refused("the key would cross the network unencrypted");
                return Err(
                    error.hint("or forward its port to this machine: ssh -L 8420:localhost:8420 HOST")
                );
            }
            _ => return Err(refused("its scheme is neither https nor http")),
        }
        Ok(Self { origin: format!("{scheme}://{place}"), is_local })
    }

    /// Returns the address of an operation.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}/api/v1{path}", self.origin)
    }

    /// Returns its scheme, host and port, with the place of a workspace.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// True if it is this machine: no proxy leads there.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }
}

/// Returns an address without a password in it.
fn shown_address(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://…@{host}")
        }
        None => text.to_owned(),
    }
}

/// True if a host with or without a port is this machine.
fn is_local(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_named = host == "localhost" || host.ends_with(".localhost");
    is_named || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the key for a server: from a file that only its owner can read, with the key or with what was printed with it, or from
/// the environment.
pub fn server_key(host: &Host, file: Option<&Path>) -> Result<String, CommandError> {
    let text = match file {
        Some(path) => from_private_file(host, path)?,
        None => host.var(KEY_VARIABLE).map(str::to_owned).unwrap_or_default(),
    };
    let key = key_of(text.trim());
    if key.is_empty() {
        return Err(usage_error("there is no key for the server").hint(format!(
            "let the server make one with `--token`, and pass the file with it as --server-key FILE, or set {KEY_VARIABLE}"
        )));
    }
    Ok(key)
}

/// Returns the key in a text: all of it, or the `token` of a JSON object.
fn key_of(text: &str) -> String {
    let document: Option<Value> = serde_json::from_str(text).ok();
    let token = document.as_ref().and_then(|document| document.get("token")?.as_str());
    token.unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{ServerAddress, key_of};

    #[test]
    fn a_key_crosses_no_network_unencrypted() {
        for good in [
            "https://wf.example.org",
            "https://wf.example.org:8443/",
            "http://localhost:8420",
            "http://127.0.0.1:1",
            "https://wf.example.org/w/shop",
            "http://localhost:8420/w/the_shop-2/",
        ] {
            let address = ServerAddress::parse(good).unwrap();
            assert_eq!(address.url("/runs"), format!("{}/api/v1/runs", good.trim_end_matches('/')));
        }
        assert!(ServerAddress::parse("http://[::1]:8420").is_ok());
        assert!(ServerAddress::parse("http://a1b2.localhost:8420").unwrap().is_local());
        for wrong in [
            "wf.example.org",
            "http://wf.example.org",
            "http://localhost.example.org:80",
            "http://10.0.0.1:8420",
            "https://wf.example.org/pages",
            "https://wf.example.org/w/",
            "https://wf.example.org/w/shop/runs",
            "https://wf.example.org/w/..",
            "http://wf.example.org/w/shop",
            "https://me@wf.example.org",
            "ftp://localhost",
            "https://",
        ] {
            assert!(ServerAddress::parse(wrong).is_err(), "{wrong}");
        }
        let with_password = ["https://me", "hunter2@wf.example.org"].join(":");
        let refusal = ServerAddress::parse(&with_password).unwrap_err().message;
        assert!(refusal.contains("https://…@wf.example.org") && !refusal.contains("hunter2"), "{refusal}");
    }

    #[test]
    fn a_key_is_read_as_it_was_printed() {
        assert_eq!(key_of(r#"{"ends":"2026-12-07T09:00:00.000Z","token":"a1b2","url":"x"}"#), "a1b2");
        assert_eq!(key_of("a1b2"), "a1b2");
        assert_eq!(key_of("12"), "12");
    }
}
