use crate::inspect::tables::WordList;

/// The hosts of the installers of well-known tools, or a path prefix on a host shared by
/// many publishers.
static PUBLISHERS: WordList = WordList::from_table(include_str!("../tables/words/publishers.txt"));

/// Returns the host and path of an address, without a part before an `@` and without a port.
fn place(address: &str) -> Option<String> {
    let rest = address.split_once("://").map(|(_, rest)| rest)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = host.split(':').next().unwrap_or(host);
    Some(format!("{host}/{path}").to_ascii_lowercase())
}

pub(in crate::inspect) fn host(address: &str) -> Option<String> {
    place(address)?.split('/').next().map(str::to_owned)
}

/// True if an address is that of a well-known publisher, over an authenticated connection.
pub(in crate::inspect) fn is_publisher(address: &str) -> bool {
    let is_checked = address.get(..8).is_some_and(|head| head.eq_ignore_ascii_case("https://"));
    let place = place(address).unwrap_or_default();
    is_checked && PUBLISHERS.iter().any(|publisher| place.starts_with(publisher))
}

/// True if there are addresses, all of them of well-known publishers.
pub(super) fn is_published(addresses: &[&str]) -> bool {
    !addresses.is_empty() && addresses.iter().all(|address| is_publisher(address))
}

pub(in crate::inspect) fn addresses(text: &str) -> Vec<&str> {
    let ends = |c: char| c.is_whitespace() || "\"'`)>]}|;,".contains(c);
    let starts = text.match_indices("://").map(|(at, _)| at);
    let addresses = starts.filter_map(|at| {
        let head = text.get(..at)?;
        let scheme = head.len() - head.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
        let rest = text.get(scheme..)?;
        rest.get(..rest.find(ends).unwrap_or(rest.len()))
    });
    addresses.filter(|address| address.to_ascii_lowercase().starts_with("http")).collect()
}

#[cfg(test)]
mod tests {
    use super::{addresses, is_publisher};

    #[test]
    fn a_publisher_is_a_host_and_no_part_of_another() {
        assert!(is_publisher("https://sh.rustup.rs"));
        assert!(is_publisher("https://astral.sh/uv/install.sh"));
        for other in [
            "http://sh.rustup.rs",
            "https://sh.rustup.rs.evil.io/x",
            "https://sh.rustup.rs@evil.io/x",
            "https://evil.io/sh.rustup.rs/",
            "https://raw.githubusercontent.com/somebody/nvm-sh/x",
        ] {
            assert!(!is_publisher(other), "{other}");
        }
        let found = addresses("see [it](https://a.b/c), `http://d.e` or ftp://f.g");
        assert_eq!(found, ["https://a.b/c", "http://d.e"]);
    }
}
