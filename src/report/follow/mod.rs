//! A run while it goes on.
//!
//! A [`Board`] folds events into [`News`]: what is worth telling, with what is known about it.
//! [`tell()`] turns news into text. The observers differ in where that text goes: [`Plain`]
//! writes line after line, [`Live`] keeps the running steps on view below, [`JsonLines`] writes
//! the events themselves, [`Actions`] adds what GitHub Actions shows beside the log.
//!
//! **Invariant:** what is kept is bounded by what runs at once, not by what has run.

mod actions;
mod board;
mod early;
mod ending;
mod held;
mod json;
mod live;
mod news;
mod next;
mod output;
mod plain;
mod several;
mod tail;
mod tell;
mod under_way;

pub use actions::Actions;
pub use board::Board;
pub use json::{EVENT_VERSION, EventLine, JsonLines};
pub use live::{Live, Screen};
pub use news::{Ending, News, RunEnding};
pub use next::Next;
pub use output::Lines;
pub use plain::Plain;
pub use several::Several;
pub use tail::Tail;
pub use tell::{Volume, final_line, tell};
