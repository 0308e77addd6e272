use super::detector::DetectorMatch;

/// The countries with IBANs, and their lengths (the registry of ISO 13616).
pub const COUNTRIES: &[(&str, usize)] = &[
    ("AD", 24),
    ("AE", 23),
    ("AL", 28),
    ("AT", 20),
    ("AZ", 28),
    ("BA", 20),
    ("BE", 16),
    ("BG", 22),
    ("BH", 22),
    ("BI", 27),
    ("BR", 29),
    ("BY", 28),
    ("CH", 21),
    ("CR", 22),
    ("CY", 28),
    ("CZ", 24),
    ("DE", 22),
    ("DJ", 27),
    ("DK", 18),
    ("DO", 28),
    ("EE", 20),
    ("EG", 29),
    ("ES", 24),
    ("FI", 18),
    ("FK", 18),
    ("FO", 18),
    ("FR", 27),
    ("GB", 22),
    ("GE", 22),
    ("GI", 23),
    ("GL", 18),
    ("GR", 27),
    ("GT", 28),
    ("HN", 28),
    ("HR", 21),
    ("HU", 28),
    ("IE", 22),
    ("IL", 23),
    ("IQ", 23),
    ("IS", 26),
    ("IT", 27),
    ("JO", 30),
    ("KW", 30),
    ("KZ", 20),
    ("LB", 28),
    ("LC", 32),
    ("LI", 21),
    ("LT", 20),
    ("LU", 20),
    ("LV", 21),
    ("LY", 25),
    ("MC", 27),
    ("MD", 24),
    ("ME", 22),
    ("MK", 19),
    ("MN", 20),
    ("MR", 27),
    ("MT", 31),
    ("MU", 30),
    ("NI", 28),
    ("NL", 18),
    ("NO", 15),
    ("OM", 23),
    ("PK", 24),
    ("PL", 28),
    ("PS", 29),
    ("PT", 25),
    ("QA", 29),
    ("RO", 24),
    ("RS", 22),
    ("RU", 33),
    ("SA", 24),
    ("SC", 31),
    ("SD", 18),
    ("SE", 24),
    ("SI", 19),
    ("SK", 24),
    ("SM", 27),
    ("SO", 23),
    ("ST", 25),
    ("SV", 28),
    ("TL", 23),
    ("TN", 24),
    ("TR", 26),
    ("UA", 29),
    ("VA", 22),
    ("VG", 24),
    ("XK", 20),
    ("YE", 30),
];

/// Finds IBANs.
pub(super) fn search(text: &str, found: &mut Vec<DetectorMatch>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + 4) {
        let begins =
            head.iter().take(2).all(u8::is_ascii_uppercase) && head.iter().skip(2).all(u8::is_ascii_digit);
        let free =
            text.get(..at).is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        match begins.then(|| number(text, at)).flatten() {
            Some(end) if free => {
                found.push(("a bank account", at..end));
                at = end;
            }
            _ => at += 1,
        }
    }
}

/// Returns the end of an IBAN that begins here.
fn number(text: &str, start: usize) -> Option<usize> {
    let country = text.get(start..start + 2)?;
    let (_, long) = COUNTRIES.iter().find(|(name, _)| *name == country)?;
    let mut digits = String::with_capacity(*long);
    let mut end = start;
    for (at, c) in text.get(start..)?.char_indices() {
        if digits.len() == *long {
            break;
        }
        if c.is_ascii_uppercase() || c.is_ascii_digit() {
            digits.push(c);
            end = start + at + 1;
        } else if c != ' ' || !digits.len().is_multiple_of(4) || end != start + at {
            return None;
        }
    }
    let next = text.get(end..)?.chars().next();
    let free = !next.is_some_and(|c| c.is_alphanumeric() || c == '_');
    (digits.len() == *long && free && is_right(&digits)).then_some(end)
}

/// True if the check digits are correct (ISO 7064, modulo 97).
fn is_right(number: &str) -> bool {
    let (head, rest) = number.split_at(4);
    let mut sum = 0;
    for c in rest.chars().chain(head.chars()) {
        let value = c.to_digit(36).unwrap_or(0);
        sum = (sum * if value > 9 { 100 } else { 10 } + value) % 97;
    }
    sum == 1
}
