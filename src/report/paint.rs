use anstyle::{AnsiColor, Effects, Style};

pub use crate::untrusted::{paint, plain};

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
