//! The inner stage: process 1 of its world.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use nix::sys::signal::{SigSet, Signal};
use rustix::process::{DumpableBehavior, Pid, WaitOptions};

use super::outer::{Talk, order};
use super::words::{FEED, Order, Word};
use super::{Guard, loopback, mounts, rights};
use crate::exec::process;
use crate::exec::spawn::{self, Image};

/// Builds the sandbox, starts the command in it and waits until it has ended. What it leaves running
/// ends with this process.
pub(super) fn run() -> io::Result<()> {
    let mut talk = Talk::open()?;
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let order = order()?;
    // The order, and whatever came down from who started wf: a folder among it would lead out.
    let given = spawn::descriptors()?;
    let input = if order.fed {
        Some(std::fs::File::open(format!("/proc/self/fd/{FEED}"))?.into())
    } else {
        order.input.as_deref().map(spawn::readable).transpose()?
    };
    let guards = match confine(&order) {
        Ok(guards) => guards,
        Err(why) => return talk.fail(&Word::unable(why)),
    };
    talk.say(&Word::Holds(guards))?;
    let started = start(&order, input.as_ref(), &given);
    // Whoever feeds the command learns when it listens no more.
    drop(input);
    match started {
        Ok(pid) => talk.say(&ended(wait(pid)?)),
        Err(unable) => talk.fail(&Word::Unable {
            why: unable.why,
            class: unable.class,
        }),
    }
}

/// Makes everything hold that was asked for; gives what does.
fn confine(order: &Order) -> Result<Vec<Guard>, String> {
    let sandbox = &order.sandbox;
    let mut guards = order.outside.clone();
    guards.push(Guard::Processes);
    if has_users() {
        guards.push(Guard::Users);
    }
    let entered = mounts::enter(order)?;
    guards.extend(entered.guards);
    if !sandbox.network {
        loopback::up()
            .map_err(|error| format!("the loopback interface cannot be used: {error}"))?;
        guards.push(Guard::Network);
    }
    guards.extend(rights::limit(sandbox, &order.outside)?);
    let gave_up = rights::give_up();
    gave_up.map_err(|error| format!("capabilities cannot be given up: {error}"))?;
    if rights::rule(entered.programs.as_deref(), &entered.writable)? {
        guards.push(Guard::Landlock);
    }
    rights::refuse(entered.programs.is_some())?;
    guards.push(Guard::Seccomp);
    guards.sort();
    guards.dedup();
    Ok(guards)
}

/// Whether this process is in a namespace of users in which one user is known.
fn has_users() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().nth(2) == Some("1")
}

fn start(
    order: &Order,
    input: Option<&OwnedFd>,
    without: &[i32],
) -> Result<Pid, crate::exec::Unable> {
    let command = process::Command {
        argv: order.argv.clone(),
        env: Vec::new(),
        cwd: order.cwd.clone(),
        sandbox: None,
        pins: None,
        input: None,
    };
    let (program, _) = process::program(&command, order.path.as_deref())?;
    let image = Image {
        program: &program,
        argv: &order.argv,
        env: &order.env,
        cwd: &order.cwd,
    };
    spawn::beside(image, input, without)
        .map_err(|error| process::refused(&error, &command, Path::new(&program)))
}

/// Waits for the command; whatever else ends here is seen off.
fn wait(command: Pid) -> io::Result<ExitStatus> {
    let mut held = SigSet::empty();
    held.add(Signal::SIGTERM);
    held.thread_block()?;
    loop {
        if let Some((pid, status)) = rustix::process::wait(WaitOptions::empty())?
            && pid == command
        {
            return Ok(ExitStatus::from_raw(status.as_raw()));
        }
    }
}

fn ended(status: ExitStatus) -> Word {
    match (status.code(), status.signal()) {
        (Some(code), _) => Word::Code(code),
        (None, signal) => Word::Signal(signal.unwrap_or_default()),
    }
}
