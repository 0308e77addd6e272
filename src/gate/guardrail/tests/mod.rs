//! What detectors find, what they leave alone, and what holds of every text.
//! Secrets are put together here, so that no file of the project looks as if it had one.

mod answers;
mod clean;
mod hidden;
mod injection;
mod laws;
mod personal;
mod secrets;
