use std::fmt::Write as _;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Returns the base64 digits depending on these bytes alone, at any position in a longer text.
pub(super) fn base64(bytes: &[u8]) -> Vec<String> {
    let all = (0..3).flat_map(|before| [BASE64, BASE64_FOR_URLS].map(|digits| (before, digits)));
    all.map(|(before, digits)| inner(bytes, before, 6, digits)).collect()
}

/// Returns the base32 digits depending on these bytes alone.
pub(super) fn base32(bytes: &[u8]) -> Vec<String> {
    (0..5).map(|before| inner(bytes, before, 5, BASE32)).collect()
}

/// Returns the digits of `bits` bits each to which no byte before or after contributes.
fn inner(bytes: &[u8], before: usize, bits: usize, digits: &[u8]) -> String {
    let first = (before * 8).div_ceil(bits);
    let end = (before + bytes.len()) * 8 / bits;
    let digit = |at: usize| {
        let bit = at * bits - before * 8;
        let byte = |at: usize| u16::from(bytes.get(at).copied().unwrap_or(0));
        let pair = (byte(bit / 8) << 8) | byte(bit / 8 + 1);
        let value = (pair >> (16 - bits - bit % 8)) & ((1 << bits) - 1);
        digits.get(usize::from(value)).copied().map_or('?', char::from)
    };
    (first..end).map(digit).collect()
}

/// Returns the bytes in hexadecimal, with a prefix before each and a separator between two.
pub(super) fn hex(bytes: &[u8], before: &str, between: &str) -> String {
    let mut text = String::with_capacity(bytes.len() * 3);
    for (at, byte) in bytes.iter().enumerate() {
        let between = if at == 0 { "" } else { between };
        let _ = write!(text, "{between}{before}{byte:02x}");
    }
    text
}

/// Encodes a text for URLs: letters, digits and `safe` characters stay.
pub(super) fn percent(text: &str, safe: &str, encode: impl Fn(u8) -> String) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || safe.as_bytes().contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&encode(byte));
        }
    }
    encoded
}
