//! The hands of the daemon: small pieces that wait, watch, and tell others.
//!
//! Each stands alone: none knows of goals, of the store or of another piece. What they are told
//! comes in as plain values; when to use them is for the daemon to decide.
//!
//! | piece | does | wakes up |
//! |---|---|---|
//! | [`alarm`] | waits for an instant of the wall clock | then, or when somebody sets the clock |
//! | [`watch`] | waits for a change of files | when there is one |
//! | [`systemd`] | tells the service manager how it goes; writes unit files | only if a watchdog was asked for |
//! | [`health`] | answers whoever asks how it goes, on this machine | when asked |
//! | [`notify`] | tells people of a change, by a command or a webhook | never by itself |
//!
//! **Invariant:** nothing here polls: without an event, none of it costs a processor anything.
//! **Invariant:** every wait may be dropped at any point, and nothing that it had learned is lost.

pub mod alarm;
pub mod health;
pub mod notify;
pub mod systemd;
pub mod watch;
