//! A run as the store remembers it: lists, reports, explanations.
//!
//! A [`Record`] is everything that is known of one run, with the runs nested in it.

mod findings;
mod gaps;
mod held;
mod junit;
mod life;
mod looped;
#[expect(
    clippy::module_inception,
    reason = "the module is named after its type"
)]
mod record;
mod redone;
mod runs;
#[cfg(test)]
mod sample;
mod shaken;
mod show;
mod summary;
mod trust;
mod why;

pub use findings::{findings, hold};
pub use gaps::Trajectory;
pub use held::{Gating, Held, Question};
pub use junit::{Printed, junit};
pub use life::{Life, tell_life};
pub use looped::Looped;
pub use record::{Nested, RECORD_VERSION, Record};
pub use runs::runs;
pub use shaken::Shaken;
pub use show::show;
pub use summary::summary;
pub use trust::trust;
pub use why::{CacheStory, Why, why, why_json};
