//! The target of a fetch: an address of a host in the plan's list.

use reqwest::Url;

use wf_model::FetchHost;

use super::error::FetchAddressMistake;

/// The maximum number of characters of a source.
const MAX_SOURCE_CHARS: usize = 200;

/// An address an agent may fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchTarget {
    /// The address.
    pub(super) url: Url,
    /// The entry of the plan allowing it.
    pub(super) host: FetchHost,
}

impl FetchTarget {
    /// Checks an address a model wrote.
    pub fn parse(text: &str, hosts: &[FetchHost]) -> Result<Self, FetchAddressMistake> {
        Self::from_url(Url::parse(text).map_err(FetchAddressMistake::Invalid)?, hosts)
    }

    pub(super) fn from_url(mut url: Url, hosts: &[FetchHost]) -> Result<Self, FetchAddressMistake> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FetchAddressMistake::Credentials);
        }
        url.set_fragment(None);
        let Some(host) = hosts.iter().find(|host| is_on(&url, host)).cloned() else {
            let origin = url.origin().ascii_serialization();
            return Err(FetchAddressMistake::Unlisted { origin, hosts: hosts.to_vec() });
        };
        Ok(Self { url, host })
    }

    /// Returns the address without its query, in a few words, as the source of what it gives.
    pub fn source(&self) -> String {
        let source = format!("fetch {}{}", self.url.origin().ascii_serialization(), self.url.path());
        source.chars().take(MAX_SOURCE_CHARS).collect()
    }

    pub fn address(&self) -> &str {
        self.url.as_str()
    }
}

/// True if an address is on a host, at its port.
fn is_on(url: &Url, host: &FetchHost) -> bool {
    let scheme = if host.is_plain { "http" } else { "https" };
    let name = url.host_str().map(|name| name.trim_start_matches('[').trim_end_matches(']'));
    let port = host.port.unwrap_or(if host.is_plain { 80 } else { 443 });
    url.scheme() == scheme && name == Some(host.host.as_str()) && url.port_or_known_default() == Some(port)
}

#[cfg(test)]
mod tests {
    use super::{FetchAddressMistake, FetchTarget};
    use wf_model::FetchHost;

    fn check(url: &str) -> Result<String, FetchAddressMistake> {
        let hosts = ["docs.example.com", "other.example:8443", "http://127.0.0.1:8080", "[2001:db8::1]"];
        let hosts = hosts.map(|host| FetchHost::parse(host).unwrap());
        FetchTarget::parse(url, &hosts).map(|target| target.address().to_owned())
    }

    #[test]
    fn listed_hosts_are_reached_by_their_scheme_and_port() {
        for url in [
            "https://docs.example.com/a?b=c",
            "https://other.example:8443/",
            "http://127.0.0.1:8080/x",
            "https://[2001:db8::1]/",
        ] {
            assert_eq!(check(url).unwrap(), url);
        }
        // A backslash is a slash, as in browsers: this is a path.
        assert_eq!(
            check("https://docs.example.com\\@evil.example/").unwrap(),
            "https://docs.example.com/@evil.example/"
        );
        assert_eq!(check("HTTPS://DOCS.example.com:443/#x").unwrap(), "https://docs.example.com/");
    }

    #[test]
    fn nothing_else_is() {
        for url in [
            "http://docs.example.com/",
            "https://docs.example.com:8443/",
            "https://other.example/",
            "https://docs.example.com.evil.example/",
            "https://evil.example/?docs.example.com",
            "https://docs.example.com@evil.example/",
            "https://user:key@docs.example.com/",
            "https://127.0.0.1:8080/",
            "http://127.0.0.1/",
            "http://localhost:8080/",
            "http://[::1]:8080/",
            "file:///etc/passwd",
            "ftp://docs.example.com/",
            "data:text/plain,hello",
            "docs.example.com",
            "//docs.example.com/",
            "",
        ] {
            assert!(check(url).is_err(), "{url}");
        }
        let told = check("https://evil.example/x").unwrap_err().to_string();
        assert!(
            told.starts_with(
                "this step may not fetch from `https://evil.example`; it may from `docs.example.com`, "
            ),
            "{told}"
        );
        // However it is written, it is this address.
        assert_eq!(check("http://0x7f.1:8080/x").unwrap(), "http://127.0.0.1:8080/x");
    }
}
