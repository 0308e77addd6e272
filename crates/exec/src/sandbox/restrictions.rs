//! The restrictions on a command in a sandbox that do not depend on its view.

use std::{io, path::PathBuf, time::Duration};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::{
    process::{Resource, Rlimit},
    thread::{CapabilitySet, CapabilitySets},
};

use wf_model::{DEFAULT_MEMORY_BYTES, DEFAULT_PROCESS_LIMIT};

use super::{IsolationKind, SandboxSpec, error::SandboxError};

/// The requested version of Landlock; an older kernel does its best.
const LANDLOCK_ABI: ABI = ABI::V6;

/// Limits the resources of each process, as far as they are not limited for all together. Returns
/// the additional guards.
pub(super) fn limit(
    sandbox: &SandboxSpec,
    outside: &[IsolationKind],
) -> Result<Vec<IsolationKind>, SandboxError> {
    let mut isolation = Vec::new();
    let limits = &sandbox.limits;
    at_most(Resource::Core, 0)?;
    if let Some(cpu) = limits.cpu {
        at_most(Resource::Cpu, seconds(cpu))?;
        isolation.push(IsolationKind::Cpu);
    }
    if !outside.contains(&IsolationKind::Memory) {
        at_most(Resource::Data, limits.memory.unwrap_or(DEFAULT_MEMORY_BYTES))?;
        isolation.push(IsolationKind::Memory);
    }
    // The system counts root's processes only in a control group.
    let most = u64::from(limits.processes.unwrap_or(DEFAULT_PROCESS_LIMIT));
    if !rustix::process::geteuid().is_root() {
        at_most(Resource::Nproc, most)?;
        isolation.push(IsolationKind::Count);
    } else if !outside.contains(&IsolationKind::Count) && limits.processes.is_some() {
        return Err(SandboxError::NoControlGroup);
    }
    Ok(isolation)
}

/// Sets a final limit. A lower one stays.
fn at_most(resource: Resource, most: u64) -> Result<(), SandboxError> {
    let now = rustix::process::getrlimit(resource).maximum;
    if now.is_some_and(|now| now < most) {
        return Ok(());
    }
    // The CPU limit sends a warning signal before the kill.
    let last = u64::from(resource == Resource::Cpu);
    let both = Rlimit { current: Some(most), maximum: Some(most + last) };
    rustix::process::setrlimit(resource, both)
        .map_err(|errno| SandboxError::Stage { tried: "set a limit", cause: errno.into() })
}

fn seconds(time: Duration) -> u64 {
    time.as_secs().max(1)
}

/// Gives up all special rights.
pub(super) fn give_up() -> io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    for capability in CapabilitySet::all().iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // Capabilities newer than the kernel.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    rustix::thread::set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    Ok(())
}

/// Sets rules independent of the view: the writable paths, the executable files, and no signals or
/// abstract sockets to the outside. A read-only mount still permits writing to its named pipes.
/// Returns true if the kernel supports such rules.
pub(super) fn rule(programs: Option<&[PathBuf]>, writable: &[PathBuf]) -> Result<bool, SandboxError> {
    let level = if programs.is_some() { CompatLevel::HardRequirement } else { CompatLevel::BestEffort };
    let handled = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::Execute)
        .map_err(|_| SandboxError::NoLandlock)?;
    let mut rules = handled
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LANDLOCK_ABI))
        .and_then(|rules| rules.scope(Scope::AbstractUnixSocket | Scope::Signal))
        .and_then(landlock::Ruleset::create)?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let everywhere = if programs.is_some() { read } else { read | AccessFs::Execute };
    let execute = AccessFs::Execute | AccessFs::ReadFile;
    let write = AccessFs::from_write(LANDLOCK_ABI);
    let root = [PathBuf::from("/")];
    for (places, rights) in
        [(&root[..], everywhere), (programs.unwrap_or_default(), execute), (writable, write)]
    {
        // A missing path needs no rule.
        for place in places.iter().filter_map(|place| PathFd::new(place).ok()) {
            rules = rules.add_rule(PathBeneath::new(place, rights))?;
        }
    }
    let status = rules.restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}
