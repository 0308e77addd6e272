use super::detector::DetectorMatch;

/// An issuer of payment cards, and the form of its numbers.
pub struct CardBrand {
    pub name: &'static str,
    /// The ranges of the first digits: from one to another, both of the same length.
    pub starts: &'static [(u32, u32)],
    /// The numbers of digits.
    pub lengths: &'static [usize],
}

const fn brand(name: &'static str, starts: &'static [(u32, u32)], lengths: &'static [usize]) -> CardBrand {
    CardBrand { name, starts, lengths }
}

/// The brands (ISO/IEC 7812; the issuers' published ranges).
pub const BRANDS: &[CardBrand] = &[
    brand("Visa", &[(4, 4)], &[13, 16, 19]),
    brand("Mastercard", &[(51, 55), (2221, 2720)], &[16]),
    brand("American Express", &[(34, 34), (37, 37)], &[15]),
    brand("Discover", &[(6011, 6011), (644, 649), (65, 65)], &[16, 19]),
    brand("JCB", &[(3528, 3589)], &[16, 19]),
    brand("Diners Club", &[(300, 305), (36, 36), (38, 39)], &[14]),
    brand("UnionPay", &[(62, 62)], &[16, 17, 18, 19]),
    brand(
        "Maestro",
        &[(5018, 5018), (5020, 5020), (5038, 5038), (5893, 5893), (6304, 6304), (6759, 6759), (6761, 6763)],
        &[16, 19],
    ),
];

/// The groupings of digits on cards.
const GROUPS: [&[usize]; 4] = [&[4, 4, 4, 4, 3], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4]];

/// Finds numbers of payment cards.
pub(super) fn search(text: &str, found: &mut Vec<DetectorMatch>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if !byte.is_ascii_digit() {
            at += 1;
            continue;
        }
        let end = run(bytes, at);
        if stands_alone(text, at, end) {
            in_run(at, bytes.get(at..end).unwrap_or_default(), found);
        }
        at = end;
    }
}

/// Finds numbers in a run of digits, which may continue with other numbers.
fn in_run(start: usize, run: &[u8], found: &mut Vec<DetectorMatch>) {
    let apart = |byte: &u8| !byte.is_ascii_digit();
    let groups: Vec<usize> = run.split(apart).map(<[u8]>::len).collect();
    let mut place = 0;
    let mut at = 0;
    while let Some(rest) = groups.get(at..).filter(|rest| !rest.is_empty()) {
        let whole: &[usize] = if groups.len() == 1 { &groups } else { &[] };
        let shapes = GROUPS.iter().copied().chain([whole]);
        let fits = |shape: &&[usize]| !shape.is_empty() && rest.starts_with(shape);
        let number = shapes.filter(fits).find_map(|shape| {
            let long = shape.iter().sum::<usize>() + shape.len() - 1;
            let brand = brand_of(run.get(place..place + long)?)?;
            Some((brand, long, shape.len()))
        });
        let (long, count) = match number {
            Some((brand, long, count)) => {
                found.push((brand, start + place..start + place + long));
                (long, count)
            }
            None => (rest.first().copied().unwrap_or(0), 1),
        };
        place += long + 1;
        at += count;
    }
}

/// Returns the issuer of a card number; `None`: it is not one.
fn brand_of(number: &[u8]) -> Option<&'static str> {
    let digits = number.iter().filter(|byte| byte.is_ascii_digit());
    let digits: Vec<u8> = digits.map(|byte| byte - b'0').collect();
    let varied = digits.iter().any(|digit| Some(digit) != digits.first());
    let brand = BRANDS.iter().find(|brand| brand.matches_number(&digits));
    brand.filter(|_| varied && luhn(&digits)).map(|brand| brand.name)
}

/// Returns the end of digits grouped by one kind of separator.
fn run(bytes: &[u8], start: usize) -> usize {
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = start;
    let mut separator = None;
    loop {
        while is_digit(at) {
            at += 1;
        }
        let next = bytes.get(at).copied();
        let one = next.filter(|byte| matches!(byte, b' ' | b'-') && is_digit(at + 1));
        match (separator, one) {
            (_, None) => return at,
            (Some(own), Some(one)) if own != one => return at,
            (_, one) => separator = one,
        }
        at += 1;
    }
}

/// True if a number stands alone, not as a part of something else.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).unwrap_or_default().chars().next_back();
    let mut after = text.get(end..).unwrap_or_default().chars();
    let joined = |c: char| c.is_alphanumeric() || "_.-+/\\".contains(c);
    let next = after.next();
    let decimal = matches!(next, Some('.' | ',')) && after.next().is_some_and(char::is_numeric);
    !before.is_some_and(joined)
        && !next.is_some_and(|c| c.is_alphanumeric() || "_-+/\\".contains(c))
        && !decimal
}

impl CardBrand {
    fn matches_number(&self, digits: &[u8]) -> bool {
        let begins = |&(low, high): &(u32, u32)| {
            let long = low.to_string().len();
            let first = digits.iter().take(long);
            let first = first.fold(0, |sum, digit| sum * 10 + u32::from(*digit));
            (low..=high).contains(&first)
        };
        self.lengths.contains(&digits.len()) && self.starts.iter().any(begins)
    }
}

/// True if the check digit is correct (ISO/IEC 7812-1, annex B).
fn luhn(digits: &[u8]) -> bool {
    let value = |(at, digit): (usize, &u8)| {
        let digit = u32::from(*digit);
        match at % 2 {
            0 => digit,
            _ if digit > 4 => digit * 2 - 9,
            _ => digit * 2,
        }
    };
    let sum: u32 = digits.iter().rev().enumerate().map(value).sum();
    sum.is_multiple_of(10)
}
