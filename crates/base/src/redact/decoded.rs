use base64ct::{Base64Unpadded, Encoding as _};

/// Returns the texts a secret encodes: a step that is given it in base64 decodes it, and may print that.
pub(super) fn decoded(secret: &str) -> Vec<String> {
    let all = [base64(secret), hex(secret), percent(secret), json(secret)];
    let readable = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
    let texts = all.into_iter().flatten().filter_map(readable);
    // What is no text is a chance hit: every word of the right length is base64.
    texts
        .filter(|text| text != secret && !text.contains(|c: char| c.is_control() && !c.is_whitespace()))
        .collect()
}

/// Decodes base64, also its variant for URLs, with line ends in it and without padding.
fn base64(text: &str) -> Option<Vec<u8>> {
    let dense: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let plain = dense.trim_end_matches('=').replace('-', "+").replace('_', "/");
    Base64Unpadded::decode_vec(&plain).ok()
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16)?.try_into().ok()).collect();
    let pairs = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(pairs.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}

fn percent(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.extend(hex(digits)?);
        bytes.extend(rest.as_bytes());
    }
    Some(bytes)
}

/// Reads the inside of a text of JSON.
fn json(text: &str) -> Option<Vec<u8>> {
    let read: Result<String, _> = serde_json::from_str(&format!("\"{text}\""));
    read.ok().map(String::into_bytes)
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn what_a_secret_encodes_is_found() {
        for (secret, text) in [
            ("aHVudGVyMi12ZXJ5LWxvbmctcHc=", "hunter2-very-long-pw"),
            ("aHVudGVyMi12\nZXJ5LWxvbmctcHc", "hunter2-very-long-pw"),
            ("w7_DvyDDvw", "\u{ff}\u{ff} \u{ff}"),
            ("68756E7465723221", "hunter2!"),
            ("tr0ub%26dor%c3%a9", "tr0ub&dor\u{e9}"),
            (r#"tr0ub\"4\u0026dor"#, "tr0ub\"4&dor"),
        ] {
            assert_eq!(decoded(secret), [text], "{secret}");
        }
        for secret in ["correct horse battery", "hunter2-very-long-pw", "100%", "a\"b", "0001"] {
            assert_eq!(decoded(secret), [] as [&str; 0], "{secret}");
        }
    }
}
