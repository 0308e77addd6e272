use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// An address at which it will not listen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// It is none.
    #[error(
        "`{0}` is not an address to listen at; write 127.0.0.1:PORT, [::1]:PORT or localhost:PORT"
    )]
    Unknown(String),
    /// Others could reach it.
    #[error(
        "`{0}` can be reached from other machines, and what is told there is for this one: listen at \
         127.0.0.1 or [::1], and let a proxy that knows who asks pass it on"
    )]
    Open(SocketAddr),
}

/// Reads an address to listen at; only this machine reaches it. Port 0: any that is free.
pub fn address(text: &str) -> Result<SocketAddr, BadAddress> {
    let local = text
        .strip_prefix("localhost:")
        .and_then(|port| port.parse().ok())
        .map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let parsed = local.map_or_else(|| text.parse(), Ok);
    let address: SocketAddr = parsed.map_err(|_| BadAddress::Unknown(text.to_owned()))?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(BadAddress::Open(address))
    }
}

/// Whether the value of a `Host` header, or the place in a request, names this machine.
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
    use super::{BadAddress, address, names_this_machine};

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
            assert!(matches!(address(text), Err(BadAddress::Open(_))), "{text}");
        }
        for text in [
            "",
            "9090",
            ":9090",
            "127.0.0.1",
            "localhost",
            "example.com:1",
            "::1:1",
        ] {
            assert!(
                matches!(address(text), Err(BadAddress::Unknown(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in [
            "localhost",
            "LocalHost:1",
            "127.0.0.1",
            "127.0.0.1:9090",
            "[::1]",
            "[::1]:5",
        ] {
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
