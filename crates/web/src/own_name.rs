//! The names by which the pages of a workspace are told from those of another one, and from other services of this machine:
//! a host below `localhost`, and a cookie.

use std::time::Duration;

use crate::SiteAddress;
use wf_base::digest::Sha256Digest;

/// The longest wait for the system to say where a name leads.
const LOOKUP_TIME: Duration = Duration::from_secs(1);

/// The length of the part of a digest that is in a name.
const DIGITS: usize = 8;

/// Returns the name of the host of a workspace, if the system knows that it leads to this machine.
pub(crate) async fn find_own_name(workspace: Sha256Digest) -> Option<String> {
    let name = format!("wf-{}.localhost", workspace_digits(workspace));
    let lookup = tokio::net::lookup_host((name.as_str(), 0));
    let addresses: Vec<_> = tokio::time::timeout(LOOKUP_TIME, lookup).await.ok()?.ok()?.collect();
    let is_here = !addresses.is_empty() && addresses.iter().all(|address| address.ip().is_loopback());
    is_here.then_some(name)
}

/// Returns the name of the cookie with the key of a browser. Browsers send a cookie to all ports of a host, so each workspace
/// and port has its own; to them the prefix of an encrypted one means: from this very host.
pub(crate) fn cookie_name(address: &SiteAddress, workspace: Sha256Digest) -> String {
    let (digits, port) = (workspace_digits(workspace), address.listen.port());
    let prefix = if address.is_encrypted() { "__Host-" } else { "" };
    format!("{prefix}wf_login_{digits}_{port}")
}

fn workspace_digits(workspace: Sha256Digest) -> String {
    let mut digits = workspace.to_string();
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::cookie_name;
    use crate::SiteAddress;
    use wf_base::digest::Sha256Digest;

    #[test]
    fn each_workspace_and_port_has_a_cookie_of_its_own() {
        let name = |port: &str, public: Option<&str>, root: &str| {
            let address = SiteAddress::parse(&format!("localhost:{port}"), public).unwrap();
            cookie_name(&address, Sha256Digest::of_bytes(root.as_bytes()))
        };
        let one = name("8420", None, "/a");
        assert_eq!(one, name("8420", None, "/a"));
        assert_ne!(one, name("8421", None, "/a"));
        assert_ne!(one, name("8420", None, "/b"));
        assert!(name("8420", Some("https://wf.example"), "/a").starts_with("__Host-wf_login_"));
    }
}
