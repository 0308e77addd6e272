use serde::{Deserialize, Serialize};

/// An amount of money in whole millionths of a US dollar, so that sums are exact.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Money(u64);

/// The reason why a text is not an amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// It is not a number in decimal digits.
    #[error("an amount must be a number of dollars, such as 0.02")]
    NoNumber,
    /// It is below zero.
    #[error("an amount cannot be negative")]
    Negative,
    /// It exceeds [`Money::MOST`].
    #[error("an amount is at most 1000000000 dollars")]
    TooMuch,
    /// It has more than [`Money::LONGEST`] characters.
    #[error("an amount has at most 40 characters")]
    TooLong,
}

impl Money {
    /// The largest amount that can be written: a billion dollars.
    pub const MOST: u64 = 1_000_000_000_000_000;
    /// The longest text that is read, in characters.
    pub const LONGEST: usize = 40;

    /// Whole millionths of a dollar.
    pub const fn of_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Whole millionths of a dollar.
    pub fn micros(self) -> u64 {
        self.0
    }

    /// Adds both; saturates at the largest amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Takes one from the other; nothing is less than nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// True if it is zero.
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// Reads dollars as a document has them.
    pub fn from_dollars(dollars: f64) -> Result<Self, MoneyError> {
        Self::parse(&format!("{dollars:e}"))
    }

    /// Reads dollars as a decimal number: `2`, `0.02`, `1e-05`. Fractions of a millionth are
    /// rounded up, so no spending is lost.
    pub fn parse(text: &str) -> Result<Self, MoneyError> {
        if text.len() > Self::LONGEST {
            return Err(MoneyError::TooLong);
        }
        if let Some(rest) = text.strip_prefix('-') {
            return Self::parse(rest).and(Err(MoneyError::Negative));
        }
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().map_err(|_| MoneyError::NoNumber)?;
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{part}");
        if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(MoneyError::NoNumber);
        }
        let value: u128 = digits.parse().map_err(|_| MoneyError::TooLong)?;
        let places = i32::try_from(part.len()).unwrap_or(i32::MAX);
        let power = exponent.saturating_sub(places).saturating_add(6);
        let factor = 10_u128.checked_pow(power.unsigned_abs());
        let micros = match (factor, power >= 0) {
            _ if value == 0 => 0,
            (Some(factor), true) => value.checked_mul(factor).ok_or(MoneyError::TooMuch)?,
            (None, true) => return Err(MoneyError::TooMuch),
            (Some(factor), false) => value.div_ceil(factor),
            (None, false) => 1,
        };
        match u64::try_from(micros) {
            Ok(micros) if micros <= Self::MOST => Ok(Self(micros)),
            _ => Err(MoneyError::TooMuch),
        }
    }
}

/// Formats as `$0.40`, with more digits if cents are not exact.
impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (dollars, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if rest % 10_000 == 0 {
            return write!(f, "${dollars}.{:02}", rest / 10_000);
        }
        let digits = format!("{rest:06}");
        write!(f, "${dollars}.{}", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::{Money, MoneyError};
    use proptest::prelude::*;

    fn check(text: &str, expected: Result<u64, MoneyError>) {
        assert_eq!(Money::parse(text).map(Money::micros), expected, "{text}");
    }

    #[test]
    fn dollars_are_read_exactly() {
        for (text, micros) in [
            ("0", 0),
            ("-0", 0),
            ("2", 2_000_000),
            ("0.1", 100_000),
            ("0.020000", 20_000),
            ("1e-05", 10),
            ("2.5E2", 250_000_000),
            ("0.0000001", 1),
            ("1e-999999999", 1),
            ("0e999999999", 0),
            ("1000000000", Money::MOST),
        ] {
            let negative = text.starts_with('-');
            check(text, if negative { Err(MoneyError::Negative) } else { Ok(micros) });
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for (text, reason) in [
            ("", MoneyError::NoNumber),
            ("NaN", MoneyError::NoNumber),
            ("inf", MoneyError::NoNumber),
            ("-inf", MoneyError::NoNumber),
            ("$2", MoneyError::NoNumber),
            (".5", MoneyError::NoNumber),
            ("1,5", MoneyError::NoNumber),
            ("+1", MoneyError::NoNumber),
            ("1e", MoneyError::NoNumber),
            ("1e99999999999", MoneyError::NoNumber),
            ("-0.5", MoneyError::Negative),
            ("1000000000.0000001", MoneyError::TooMuch),
            ("1e40", MoneyError::TooMuch),
            ("1e999999999", MoneyError::TooMuch),
            (&"1".repeat(41), MoneyError::TooLong),
        ] {
            check(text, Err(reason));
        }
    }

    #[test]
    fn amounts_are_short() {
        let told = [0, 400_000, 2_000_000, 123, 1_050_000, 1_234_500];
        let told = told.map(|micros| Money::of_micros(micros).to_string());
        let expected = ["$0.00", "$0.40", "$2.00", "$0.000123", "$1.05", "$1.2345"];
        assert_eq!(told, expected);
    }

    proptest! {
        #[test]
        fn what_is_told_is_read_again(micros in 0..=Money::MOST) {
            let told = Money::of_micros(micros).to_string();
            prop_assert_eq!(Money::parse(told.trim_start_matches('$')), Ok(Money(micros)));
        }

        #[test]
        fn no_text_is_too_strange(text in "[-+0-9.eE]{0,45}|\\PC{0,20}") {
            let _ = Money::parse(&text);
        }
    }
}
