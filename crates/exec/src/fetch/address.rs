//! The addresses a page may come from: no private one, unless the plan names it literally.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use wf_model::FetchHost;

use super::error::FetchError;

/// Returns the addresses of a host that may be connected to: public ones, or those the plan names literally.
pub(super) fn reachable(host: &FetchHost, found: &[SocketAddr]) -> Result<Vec<SocketAddr>, FetchError> {
    let is_named = |address: &SocketAddr| match host.address() {
        Some(named) => named == address.ip(),
        None if host.host == "localhost" => address.ip().is_loopback(),
        None => is_public(address.ip()),
    };
    let kept: Vec<SocketAddr> = found.iter().copied().filter(is_named).collect();
    if kept.is_empty() {
        return Err(FetchError::NotPublic { host: host.host.clone(), found: found.to_vec() });
    }
    Ok(kept)
}

/// True for an address of the public internet: no private, local, shared, reserved or documentation one, nor one
/// leading to such a one.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        // This network, shared (RFC 6598), protocol assignments, relays, benchmarks, multicast and reserved.
        (0 | 224.., ..) | (100, 64..=127, _) | (192, 0, 0) | (192, 88, 99) | (198, 18..=19, _)
    );
    !is_special
        && !address.is_private()
        && !address.is_loopback()
        && !address.is_link_local()
        && !address.is_documentation()
}

/// Only global unicast is public, without documentation and what carries an IPv4 address.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let is_global = (0x2000..=0x3fff).contains(&a);
    let is_special = matches!((a, b), (0x2001, 0..=0x01ff | 0xdb8) | (0x2002 | 0x3fff, _));
    is_global && !is_special
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::{FetchError, is_public, reachable};
    use wf_model::FetchHost;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for public in
            ["1.1.1.1", "93.184.216.34", "100.63.0.1", "172.32.0.1", "2606:2800:220:1::1", "2a00::1"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for other in [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:1.1.1.1",
            "64:ff9b::7f00:1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(other.parse().unwrap()), "{other}");
        }
    }

    fn kept(host: &str, found: &[&str]) -> Result<Vec<String>, FetchError> {
        let addresses: Vec<SocketAddr> = found.iter().map(|address| address.parse().unwrap()).collect();
        let kept = reachable(&FetchHost::parse(host).unwrap(), &addresses)?;
        Ok(kept.iter().map(SocketAddr::to_string).collect())
    }

    #[test]
    fn a_name_leads_to_no_private_address() {
        let both = kept("docs.example.com", &["10.0.0.1:443", "1.1.1.1:443"]);
        assert_eq!(both.unwrap(), ["1.1.1.1:443"]);
        let told = kept("docs.example.com", &["127.0.0.1:443", "[::1]:443"]).unwrap_err().to_string();
        assert!(told.starts_with("`docs.example.com` has no public address (127.0.0.1, ::1)"), "{told}");
        assert!(kept("docs.example.com", &[]).is_err());
    }

    #[test]
    fn an_address_that_the_plan_names_is_reached_and_no_other() {
        assert_eq!(kept("10.0.0.1", &["10.0.0.1:443"]).unwrap(), ["10.0.0.1:443"]);
        assert!(kept("10.0.0.1", &["10.0.0.2:443"]).is_err());
        assert_eq!(kept("http://localhost:80", &["127.0.0.1:80", "10.0.0.1:80"]).unwrap(), ["127.0.0.1:80"]);
    }
}
