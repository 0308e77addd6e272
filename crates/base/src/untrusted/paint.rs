use anstyle::{AnsiColor, Effects, Style};

/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default().effects(Effects::BOLD);
/// Failure.
pub const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
/// Warnings.
pub const WARN: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
/// Secondary text.
pub const DIM: Style = Style::new().effects(Effects::DIMMED);
/// Important text.
pub const BOLD: Style = Style::new().effects(Effects::BOLD);
/// The name of something that commands accept.
pub const NAME: Style = AnsiColor::Cyan.on_default();
