//! The findings of detectors, their exceptions, and the laws for every text.
//! Secrets are assembled here, so that no file of the project seems to contain one.

mod answers;
mod clean;
mod hidden;
mod injection;
mod laws;
mod personal;
mod secrets;
