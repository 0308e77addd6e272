/// Returns bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes of hexadecimal digits of either case; `None` if the text is anything else. The
/// caller checks the length.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    let byte = |pair: &[u32]| u8::try_from(pair.first()? * 16 + pair.get(1)?).ok();
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::{hex, unhex};

    #[test]
    fn digits_are_bytes_and_nothing_else_is() {
        assert_eq!(unhex("00fFa0"), Some(vec![0, 255, 160]));
        assert_eq!(unhex(""), Some(Vec::new()));
        for wrong in ["0", "0x", "+f", " 00", "é0", "00\n"] {
            assert_eq!(unhex(wrong), None, "{wrong:?}");
        }
        assert_eq!(hex(&[0, 255, 160]), "00ffa0");
    }
}
