//! Text from untrusted authors, made safe to display.
//!
//! Workers, checks, gates, planners, models and users write text `wf` shows: output, evidence, reasons,
//! comments, titles, paths, keys of items. On a terminal such text can move the cursor, hide other text, set
//! the clipboard or reverse the writing direction; in a log it can look like a line of `wf`; in GitHub
//! Actions it can be a command.
//!
//! [`UntrustedText`] is that text. It displays as one line in which every character that is invisible, or
//! changes how others show, is a visible mark: `⟨U+001B⟩`. Its lines are asked for one by one, so the caller
//! prints a prefix before each. Only [`UntrustedText::raw`] returns the text as it is.
//!
//! [`paint()`] and [`styled()`] are the last line of defence before a terminal. A painted style follows a key
//! that is random for each process, and only such styles pass: any other control becomes a mark, wherever it
//! came from. [`styled_line`] keeps a part of a line from beginning another one. [`json()`] does the same to
//! documents, in escapes that leave their values as they are.
//!
//! Not here: escapes for Markdown, XML or workflow commands. The code that writes those escapes them.

mod marks;
mod styled;
mod text;

pub use marks::{BAD, BOLD, DIM, GOOD, NAME, WARN, hides};
pub use styled::{paint, plain, rendered, styled, styled_line};
pub use text::{UntrustedText, json, shell_word, untrusted};
