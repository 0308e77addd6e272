use crate::gate::guardrail::detector::DetectorMatch;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const PUTTY: &str = "PuTTY-User-Key-File-";

/// The maximum length of a key's label, in bytes.
const LABEL: usize = 40;

/// The minimum part of a key: less is text about keys.
const LEAST: usize = 40;

/// Finds private keys (RFC 7468, `OpenSSH`, `OpenPGP`) and those of `PuTTY`.
pub(super) fn search(text: &str, found: &mut Vec<DetectorMatch>) {
    let mut after = 0;
    for (at, _) in text.match_indices(BEGIN) {
        let body = at + BEGIN.len();
        let Some(rest) = text.get(body..).filter(|_| at >= after) else {
            continue;
        };
        let Some(label) = label(rest) else { continue };
        let inside = body + label.len() + 5;
        let end = end(text, inside);
        let key = text.get(inside..end).unwrap_or_default();
        let is_base64 = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        if key.chars().filter(is_base64).count() >= LEAST {
            found.push(("a private key", at..end));
            after = end;
        }
    }
    let Some(lines) = text.rfind("Private-Lines:") else {
        return;
    };
    let mut putty = text.match_indices(PUTTY);
    if let Some((at, _)) = putty.find(|(at, _)| *at < lines) {
        found.push(("a private key", at..text.len()));
    }
}

/// Returns the label of a private key.
fn label(rest: &str) -> Option<&str> {
    let near: usize = rest.chars().take(LABEL + 5).map(char::len_utf8).sum();
    let (label, _) = rest.get(..near)?.split_once("-----")?;
    let kind = label.strip_suffix(" BLOCK").unwrap_or(label);
    kind.ends_with("PRIVATE KEY").then_some(label)
}

/// Returns the end of a key: after its last line, or where other text follows.
fn end(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let of_it = |c: char| c.is_ascii_graphic() && c != '-' || c.is_ascii_whitespace();
    let mut long = rest.find(|c| !of_it(c)).unwrap_or(rest.len());
    // The headers of encrypted keys have hyphens.
    while let Some(tail) = rest.get(long..)
        && tail.starts_with('-')
        && !tail.starts_with("--")
    {
        let more = tail.get(1..).unwrap_or_default();
        long += 1 + more.find(|c| !of_it(c)).unwrap_or(more.len());
    }
    let tail = rest.get(long..).unwrap_or_default();
    let closing = tail.strip_prefix(END).and_then(|tail| {
        let near: usize = tail.chars().take(LABEL + 5).map(char::len_utf8).sum();
        tail.get(..near)?.find("-----")
    });
    start + long + closing.map_or(0, |label| END.len() + label + 5)
}
