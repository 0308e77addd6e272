use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// An address at which the endpoint refuses to listen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HealthAddressError {
    /// The text is not an address.
    #[error("invalid listen address `{0}`; use 127.0.0.1:PORT, [::1]:PORT or localhost:PORT")]
    Unknown(String),
    /// Other machines could reach it.
    #[error(
        "`{0}` can be reached from other machines, but the endpoint has no authentication: listen \
         on 127.0.0.1 or [::1], behind a proxy that authenticates"
    )]
    Open(SocketAddr),
}

/// Reads a loopback address to listen at. Port 0: any free port.
pub fn address(text: &str) -> Result<SocketAddr, HealthAddressError> {
    let local = text
        .strip_prefix("localhost:")
        .and_then(|port| port.parse().ok())
        .map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let parsed = local.map_or_else(|| text.parse(), Ok);
    let address: SocketAddr = parsed.map_err(|_| HealthAddressError::Unknown(text.to_owned()))?;
    if address.ip().is_loopback() { Ok(address) } else { Err(HealthAddressError::Open(address)) }
}

/// True if the value of a `Host` header, or the authority in a request, names this machine.
pub(super) fn names_this_machine(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, "0"),
    };
    let number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    number && (name.eq_ignore_ascii_case("localhost") || matches!(name, "127.0.0.1" | "[::1]"))
}

#[cfg(test)]
mod tests {
    use super::{HealthAddressError, address, names_this_machine};

    #[test]
    fn only_this_machine_can_be_listened_at() {
        for (text, is) in [
            ("127.0.0.1:9090", "127.0.0.1:9090"),
            ("localhost:0", "127.0.0.1:0"),
            ("[::1]:80", "[::1]:80"),
            ("127.8.8.8:1", "127.8.8.8:1"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), is);
        }
        for text in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:127.0.0.1]:1"] {
            assert!(matches!(address(text), Err(HealthAddressError::Open(_))), "{text}");
        }
        for text in ["", "9090", ":9090", "127.0.0.1", "localhost", "example.com:1", "::1:1"] {
            assert!(matches!(address(text), Err(HealthAddressError::Unknown(_))), "{text}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in ["localhost", "LocalHost:1", "127.0.0.1", "127.0.0.1:9090", "[::1]", "[::1]:5"] {
            assert!(names_this_machine(host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "localhost.example.com",
            "127.0.0.1.nip.io:80",
            "127.0.0.1:",
            "[::1]x",
            "localhost:80:80",
            "a@localhost",
            "127.0.0.1:8x",
            "::1",
            "localhost ",
        ] {
            assert!(!names_this_machine(host), "{host}");
        }
    }
}
