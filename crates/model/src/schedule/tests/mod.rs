//! Tests of whole schedules.

mod exclusion;
mod laws;
