//! The inner stage: process 1 of its namespace.

use std::{
    io,
    os::{fd::OwnedFd, unix::process::ExitStatusExt as _},
    path::Path,
    process::ExitStatus,
};

use nix::sys::signal::{SigSet, Signal};
use rustix::{
    net::{AddressFamily, SendFlags, SocketFlags, SocketType},
    process::{DumpableBehavior, Pid, WaitOptions},
};

use super::{
    IsolationKind,
    error::SandboxError,
    messages::{INPUT_FD, SandboxOrder, StageMessage},
    outer::{SupervisorSocket, order},
    restrictions,
    root::mounts,
    seccomp,
};
use crate::{
    agent_tool,
    processes::{
        process,
        spawn::{self, ProcessImage},
        supervise::of_status,
    },
    work_error::WorkError,
};

/// Builds the sandbox, starts the command in it and waits for its exit. Processes it leaves running die with this
/// process.
pub(super) fn run_inner_stage() -> io::Result<()> {
    let mut talk = SupervisorSocket::open()?;
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let order = order()?;
    // The order, and descriptors inherited from the caller of wf: a folder among them would lead out.
    let descriptors = spawn::descriptors()?;
    let input = if order.fed {
        Some(std::fs::File::open(format!("/proc/self/fd/{INPUT_FD}"))?.into())
    } else {
        order.input.as_ref().map(|text| spawn::readable(text.as_bytes())).transpose()?
    };
    let isolation = match confine(&order) {
        Ok(isolation) => isolation,
        Err(error) => return talk.fail(WorkError::environmental(error.to_string())),
    };
    talk.send_message(&StageMessage::Holds(isolation))?;
    if agent_tool::is_stage(&order.argv) {
        let exit = agent_tool::carry_out_in(&order.cwd, order.input.as_deref().unwrap_or_default());
        return talk.send_message(&StageMessage::Exit(exit));
    }
    let started = start(&order, input.as_ref(), &descriptors);
    // The writer must notice when the command stops reading.
    drop(input);
    match started {
        Ok(pid) => talk.send_message(&StageMessage::Exit(of_status(wait(pid)?))),
        Err(unable) => talk.fail(unable),
    }
}

/// Enforces everything requested; returns the guards in force.
fn confine(order: &SandboxOrder) -> Result<Vec<IsolationKind>, SandboxError> {
    let sandbox = &order.sandbox;
    let mut isolation = order.outside.clone();
    isolation.push(IsolationKind::Processes);
    if has_users() {
        isolation.push(IsolationKind::Users);
    }
    let entered = mounts::enter(order)?;
    isolation.extend(entered.isolation);
    if !sandbox.network {
        bring_up_loopback()
            .map_err(|cause| SandboxError::Stage { tried: "use the loopback interface", cause })?;
        isolation.push(IsolationKind::Network);
    }
    isolation.extend(restrictions::limit(sandbox, &order.outside)?);
    let gave_up = restrictions::give_up();
    gave_up.map_err(|cause| SandboxError::Stage { tried: "drop capabilities", cause })?;
    if restrictions::rule(entered.programs.as_deref(), &entered.writable)? {
        isolation.push(IsolationKind::Landlock);
    }
    seccomp::apply(entered.programs.is_some())?;
    isolation.push(IsolationKind::Seccomp);
    isolation.sort();
    isolation.dedup();
    Ok(isolation)
}

/// True if this process is in a user namespace with a single user.
fn has_users() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().nth(2) == Some("1")
}

fn start(order: &SandboxOrder, input: Option<&OwnedFd>, without: &[i32]) -> Result<Pid, WorkError> {
    let command = process::ProcessCommand::new(order.argv.clone(), Vec::new(), order.cwd.clone());
    let (program, _) = process::program(&command, order.path.as_deref())?;
    let image = ProcessImage { program: &program, argv: &order.argv, env: &order.env, cwd: &order.cwd };
    spawn::beside(image, input, without)
        .map_err(|error| process::spawn_error(&error, &command, Path::new(&program)))
}

/// Waits for the command and reaps all other processes.
fn wait(command: Pid) -> io::Result<ExitStatus> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.thread_block()?;
    loop {
        if let Some((pid, status)) = rustix::process::wait(WaitOptions::empty())?
            && pid == command
        {
            return Ok(ExitStatus::from_raw(status.as_raw()));
        }
    }
}

/// `NLMSG` and `RTM` numbers of the kernel's link interface, which no crate in use defines.
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const IFF_UP: u32 = 1;
/// The loopback interface is always the first one.
const LOOPBACK: i32 = 1;

/// Lets programs inside a separate network namespace talk to each other.
pub(super) fn bring_up_loopback() -> io::Result<()> {
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let sent = rustix::net::send(&socket, &request(), SendFlags::empty())?;
    if sent == 32 { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// `struct nlmsghdr` and `struct ifinfomsg`.
fn request() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32);
    bytes.extend(32_u32.to_ne_bytes());
    bytes.extend(RTM_NEWLINK.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes());
    bytes
}
