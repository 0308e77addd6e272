//! Runs with models, repeated offline: their models reply as they did, and the events are compared.
//!
//! **Invariant:** a replay works in a copy of the workspace with a state of its own: it changes no file, leaves no
//! run, and uses up no approval.

mod calibrations;
mod events;
mod recording;
mod sessions;
mod source;

pub use calibrations::recorded_calibrations;
pub use events::recorded_events;
pub use recording::write_recording;
pub use sessions::recorded_sessions;
pub use source::ReplaySource;
