use anstyle::{AnsiColor, Effects, Style};

/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default().effects(Effects::BOLD);
/// Failure.
pub const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
/// What deserves a second look.
pub const WARN: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
/// What may be overlooked.
pub const DIM: Style = Style::new().effects(Effects::DIMMED);
/// What must not be overlooked.
pub const BOLD: Style = Style::new().effects(Effects::BOLD);
/// The name of a thing that a command takes.
pub const NAME: Style = AnsiColor::Cyan.on_default();

/// Styles a text.
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// The text without any style.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::{BAD, paint, plain};

    #[test]
    fn styles_come_off_again() {
        let painted = paint(BAD, "failed");
        assert_ne!(painted, "failed");
        assert_eq!(plain(&painted), "failed");
    }
}
