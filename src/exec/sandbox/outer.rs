//! The stages, from their beginning to the start of the next.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::ExitCode;

use nix::sched::CloneFlags;
use nix::sys::signal::{SigSet, Signal};
use rustix::process::WaitOptions;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::inner;
use super::words::{ORDER, Order, WORD, Word};
use crate::exec::spawn;

/// The word that makes the stage the inner one.
const INNER: &str = "inner";

/// What the inner stage must be able to do until it gives it up.
const NEEDED: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::DAC_OVERRIDE);

/// Is a stage of a sandbox, if the command line says so.
pub fn stage(args: &[OsString]) -> Option<ExitCode> {
    if args.get(1)? != WORD {
        return None;
    }
    let done = match args.get(2) {
        None => outer(),
        Some(word) if word == INNER => inner::run(),
        Some(_) => return Some(ExitCode::FAILURE),
    };
    Some(if done.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Enters namespaces of its own, and starts the inner stage in them.
fn outer() -> io::Result<()> {
    let mut talk = Talk::open()?;
    talk.wait()?;
    let Order { sandbox, fed, .. } = order()?;
    if fed {
        // Nobody but who feeds it would end it: it has no keeper.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }
    let network = sandbox.network;
    // Whoever ends a tree asks all of it; the command is to end first.
    let mut held = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        held.add(signal);
    }
    held.thread_block()?;
    if let Err(why) = enter(network) {
        return talk.fail(&Word::unable(why));
    }
    let started = spawn::again(&["wf-sandbox", WORD, INNER]);
    match started {
        Ok(pid) => {
            rustix::process::waitpid(Some(pid), WaitOptions::empty())?;
            Ok(())
        }
        Err(error) => talk.fail(&Word::unable(format!(
            "cannot start its own stage: {error}"
        ))),
    }
}

/// Enters namespaces of its own: of users too, unless this process may do everything already and
/// namespaces of users are not to be had.
fn enter(network: bool) -> Result<(), String> {
    let mut spaces = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC;
    if !network {
        spaces |= CloneFlags::CLONE_NEWNET;
    }
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let entered = nix::sched::unshare(spaces | CloneFlags::CLONE_NEWUSER);
    match entered {
        Ok(()) => become_oneself(user.as_raw(), group.as_raw())
            .map_err(|error| format!("cannot name its user in a namespace of its own: {error}"))?,
        Err(_) if may_all() => {
            nix::sched::unshare(spaces).map_err(|error| refused(&error.into()))?;
        }
        Err(error) => return Err(refused(&error.into())),
    }
    keep_capabilities()
        .map_err(|error| format!("cannot keep its capabilities for a moment: {error}"))
}

fn may_all() -> bool {
    rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// The system's refusal, and what to do about it.
fn refused(error: &io::Error) -> String {
    let cause = match std::fs::read_to_string("/proc/sys/user/max_user_namespaces") {
        Ok(most) if most.trim() == "0" => {
            "namespaces of users are switched off (sysctl user.max_user_namespaces=0)".to_owned()
        }
        _ if apparmor_restricts() => {
            "AppArmor restricts namespaces of users (sysctl kernel.apparmor_restrict_unprivileged_userns)"
                .to_owned()
        }
        _ => format!("the system refuses new namespaces ({error})"),
    };
    format!(
        "there is no sandbox: {cause}; allow them, in a container with `--security-opt seccomp=unconfined` \
         or `--privileged`, or choose `sandbox: off` in wf.yaml"
    )
}

fn apparmor_restricts() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
        .is_ok_and(|value| value.trim() == "1")
}

/// The user inside is the user outside, and nobody else is known.
fn become_oneself(user: u32, group: u32) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Lets the inner stage have capabilities although it is a new program.
fn keep_capabilities() -> io::Result<()> {
    let now = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            inheritable: NEEDED,
            ..now
        },
    )?;
    for one in NEEDED.iter() {
        rustix::thread::configure_capability_in_ambient_set(one, true)?;
    }
    Ok(())
}

/// The socket to the keeper: standard input.
pub(super) struct Talk(File);

impl Talk {
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self(io::stdin().as_fd().try_clone_to_owned()?.into()))
    }

    /// Waits until the keeper says go.
    fn wait(&mut self) -> io::Result<()> {
        self.0.read_exact(&mut [0])
    }

    /// Tells the keeper something.
    pub(super) fn say(&mut self, word: &Word) -> io::Result<()> {
        let mut line = serde_json::to_vec(word)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }

    /// Tells the keeper why it cannot go on.
    pub(super) fn fail(&mut self, word: &Word) -> io::Result<()> {
        self.say(word)?;
        Err(io::ErrorKind::Other.into())
    }
}

/// Reads the order.
pub(super) fn order() -> io::Result<Order> {
    let text = std::fs::read(format!("/proc/self/fd/{ORDER}"))?;
    Ok(serde_json::from_slice(&text)?)
}
