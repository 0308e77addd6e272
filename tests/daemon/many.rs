//! Many goals at once, and a daemon that cannot go on: it hangs never, or is seen to.

use std::{
    os::unix::net::UnixDatagram,
    process::Stdio,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use super::{Daemon, EACH_SECOND, count, goal, place, soon};
use crate::support::{Did, Sandbox};

/// More writes than tokio lets a task do in one turn, which is 128.
const MANY: usize = 150;

fn many(front: &str) -> Sandbox {
    let sandbox = place();
    for number in 0..MANY {
        let text = format!(
            "---\nkind: goal\nid: goal-{number}\ntimezone: UTC\n{front}\
             verify: [{{name: ok, run: \"true\"}}]\n---\n"
        );
        sandbox.file(&format!("goals/goal-{number}.md"), text);
    }
    sandbox
}

/// One look at an instant; it ends.
#[track_caller]
fn once(sandbox: &Sandbox, now: &str) {
    let mut command = sandbox.command(&["daemon", "--once", "-q"]);
    command.env("WF_NOW", now).stdout(Stdio::null());
    let child = command.spawn().unwrap();
    let workspace = sandbox.path().to_owned();
    let mut daemon = Daemon { child, workspace };
    let mut ended = None;
    soon("it ends", || {
        ended = daemon.child.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
}

#[test]
fn any_number_of_goals_is_taken_up_and_accounted_for_in_one_look() {
    let sandbox = many("schedule: \"0 9 * * *\"\nmissed: {run: none}\n");
    once(&sandbox, "2026-03-02T08:00:00Z");
    let goals = i64::try_from(MANY).unwrap();
    assert_eq!(count(&sandbox, "SELECT count(*) FROM goals"), goals);
    // All of them are due at once, and each says so in the ledger.
    once(&sandbox, "2026-03-02T11:00:00Z");
    let missed = "SELECT count(*) FROM slots WHERE state = 'missed'";
    assert_eq!(count(&sandbox, missed), goals);
}

#[test]
fn a_daemon_with_many_goals_ends_when_it_is_told_to() {
    let sandbox = many("schedule: \"0 9 * * *\"\n");
    let daemon = Daemon::start(&sandbox, &["-q"]);
    let goals = i64::try_from(MANY).unwrap();
    let sql = "SELECT count(*) FROM goals";
    soon("it looks at all", || count(&sandbox, sql) == goals);
    daemon.ends();
}

/// What a service manager hears.
struct Manager(UnixDatagram);

impl Manager {
    fn new(sandbox: &Sandbox) -> Self {
        let socket = UnixDatagram::bind(sandbox.at("notify")).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        Self(socket)
    }

    /// Starts a daemon that is to say every 0.2 s that it lives.
    fn start(sandbox: &Sandbox, args: &[&str]) -> Daemon {
        let mut command = sandbox.command(&["daemon", "-q"]);
        command.args(args).stdout(Stdio::null());
        command.env("NOTIFY_SOCKET", sandbox.at("notify"));
        command.env("WATCHDOG_USEC", "400000");
        let child = command.spawn().unwrap();
        let workspace = sandbox.path().to_owned();
        Daemon { child, workspace }
    }

    /// How often it heard that somebody lives, in a while.
    #[expect(clippy::disallowed_methods, reason = "this measures")]
    fn beats(&self, time: Duration) -> usize {
        let (end, mut bytes, mut beats) = (Instant::now() + time, [0; 4096], 0);
        while Instant::now() < end {
            if let Ok(length) = self.0.recv(&mut bytes) {
                beats += usize::from(&bytes[..length] == b"WATCHDOG=1\n");
            }
        }
        beats
    }

    #[track_caller]
    fn beats_soon(&self) {
        soon("it says that it lives", || self.beats(Duration::from_secs(1)) > 1);
    }
}

#[test]
fn who_watches_over_a_daemon_hears_nothing_while_it_makes_no_progress() {
    let sandbox = place();
    let front = format!("{EACH_SECOND}verify: [{{name: ok, run: \"true\"}}]\n");
    goal(&sandbox, &front);
    let manager = Manager::new(&sandbox);
    let daemon = Manager::start(&sandbox, &[]);
    manager.beats_soon();
    soon("it works", || count(&sandbox, "SELECT count(*) FROM reconciliations") > 0);
    let database = sandbox.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The next look cannot be written down: whoever waits for that does not live.
    soon("it waits for the database", || manager.beats(Duration::from_secs(2)) == 0);
    database.execute_batch("ROLLBACK").unwrap();
    manager.beats_soon();
    daemon.ends();
}

#[test]
fn a_daemon_that_stands_by_lives_and_ends_when_it_is_told_to() {
    let sandbox = place();
    let front = "schedule: \"0 9 1 1 *\"\nverify: [{name: ok, run: \"true\"}]\n";
    goal(&sandbox, front);
    let first = Daemon::start(&sandbox, &["-q"]);
    soon("it leads", || count(&sandbox, "SELECT count(*) FROM daemon_leases") > 0);
    let manager = Manager::new(&sandbox);
    let second = Manager::start(&sandbox, &["--standby"]);
    manager.beats_soon();
    second.ends();
    first.ends();
}

#[test]
fn a_daemon_that_waits_for_the_database_is_told_to_end_all_the_same() {
    let sandbox = place();
    let front = format!("{EACH_SECOND}verify: [{{name: ok, run: \"true\"}}]\n");
    goal(&sandbox, &front);
    let manager = Manager::new(&sandbox);
    let mut daemon = Manager::start(&sandbox, &["--drain", "1s"]);
    soon("it works", || count(&sandbox, "SELECT count(*) FROM reconciliations") > 0);
    let database = sandbox.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    soon("it waits for the database", || manager.beats(Duration::from_secs(2)) == 0);
    daemon.signal(Signal::TERM);
    // A second for cycles, and little more for what it still has to write: the database is patient for 20.
    assert!(ends_within(&mut daemon, Duration::from_secs(8)));
    database.execute_batch("ROLLBACK").unwrap();
    drop(database);
    // What was not written is decided by the next one.
    let begun = || count(&sandbox, "SELECT count(*) FROM reconciliations");
    let (before, next) = (begun(), Daemon::start(&sandbox, &["-q"]));
    soon("the next one goes on", || begun() > before);
    next.ends();
}

#[test]
fn a_daemon_that_cannot_lead_yet_since_the_database_is_held_is_told_to_end() {
    let sandbox = place();
    goal(&sandbox, "schedule: \"0 9 1 1 *\"\nverify: [{name: ok, run: \"true\"}]\n");
    let first = Daemon::start(&sandbox, &["-q"]);
    soon("it leads", || count(&sandbox, "SELECT count(*) FROM daemon_leases") > 0);
    first.ends();
    let database = sandbox.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut second = Daemon::start(&sandbox, &["-q"]);
    std::thread::sleep(Duration::from_secs(2));
    assert!(second.child.try_wait().unwrap().is_none(), "it waits");
    second.signal(Signal::TERM);
    assert!(ends_within(&mut second, Duration::from_secs(8)));
    assert_eq!(second.child.wait().unwrap().code(), Some(0));
    database.execute_batch("ROLLBACK").unwrap();
}

/// Whether a daemon ends in this time.
fn ends_within(daemon: &mut Daemon, time: Duration) -> bool {
    const LOOK: Duration = Duration::from_millis(50);
    let looks = time.as_millis() / LOOK.as_millis();
    (0..looks).any(|_| {
        std::thread::sleep(LOOK);
        daemon.child.try_wait().unwrap().is_some()
    })
}

/// The unit starts a daemon again that another one kept from leading, and one that hangs.
#[test]
fn the_unit_starts_again_who_was_refused() {
    let sandbox = place();
    goal(&sandbox, "schedule: \"0 9 1 1 *\"\nverify: [{name: ok, run: \"true\"}]\n");
    let first = Daemon::start(&sandbox, &["-q"]);
    soon("it leads", || count(&sandbox, "SELECT count(*) FROM daemon_leases") > 0);
    let refused = Did::of(&mut sandbox.command(&["daemon"]));
    let code = refused.exits(6).says("another daemon is active").code;
    let unit = sandbox.wf(&["daemon", "--unit", "user"]).exits(0).out;
    let line = |key: &str| {
        let mut lines = unit.lines().filter_map(|line| line.strip_prefix(key));
        lines.next().expect("the unit says that").to_owned()
    };
    let never = line("RestartPreventExitStatus=");
    let code = code.unwrap().to_string();
    assert!(never.split(' ').all(|other| other != code), "{never}");
    assert_eq!(line("Restart="), "on-failure");
    assert_eq!(line("StartLimitIntervalSec="), "0");
    assert!(!line("WatchdogSec=").is_empty());
    first.ends();
}
