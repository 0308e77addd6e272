//! The interface to systemd, without its library: `sd_notify(3)` and `systemd.service(5)`.
//!
//! The protocol is a datagram of lines `NAME=value` to the socket that `NOTIFY_SOCKET` names.
//! Nothing here reads the environment; without a socket, reports do nothing.
//!
//! **Invariant:** a daemon without a watchdog is not woken up: only `WATCHDOG_USEC` asks for a regular
//! keep-alive. The caller sends it from the loop that does the work, so that a loop that hangs sends none.

mod tell;
mod unit;

pub use tell::{SystemdNotifier, watchdog_interval};
pub use unit::{ServiceOwner, UnitFile, UnitFileError};
