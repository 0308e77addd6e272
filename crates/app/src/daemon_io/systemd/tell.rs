use std::{
    io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram},
    },
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

/// The longest time for the service manager to read a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection reporting the daemon's state to the service manager.
#[derive(Debug)]
pub struct SystemdNotifier {
    socket: Option<(UnixDatagram, SocketAddr)>,
}

impl SystemdNotifier {
    /// Takes the value of `NOTIFY_SOCKET`: an absolute path, or `@` and an abstract name. `None`: there is no
    /// service manager.
    pub fn new(socket: Option<&str>) -> io::Result<Self> {
        let Some(name) = socket.filter(|name| !name.is_empty()) else {
            return Ok(Self { socket: None });
        };
        let address = match name.strip_prefix('@') {
            Some(hidden) => SocketAddr::from_abstract_name(hidden.as_bytes())?,
            None if name.starts_with('/') => SocketAddr::from_pathname(name)?,
            None => {
                let reason =
                    format!("NOTIFY_SOCKET is `{name}`, neither an absolute path nor a name after `@`");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
            }
        };
        let own = UnixDatagram::unbound()?;
        own.set_write_timeout(Some(SEND_TIMEOUT))?;
        Ok(Self { socket: Some((own, address)) })
    }

    /// Reports that the daemon is up, or has reloaded its configuration.
    pub fn ready(&self, status: &str) -> io::Result<()> {
        self.send(&format!("READY=1\n{}", line(status)))
    }

    /// Reports the start of a reload; [`Self::ready`] ends it.
    pub fn reloading(&self) -> io::Result<()> {
        // The manager compares it with its own monotonic clock, so no other clock will do.
        let now = clock_gettime(ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"))
    }

    /// Reports the start of the shutdown.
    pub fn stopping(&self) -> io::Result<()> {
        self.send("STOPPING=1\n")
    }

    /// Sets the text for `systemctl status`.
    pub fn status(&self, status: &str) -> io::Result<()> {
        self.send(&line(status))
    }

    /// Sends a keep-alive.
    pub fn keep_alive(&self) -> io::Result<()> {
        self.send("WATCHDOG=1\n")
    }

    fn send(&self, message: &str) -> io::Result<()> {
        if let Some((own, address)) = &self.socket {
            own.send_to_addr(message.as_bytes(), address)?;
        }
        Ok(())
    }
}

fn line(status: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let status: String = status.chars().map(clean).collect();
    format!("STATUS={status}\n")
}

/// Returns the interval of keep-alives, by the values of `WATCHDOG_USEC` and `WATCHDOG_PID` and the id of
/// this process: half the time after which it would be taken for dead. `None`: there is no watchdog.
pub fn watchdog_interval(usec: Option<&str>, pid: Option<&str>, own: u32) -> Option<Duration> {
    if pid.is_some_and(|pid| pid.parse() != Ok(own)) {
        return None;
    }
    let usec: u64 = usec?.parse().ok()?;
    (usec >= 2).then(|| Duration::from_micros(usec / 2))
}

#[cfg(test)]
mod tests {
    use std::{
        os::{
            linux::net::SocketAddrExt as _,
            unix::net::{SocketAddr, UnixDatagram},
        },
        time::Duration,
    };

    use super::{SystemdNotifier, watchdog_interval};

    fn heard(socket: &UnixDatagram) -> String {
        let mut bytes = [0; 4096];
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    #[test]
    fn says_everything_by_path_and_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let by_path = UnixDatagram::bind(&path).unwrap();
        let name = format!("wf-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let by_name = UnixDatagram::bind_addr(&address).unwrap();
        for (socket, value) in [(by_path, path.display().to_string()), (by_name, format!("@{name}"))] {
            let tell = SystemdNotifier::new(Some(&value)).unwrap();
            tell.ready("2 goals\nREADY=0").unwrap();
            assert_eq!(heard(&socket), "READY=1\nSTATUS=2 goals READY=0\n");
            tell.stopping().unwrap();
            assert_eq!(heard(&socket), "STOPPING=1\n");
            tell.status("looks").unwrap();
            assert_eq!(heard(&socket), "STATUS=looks\n");
            tell.keep_alive().unwrap();
            assert_eq!(heard(&socket), "WATCHDOG=1\n");
            tell.reloading().unwrap();
            let first = heard(&socket);
            tell.reloading().unwrap();
            let micros = |text: &str| -> u64 {
                let value = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
                value.trim_end().parse().unwrap()
            };
            assert!(micros(&first) > 0 && micros(&heard(&socket)) >= micros(&first));
        }
    }

    #[test]
    fn without_a_socket_it_says_nothing() {
        for none in [None, Some("")] {
            SystemdNotifier::new(none).unwrap().ready("up").unwrap();
        }
        let error = SystemdNotifier::new(Some("relative")).unwrap_err().to_string();
        assert!(error.contains("`relative`"), "{error}");
        let notifier = SystemdNotifier::new(Some("/nonexistent/notify")).unwrap();
        assert!(notifier.ready("up").is_err());
    }

    #[test]
    fn a_sign_of_life_is_given_when_it_is_asked_of_us() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(watchdog_interval(Some("2000000"), None, 7), second);
        assert_eq!(watchdog_interval(Some("2000000"), Some("7"), 7), second);
        for (usec, pid) in [
            (Some("2000000"), Some("8")),
            (Some("2000000"), Some("x")),
            (Some("0"), None),
            (Some("-5"), None),
            (Some("soon"), None),
            (None, Some("7")),
        ] {
            assert_eq!(watchdog_interval(usec, pid, 7), None, "{usec:?} {pid:?}");
        }
    }
}
