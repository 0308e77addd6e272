//! Runs with models, repeated offline: their models reply as they did, people answer as they did if
//! the user wants that, and the events are compared.
//!
//! **Invariant:** a replay works in a copy of the workspace with a state of its own: it changes no file, leaves no
//! run, and uses up no approval.

mod answers;
mod calibrations;
mod conversations;
mod events;
mod memory;
mod recording;
mod source;

pub use answers::AnswerRecording;
pub use calibrations::recorded_calibrations;
pub use conversations::recorded_conversations;
pub use events::recorded_events;
pub use memory::ReplayMemory;
pub use recording::write_recording;
pub use source::ReplaySource;
