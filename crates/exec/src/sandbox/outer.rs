//! The stages, from the start of each to the start of the next.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::AsFd as _,
    process::ExitCode,
};

use nix::{
    sched::CloneFlags,
    sys::signal::{SigSet, Signal},
};
use rustix::{
    process::WaitOptions,
    thread::{CapabilitySet, CapabilitySets},
};

use wf_model::EngineFailure;

use super::{
    error::{NamespaceDenial, SandboxError},
    inner,
    messages::{ORDER_FD, SANDBOX_STAGE_ARG, SandboxOrder, StageMessage},
    port,
};
use crate::{processes::spawn, work_error::WorkError};

/// The argument selecting the inner stage.
const INNER_STAGE_ARG: &str = "inner";

/// The end of a refusal of the system: the remedy for what may run without a sandbox.
pub const OFF_REMEDY: &str = ", or set `sandbox: off` in wf.yaml";

/// The capabilities the inner stage needs until it gives them up.
const NEEDED_CAPABILITIES: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::DAC_OVERRIDE);

/// Runs a stage of a sandbox if the command line asks for one.
pub fn stage(args: &[OsString]) -> Option<ExitCode> {
    if args.get(1)? != SANDBOX_STAGE_ARG {
        return None;
    }
    let done = match args.get(2) {
        None => outer(),
        Some(word) if word == INNER_STAGE_ARG => inner::run_inner_stage(),
        Some(_) => return Some(ExitCode::FAILURE),
    };
    Some(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Enters namespaces of its own, and starts the inner stage in them.
fn outer() -> io::Result<()> {
    let mut talk = SupervisorSocket::open()?;
    talk.wait()?;
    let SandboxOrder { sandbox, fed, .. } = order()?;
    if fed {
        // Without a supervisor only the feeding process would end it.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }
    let network = sandbox.network;
    // A terminated tree is signalled as a whole; the command is to end first.
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block()?;
    if let Err(error) = enter(network) {
        return talk.fail(WorkError::engine(EngineFailure::Setup, error.to_string()));
    }
    if let Some(gateway) = sandbox.gateway.filter(|_| !network)
        && let Err(error) = port::send_listener(&gateway)
    {
        let reason = format!("cannot open the port of the gateway in the sandbox: {error}");
        return talk.fail(WorkError::engine(EngineFailure::Setup, reason));
    }
    let started = spawn::spawn_self(&["wf-sandbox", SANDBOX_STAGE_ARG, INNER_STAGE_ARG]);
    match started {
        Ok(pid) => {
            rustix::process::waitpid(Some(pid), WaitOptions::empty())?;
            Ok(())
        }
        Err(error) => {
            let reason = format!("cannot start the sandbox stage: {error}");
            talk.fail(WorkError::engine(EngineFailure::Setup, reason))
        }
    }
}

/// Enters separate namespaces: of users too, unless this process has all rights already and user
/// namespaces are not available.
fn enter(network: bool) -> Result<(), SandboxError> {
    let mut spaces = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC;
    if !network {
        spaces |= CloneFlags::CLONE_NEWNET;
    }
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let entered = nix::sched::unshare(spaces | CloneFlags::CLONE_NEWUSER);
    match entered {
        Ok(()) => become_oneself(user.as_raw(), group.as_raw())
            .map_err(|cause| SandboxError::Stage { tried: "map its user in its own namespace", cause })?,
        Err(_) if may_all() => {
            nix::sched::unshare(spaces).map_err(|error| denial(error.into()))?;
        }
        Err(error) => return Err(denial(error.into())),
    }
    keep_capabilities().map_err(|cause| SandboxError::Stage { tried: "keep its capabilities", cause })
}

fn may_all() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Finds the setting behind the system's refusal.
fn denial(error: io::Error) -> SandboxError {
    SandboxError::Namespaces(match std::fs::read_to_string("/proc/sys/user/max_user_namespaces") {
        Ok(most) if most.trim() == "0" => NamespaceDenial::Disabled,
        _ if apparmor_restricts() => NamespaceDenial::AppArmor,
        _ => NamespaceDenial::Unknown(error),
    })
}

fn apparmor_restricts() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
        .is_ok_and(|value| value.trim() == "1")
}

/// Maps the user inside to the user outside, and no other user.
fn become_oneself(user: u32, group: u32) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Lets the inner stage keep capabilities although it executes a program anew.
fn keep_capabilities() -> io::Result<()> {
    let now = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(None, CapabilitySets { inheritable: NEEDED_CAPABILITIES, ..now })?;
    for capability in NEEDED_CAPABILITIES.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// The socket to the supervisor: standard input.
pub(super) struct SupervisorSocket(File);

impl SupervisorSocket {
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self(io::stdin().as_fd().try_clone_to_owned()?.into()))
    }

    /// Waits for the go-ahead of the supervisor.
    fn wait(&mut self) -> io::Result<()> {
        self.0.read_exact(&mut [0])
    }

    /// Sends a message to the supervisor.
    pub(super) fn send_message(&mut self, message: &StageMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }

    /// Reports to the supervisor why it cannot continue.
    pub(super) fn fail(&mut self, error: WorkError) -> io::Result<()> {
        self.send_message(&StageMessage::Exit(error.into()))?;
        Err(io::ErrorKind::Other.into())
    }
}

pub(super) fn order() -> io::Result<SandboxOrder> {
    let text = std::fs::read(format!("/proc/self/fd/{ORDER_FD}"))?;
    Ok(serde_json::from_slice(&text)?)
}
