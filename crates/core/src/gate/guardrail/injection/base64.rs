use std::ops::Range;

/// The minimum length of base64 to be decoded, and the maximum decoded, in bytes.
const LEAST: usize = 32;
const MOST: usize = 64 * 1024;

/// Returns the texts in the base64 of a text, with their ranges; the beginning of long ones.
pub(super) fn texts(text: &str) -> Vec<(Range<usize>, String)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = run(bytes, at);
        let signs = bytes.get(at..end).unwrap_or_default();
        if signs.len() >= LEAST
            && let Some(inner) = decoded(signs.get(..signs.len().min(MOST)).unwrap_or_default())
        {
            found.push((at..end, inner));
        }
        at = end.max(at) + 1;
    }
    found
}

/// Returns the end of a run of base64 characters, which may be broken into long lines.
fn run(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut line = start;
    loop {
        while bytes.get(at).is_some_and(|byte| sign(*byte).is_some()) {
            at += 1;
        }
        let long = at - line >= 60;
        let next = if bytes.get(at) == Some(&b'\r') { at + 1 } else { at };
        let goes_on =
            bytes.get(next) == Some(&b'\n') && bytes.get(next + 1).is_some_and(|byte| sign(*byte).is_some());
        if !(long && goes_on) {
            return at;
        }
        at = next + 1;
        line = at;
    }
}

fn sign(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Decodes base64 or base64url; `None`: it is not text.
fn decoded(signs: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(signs.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0_u32, 0);
    for value in signs.iter().filter_map(|byte| sign(*byte)) {
        bits = (bits << 6 | value) & 0xFF_FFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xFF).ok()?);
        }
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // It may have been cut within a character.
        Err(error) if error.utf8_error().valid_up_to() + 4 > error.as_bytes().len() => {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
        Err(_) => return None,
    };
    let is_odd = |c: &char| c.is_control() && !c.is_whitespace();
    (!text.chars().any(|c| is_odd(&c))).then_some(text)
}
