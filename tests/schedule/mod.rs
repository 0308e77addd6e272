//! When something is due: against the behaviour that others document, against another
//! implementation, and around every change of clocks there is.

mod oracle;
mod suites;
mod sweep;
