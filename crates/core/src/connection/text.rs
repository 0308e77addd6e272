/// The longest text a script may show, in bytes.
const LONGEST: usize = 2000;

/// The longest address.
const LONGEST_URL: usize = 4096;

/// Returns the reason why a text cannot be shown to the user; `None`: it can. Text that moves the
/// cursor, changes colours or reverses the writing direction can disguise itself.
pub(super) fn unfit(text: &str) -> Option<&'static str> {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.len() > LONGEST {
        return Some("is longer than 2000 bytes");
    }
    let bad = |c: char| c.is_control() && c != '\n' || turns(c);
    text.contains(bad).then_some("contains a control character")
}

/// Returns the reason why the user may not be sent to an address; `None`: it is safe. Only HTTPS,
/// or this machine.
pub(super) fn unsafe_url(url: &str) -> Option<&'static str> {
    if url.len() > LONGEST_URL {
        return Some("is longer than 4096 bytes");
    }
    if !url.chars().all(|c| c.is_ascii_graphic()) {
        return Some("contains a character that is not valid in a URL");
    }
    let host = |rest: &str| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default().to_owned()
    };
    if let Some(rest) = url.strip_prefix("https://") {
        let host = host(rest);
        return (host.is_empty() || host.contains(['@', '\\']))
            .then_some("has no host, or hides it behind a user name");
    }
    let local = url.strip_prefix("http://").map(host);
    let is_local = local.is_some_and(|host| is_loopback(&host));
    (!is_local).then_some("is neither https nor on this machine")
}

/// True if `HOST` or `HOST:PORT` is this machine.
pub(super) fn is_loopback(place: &str) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
        place.strip_prefix(name).is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{is_loopback, unfit, unsafe_url};

    #[test]
    fn only_plain_text_is_shown() {
        for text in ["", "Your key\nfrom the settings", "Schlüssel"] {
            assert_eq!(unfit(text), None, "{text}");
        }
        for text in ["\u{1b}[2J", "a\rb", "\u{202e}x", "\u{200f}", "\0"] {
            assert!(unfit(text).is_some(), "{text:?}");
        }
        assert!(unfit(&"x".repeat(2001)).is_some());
    }

    #[test]
    fn people_are_sent_to_safe_places_only() {
        for url in [
            "https://example.org/device",
            "https://example.org?x=1",
            "http://127.0.0.1:8080/x",
            "http://localhost/",
            "http://[::1]:1/",
        ] {
            assert_eq!(unsafe_url(url), None, "{url}");
        }
        for url in [
            "",
            "http://example.org",
            "http://127.0.0.1.evil.example/",
            "http://127.0.0.1@evil.example/",
            "http://localhost:x/",
            "https://",
            "https://good.example@evil.example/",
            "https://good.example\\@evil.example/",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://a b",
            "https://exämple.org",
        ] {
            assert!(unsafe_url(url).is_some(), "{url}");
        }
        assert!(is_loopback("127.0.0.1:5000") && !is_loopback("0.0.0.0:5000"));
    }
}
