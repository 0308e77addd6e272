//! The daemon's connections to the system: small parts for waiting, watching and notifying.
//!
//! Each stands alone: none knows of goals, of the store or of another part. Their input is plain values; the
//! daemon decides when to use them.
//!
//! | part | purpose | wakes up |
//! |---|---|---|
//! | [`alarm`] | waits for an instant of the wall clock | then, or when the clock is set |
//! | [`watch`] | waits for a change of files | when there is one |
//! | [`systemd`] | reports to the service manager; writes unit files | only if a watchdog was asked for |
//! | [`health`] | reports the daemon's health to clients on this machine | when asked |
//! | [`notify`] | sends notifications, by a command or a webhook | never by itself |
//!
//! **Invariant:** nothing here polls: without an event, none of it costs processor time.
//! **Invariant:** every wait may be dropped at any point without losing an event it saw.

pub mod alarm;
pub mod health;
pub mod notify;
pub mod systemd;
pub mod watch;
