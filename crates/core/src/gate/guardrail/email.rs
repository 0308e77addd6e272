use super::detector::DetectorMatch;

/// The longest parts of an address (RFC 5321), in bytes.
const LOCAL: usize = 64;
const DOMAIN: usize = 253;

/// The endings of names reserved for examples and tests (RFC 2606, RFC 6761).
const RESERVED: [&str; 8] =
    ["example.com", "example.net", "example.org", "example", "invalid", "localhost", "test", "local"];

/// The endings of file names that contain an `@`.
const FILES: [&str; 18] = [
    "png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "css", "scss", "js", "mjs", "ts", "json",
    "html", "service", "tgz", "map",
];

/// Finds e-mail addresses.
pub(super) fn search(text: &str, found: &mut Vec<DetectorMatch>) {
    let mut after = 0;
    for (at, _) in text.match_indices('@') {
        let (before, rest) = (text.get(after..at), text.get(at + 1..));
        let (Some(before), Some(rest)) = (before, rest) else {
            continue;
        };
        let local = local(before);
        let domain = domain(rest);
        if local == 0 || domain == 0 {
            continue;
        }
        let (start, end) = (at - local, at + 1 + domain);
        if is_other(text, start, end) || is_spared(rest.get(..domain).unwrap_or_default()) {
            continue;
        }
        found.push(("an e-mail address", start..end));
        after = end;
    }
}

/// Returns the length of the part before the `@`, in bytes.
fn local(before: &str) -> usize {
    let of_it = |c: &char| c.is_alphanumeric() || "._%+-'".contains(*c);
    let long: usize = before.chars().rev().take(LOCAL + 1).take_while(of_it).map(char::len_utf8).sum();
    if long > LOCAL {
        return 0;
    }
    let part = before.get(before.len() - long..).unwrap_or_default();
    let part = part.trim_start_matches(['.', '\'', '-', '%', '+']);
    if part.ends_with('.') || part.contains("..") {
        return 0;
    }
    part.len()
}

/// Returns the length of the host name after the `@`, in bytes: at least two labels, the last of
/// letters.
fn domain(rest: &str) -> usize {
    let of_it = |c: &char| c.is_alphanumeric() || "-.".contains(*c);
    let long: usize = rest.chars().take(DOMAIN + 1).take_while(of_it).map(char::len_utf8).sum();
    let name = rest.get(..long).unwrap_or_default().trim_end_matches(['.', '-']);
    let Some((before, last)) = name.rsplit_once('.') else {
        return 0;
    };
    let labels = before.split('.');
    let good = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
    let letters =
        last.chars().all(char::is_alphabetic) && last.chars().count() >= 2 || last.starts_with("xn--");
    if name.len() <= DOMAIN && letters && labels.into_iter().all(good) { name.len() } else { 0 }
}

/// True if it is something else: a remote repository, or the user of a URL.
fn is_other(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    let mut after = text.get(end..).unwrap_or_default().chars();
    let path = after.next() == Some(':') && after.next().is_some_and(|c| !c.is_whitespace());
    let word = before.chars().rev().take(LOCAL).take_while(|c| !c.is_whitespace());
    let word: String = word.collect();
    let git = text.get(start..end).is_some_and(|all| all.starts_with("git@"));
    git || path || word.starts_with("//:") || word.starts_with(':') && word.contains("//:")
}

fn is_spared(domain: &str) -> bool {
    let domain = domain.to_ascii_lowercase();
    let below = |name: &str| {
        let rest = domain.strip_suffix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let end = domain.rsplit('.').next().unwrap_or_default();
    RESERVED.iter().any(|name| below(name)) || FILES.contains(&end)
}
