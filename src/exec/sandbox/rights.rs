//! What a command in a sandbox may not do, whatever it sees.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::limits::{MEMORY, PROCESSES};
use super::{Guard, Sandbox, seccomp};

/// What Landlock is asked to know; an older kernel does what it can.
const RULES: ABI = ABI::V6;

/// Limits what each process may use, as far as all of them are not limited together. Gives what
/// holds besides.
pub(super) fn limit(sandbox: &Sandbox, outside: &[Guard]) -> Result<Vec<Guard>, String> {
    let mut guards = Vec::new();
    let limits = &sandbox.limits;
    at_most(Resource::Core, 0)?;
    if let Some(cpu) = limits.cpu {
        at_most(Resource::Cpu, seconds(cpu))?;
        guards.push(Guard::Cpu);
    }
    if !outside.contains(&Guard::Memory) {
        at_most(Resource::Data, limits.memory.unwrap_or(MEMORY))?;
        guards.push(Guard::Memory);
    }
    // The system counts a super-user's processes only in a control group.
    let most = u64::from(limits.processes.unwrap_or(PROCESSES));
    if !rustix::process::geteuid().is_root() {
        at_most(Resource::Nproc, most)?;
        guards.push(Guard::Count);
    } else if !outside.contains(&Guard::Count) && limits.processes.is_some() {
        return Err(
            "the number of a super-user's processes can be limited only in a control group, and \
             none can be made; remove `limits.processes`, or let wf write to /sys/fs/cgroup"
                .into(),
        );
    }
    Ok(guards)
}

/// Sets a limit that nothing can raise again. One that is lower already stays.
fn at_most(resource: Resource, most: u64) -> Result<(), String> {
    let now = rustix::process::getrlimit(resource).maximum;
    if now.is_some_and(|now| now < most) {
        return Ok(());
    }
    // Who uses too much time on processors is told so before it is killed.
    let last = u64::from(resource == Resource::Cpu);
    let both = Rlimit {
        current: Some(most),
        maximum: Some(most + last),
    };
    rustix::process::setrlimit(resource, both)
        .map_err(|error| format!("a limit cannot be set: {error}"))
}

fn seconds(time: Duration) -> u64 {
    time.as_secs().max(1)
}

/// Gives up every right to more than what anybody has.
pub(super) fn give_up() -> io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    for one in CapabilitySet::all().iter() {
        match rustix::thread::remove_capability_from_bounding_set(one) {
            // Newer ones than the kernel knows.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    rustix::thread::set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    Ok(())
}

/// Rules that hold whatever the view is: what may be written, which files may be executed, and that
/// neither signals nor abstract sockets leave the sandbox. A mount that cannot be written still lets
/// its named pipes be written. Says whether the kernel has such rules.
pub(super) fn rule(programs: Option<&[PathBuf]>, writable: &[PathBuf]) -> Result<bool, String> {
    let told = |error: landlock::RulesetError| format!("Landlock: {error}");
    let level = if programs.is_some() {
        CompatLevel::HardRequirement
    } else {
        CompatLevel::BestEffort
    };
    let handled = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::Execute)
        .map_err(|_| {
            "`allow.exec` needs Landlock, which this kernel has not; remove it".to_owned()
        })?;
    let mut rules = handled
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RULES))
        .and_then(|rules| rules.scope(Scope::AbstractUnixSocket | Scope::Signal))
        .and_then(landlock::Ruleset::create)
        .map_err(told)?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let everywhere = if programs.is_some() {
        read
    } else {
        read | AccessFs::Execute
    };
    let execute = AccessFs::Execute | AccessFs::ReadFile;
    let write = AccessFs::from_write(RULES);
    let root = [PathBuf::from("/")];
    for (places, rights) in [
        (&root[..], everywhere),
        (programs.unwrap_or_default(), execute),
        (writable, write),
    ] {
        // What is not there needs no rule.
        for place in places.iter().filter_map(|place| PathFd::new(place).ok()) {
            rules = rules
                .add_rule(PathBeneath::new(place, rights))
                .map_err(told)?;
        }
    }
    let status = rules.restrict_self().map_err(told)?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

/// Refuses what [`seccomp`] lists.
pub(super) fn refuse(only_some_programs: bool) -> Result<(), String> {
    seccomp::apply(only_some_programs)
}
