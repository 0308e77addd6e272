//! Text that others wrote, on its way to people.
//!
//! Workers, checks, gates, planners, models and people write text that `wf` shows: output, evidence,
//! reasons, comments, titles, paths, keys of items. On a terminal such text can move the cursor, hide
//! what stands there, set the clipboard or turn the direction of writing; in a log it can look like
//! a line of `wf`; in GitHub Actions it can be a command.
//!
//! [`Untrusted`] is that text. What it displays is one line on which every character that does not
//! show, or that changes how others show, is a visible mark: `⟨U+001B⟩`. Its lines are asked for one by
//! one, so that whoever prints them puts something in front of each. The text as it is comes out only
//! by [`Untrusted::raw`].
//!
//! [`paint`] and [`styled()`] are the last line of defence, on the way of everything to a terminal. A style that
//! is painted stands behind a key that is drawn by lot for the process, and only such styles pass: any other
//! control becomes a mark, wherever it came from. [`styled_line`] keeps a part of a line from beginning
//! another one. [`json()`] does the same to documents, in escapes that leave their values as they are.
//!
//! Not here: what means something in Markdown, XML or a workflow command. Who writes those escapes it.

mod json;
mod marks;
mod printed;
mod styled;
mod text;

pub use json::json;
pub use marks::hides;
pub use styled::{paint, plain, rendered, styled, styled_line};
pub use text::{Untrusted, untrusted};
