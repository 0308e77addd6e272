use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use serde::Serialize;

/// A host from which an agent may fetch pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FetchHost {
    /// The name, in lower case, or the address as a text without brackets.
    pub host: String,
    /// The port; `None`: that of the scheme.
    pub port: Option<u16>,
    /// True if it is spoken to without encryption, which only a host on this machine can be.
    pub is_plain: bool,
}

/// The reason why a text names no host from which pages may be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchHostError {
    #[error("`{0}` is no host: write its name, `docs.example.com`, or `HOST:PORT`")]
    Invalid(String),
    #[error("patterns are not allowed: list each host")]
    Pattern,
    #[error("only https is allowed, but for an address of this machine: leave `http://` out")]
    Plain,
}

impl FetchHost {
    /// Reads `HOST` or `HOST:PORT`, or the same after `http://` for this machine.
    pub fn parse(text: &str) -> Result<Self, FetchHostError> {
        let (is_plain, rest) = match text.strip_prefix("http://") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("https://").unwrap_or(text)),
        };
        let unfit = || FetchHostError::Invalid(text.to_owned());
        let (host, port) = split_port(rest).ok_or_else(unfit)?;
        let address = host.parse::<IpAddr>().ok();
        if address.is_none() && !is_name(host) {
            let is_pattern = host.contains('*');
            return Err(if is_pattern { FetchHostError::Pattern } else { unfit() });
        }
        let is_local = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        if is_plain && !is_local {
            return Err(FetchHostError::Plain);
        }
        Ok(Self { host: host.to_owned(), port, is_plain })
    }

    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

impl fmt::Display for FetchHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_plain { "http://" } else { "" };
        match self.host.parse::<Ipv6Addr>() {
            Ok(address) => write!(f, "{scheme}[{address}]")?,
            Err(_) => write!(f, "{scheme}{}", self.host)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Splits a host, without the brackets of an IPv6 address, from its port.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) if port.starts_with('+') => return None,
        Some(port) => Some(port.parse::<u16>().ok().filter(|port| *port > 0)?),
        None => None,
    };
    Some((host, port))
}

/// True for a name of DNS, in lower case; one in another script is written as `xn--…`. One whose last part is a number
/// is none: programs would read it as an address.
fn is_name(host: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_number = |label: &str| label.bytes().all(|c| c.is_ascii_digit()) || label.starts_with("0x");
    host.len() <= 253
        && host.split('.').all(is_label)
        && host.rsplit('.').next().is_some_and(|last| !is_number(last))
}

#[cfg(test)]
mod tests {
    use super::{FetchHost, FetchHostError};

    fn parsed(text: &str) -> (String, Option<u16>, bool) {
        let FetchHost { host, port, is_plain } = FetchHost::parse(text).unwrap();
        (host, port, is_plain)
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_perhaps_a_port() {
        assert_eq!(parsed("docs.example.com"), ("docs.example.com".into(), None, false));
        assert_eq!(parsed("https://docs.example.com:8443"), ("docs.example.com".into(), Some(8443), false));
        assert_eq!(parsed("http://127.0.0.1:80"), ("127.0.0.1".into(), Some(80), true));
        assert_eq!(parsed("[::1]:1"), ("::1".into(), Some(1), false));
        assert_eq!(parsed("10.1.2.3"), ("10.1.2.3".into(), None, false));
        for text in ["docs.example.com:8443", "http://localhost", "http://[::1]:9"] {
            assert_eq!(FetchHost::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn nothing_else_is_a_host() {
        for text in [
            "",
            "*",
            "*.example.com",
            "Example.com",
            "example.com/docs",
            "user@example.com",
            "example.com:",
            "a:0",
            "a:99999",
            "a:+1",
            "a_b",
            "-a.example",
            "1.2.3",
            "0x7f000001",
            "2130706433",
            "example.com.",
            "[::1",
            "[1.2.3.4]",
            "::1",
            "ftp://example.com",
            "http://example.com",
            "http://10.0.0.1",
            "äh.example",
            "a b",
        ] {
            assert!(FetchHost::parse(text).is_err(), "{text}");
        }
        assert!(matches!(FetchHost::parse("http://example.com"), Err(FetchHostError::Plain)));
        assert!(matches!(FetchHost::parse("*.example.com"), Err(FetchHostError::Pattern)));
    }
}
