//! The addresses of the site: where it listens, and by which name browsers reach it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A refused address of a site.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SiteAddressError {
    /// The text is no address to listen at.
    #[error("invalid listen address `{0}`; use 127.0.0.1:PORT, [::1]:PORT or localhost:PORT")]
    Unknown(String),
    /// Other machines could reach it, unencrypted.
    #[error(
        "`{0}` can be reached from other machines without encryption: listen on 127.0.0.1 or [::1], and let a proxy \
         with TLS pass requests on, whose address is the public one"
    )]
    Open(SocketAddr),
    /// The text is no address of a proxy.
    #[error("invalid public address `{0}`; use https://NAME or https://NAME:PORT, without a path")]
    NotPublic(String),
}

/// The address at which a site listens, and the one of the proxy before it, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteAddress {
    /// The address of this machine; port 0 is any free port.
    pub listen: SocketAddr,
    /// True if browsers reach it by the name `localhost`, for which they keep passkeys.
    is_named: bool,
    /// The name of this machine the workspace alone uses; a cookie for it is sent to no other service.
    own_name: Option<String>,
    /// The host of the proxy, with its port unless that is 443.
    public: Option<String>,
}

impl SiteAddress {
    /// Reads the address to listen at, and that of a proxy with TLS.
    pub fn parse(listen: &str, public: Option<&str>) -> Result<Self, SiteAddressError> {
        let local = listen.strip_prefix("localhost:").and_then(|port| port.parse().ok());
        let local = local.map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        let address = local.map_or_else(|| listen.parse(), Ok);
        let address: SocketAddr = address.map_err(|_| SiteAddressError::Unknown(listen.to_owned()))?;
        if !address.ip().is_loopback() {
            return Err(SiteAddressError::Open(address));
        }
        let public =
            public.map(|url| public_host(url).ok_or_else(|| SiteAddressError::NotPublic(url.to_owned())));
        Ok(Self { listen: address, is_named: local.is_some(), own_name: None, public: public.transpose()? })
    }

    /// Returns the same address with the port the system chose.
    #[must_use]
    pub fn at(self, listen: SocketAddr) -> Self {
        Self { listen, ..self }
    }

    /// True if a name below `localhost` may stand in its place.
    pub(crate) fn may_have_own_name(&self) -> bool {
        self.is_named && self.public.is_none()
    }

    /// Returns the same address with a name of its own, which leads to this machine.
    #[must_use]
    pub(crate) fn with_own_name(self, name: Option<String>) -> Self {
        Self { own_name: name, ..self }
    }

    /// Returns the beginning of every address of a page.
    pub fn origin(&self) -> String {
        match (&self.public, &self.own_name) {
            (Some(host), _) => format!("https://{host}"),
            (None, Some(name)) => format!("http://{name}:{}", self.listen.port()),
            (None, None) if self.is_named => format!("http://localhost:{}", self.listen.port()),
            (None, None) => format!("http://{}", self.listen),
        }
    }

    /// True if browsers reach it encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.public.is_some()
    }

    /// True if a `Host` header, or the authority of a request, names this site: its proxy, or this machine at its port.
    /// A name somebody else controls may lead here, too, and is refused.
    pub fn is_own_host(&self, host: &str) -> bool {
        if let Some(public) = &self.public {
            return host.eq_ignore_ascii_case(public);
        }
        let port = self.listen.port().to_string();
        let (name, written_port) = match host.rsplit_once(':') {
            Some((name, given)) if !given.contains(']') => (name, given),
            _ => (host, "80"),
        };
        let is_own_name = self.own_name.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name));
        let is_local = name.eq_ignore_ascii_case("localhost") || matches!(name, "127.0.0.1" | "[::1]");
        written_port == port && (is_own_name || is_local)
    }

    /// True if an `Origin` header names this site.
    pub fn is_own_origin(&self, origin: &str) -> bool {
        let scheme = if self.is_encrypted() { "https://" } else { "http://" };
        origin.strip_prefix(scheme).is_some_and(|host| self.is_own_host(host))
    }
}

/// Returns the host of an `https` address without a path.
fn public_host(url: &str) -> Option<String> {
    let host = url.strip_prefix("https://")?;
    let host = host.strip_suffix('/').unwrap_or(host);
    let (name, port) = host.rsplit_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    (is_name && is_port).then(|| host.strip_suffix(":443").unwrap_or(host).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{SiteAddress, SiteAddressError};

    #[test]
    fn only_this_machine_is_listened_at() {
        assert!(SiteAddress::parse("localhost:8420", None).is_ok());
        assert!(SiteAddress::parse("[::1]:0", None).is_ok());
        for open in ["0.0.0.0:1", "10.0.0.1:1", "[::]:1"] {
            assert!(matches!(SiteAddress::parse(open, None), Err(SiteAddressError::Open(_))), "{open}");
        }
        for unknown in ["", "8420", "example.org:1"] {
            assert!(
                matches!(SiteAddress::parse(unknown, None), Err(SiteAddressError::Unknown(_))),
                "{unknown}"
            );
        }
        for url in [
            "http://a.example",
            "https://",
            "https://a.example/x",
            "https://a@b",
            "https://a:b:1",
            "a.example",
        ] {
            let parsed = SiteAddress::parse("127.0.0.1:1", Some(url));
            assert!(matches!(parsed, Err(SiteAddressError::NotPublic(_))), "{url}");
        }
    }

    #[test]
    fn a_site_knows_its_own_names() {
        let local = SiteAddress::parse("127.0.0.1:8420", None).unwrap();
        for host in ["127.0.0.1:8420", "localhost:8420", "LOCALHOST:8420", "[::1]:8420"] {
            assert!(local.is_own_host(host), "{host}");
        }
        for host in ["evil.example:8420", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8420", ""] {
            assert!(!local.is_own_host(host), "{host}");
        }
        assert!(local.is_own_origin("http://localhost:8420"));
        assert!(!local.is_own_origin("https://localhost:8420"));
        assert!(!local.is_own_origin("null"));
        assert_eq!(local.origin(), "http://127.0.0.1:8420");
        let named = SiteAddress::parse("localhost:8420", None).unwrap();
        assert_eq!(named.origin(), "http://localhost:8420");
        assert!(!named.is_own_host("wf-1a2b.localhost:8420"));
        let own = named.with_own_name(Some("wf-1a2b.localhost".into()));
        assert_eq!(own.origin(), "http://wf-1a2b.localhost:8420");
        assert!(own.is_own_host("wf-1a2b.localhost:8420") && own.is_own_host("localhost:8420"));
        assert!(!own.is_own_host("wf-3c4d.localhost:8420") && !own.is_own_host("wf-1a2b.localhost:8421"));
        let public = SiteAddress::parse("127.0.0.1:8420", Some("https://wf.example.org:443/")).unwrap();
        assert_eq!(public.origin(), "https://wf.example.org");
        assert!(public.is_own_host("wf.example.org") && !public.is_own_host("127.0.0.1:8420"));
        assert!(public.is_own_origin("https://wf.example.org"));
    }
}
