//! The system calls that no command in a sandbox makes.
//!
//! A list of what is refused, not of what is allowed: checks run whatever people have. Without
//! capabilities most of these would fail anyway; each one here has had a hole, or looks into other
//! processes, or makes namespaces in which capabilities come back.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule,
};

/// Refused with "operation not permitted".
const REFUSED: [i64; 42] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Said not to exist, so that programs do without: their arguments cannot be looked at, or they act
/// past this filter.
const UNKNOWN: [i64; 5] = [
    libc::SYS_openat2,
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
];

/// New namespaces, as `clone` is asked for them.
const SPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The only kinds of sockets there are: those that namespaces confine, and no others that would reach
/// into the kernel.
const SOCKETS: [i32; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// The bits that let whoever executes a file act as its owner or its group. A program that has them
/// would give the rights of whoever runs wf to others, outside and later.
const SET_ID: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// The calls that set the mode of a file, each with the argument that is the mode.
const MODES: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    // `fchmodat2`, which not every library names.
    (452, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// The calls that make a file if their flags say so, each with the argument that is the flags; the mode
/// follows, and means nothing otherwise.
const MAKERS: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// The flags that make a file: a named one, and one without a name.
const MAKING: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// `ioctl`s that type into a terminal.
const TYPING: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// On x86-64 every call has a second number.
#[cfg(target_arch = "x86_64")]
const SECOND: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND: Option<i64> = None;

/// Calls whose second number follows from another first one, which no library names.
const ODD: [(i64, i64); 5] = [
    (libc::SYS_ioctl, 514),
    (libc::SYS_ptrace, 521),
    (libc::SYS_kexec_load, 528),
    (libc::SYS_process_vm_readv, 539),
    (libc::SYS_process_vm_writev, 540),
];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refuses them from now on, to this process and all that it starts. No rights can be gained any
/// more either. If only some programs may be executed, none can be made in memory.
pub(super) fn apply(only_some: bool) -> Result<(), String> {
    let built = || -> Result<[BpfProgram; 2], seccompiler::Error> {
        let mut rules = refused()?;
        if only_some {
            rules.insert(libc::SYS_memfd_create, Vec::new());
        }
        Ok([
            program(rules, libc::EPERM)?,
            program(unknown(), libc::ENOSYS)?,
        ])
    };
    let programs = built().map_err(|error| format!("seccomp: {error}"))?;
    for program in &programs {
        seccompiler::apply_filter(program).map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}

fn program(rules: Rules, errno: i32) -> Result<BpfProgram, seccompiler::Error> {
    let arch = std::env::consts::ARCH.try_into()?;
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    Ok(SeccompFilter::new(twice(rules), SeccompAction::Allow, errno, arch)?.try_into()?)
}

fn refused() -> Result<Rules, seccompiler::Error> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let mut with = |call, argument, len, op, value| -> Result<(), seccompiler::Error> {
        let condition = SeccompCondition::new(argument, len, op, value)?;
        let rule = SeccompRule::new(vec![condition])?;
        rules.entry(call).or_default().push(rule);
        Ok(())
    };
    for space in SPACES {
        let bit = u64::from(space.unsigned_abs());
        with(libc::SYS_clone, 0, Len::Qword, Op::MaskedEq(bit), bit)?;
    }
    for request in TYPING {
        with(libc::SYS_ioctl, 1, Len::Dword, Op::Eq, request)?;
    }
    for (call, rule) in set_id()? {
        rules.entry(call).or_default().push(rule);
    }
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        let other = |family: i32| {
            let family = u64::from(family.unsigned_abs());
            SeccompCondition::new(0, Len::Dword, Op::Ne, family)
        };
        let none: Result<_, _> = SOCKETS.into_iter().map(other).collect();
        rules.insert(call, vec![SeccompRule::new(none?)?]);
    }
    Ok(rules)
}

/// Whatever gives a file the rights of its owner or group.
fn set_id() -> Result<Vec<(i64, SeccompRule)>, seccompiler::Error> {
    let has = |argument, bit: u32| {
        let bit = u64::from(bit);
        SeccompCondition::new(argument, Len::Dword, Op::MaskedEq(bit), bit)
    };
    let mut rules = Vec::new();
    for bit in SET_ID {
        for (call, mode) in MODES {
            rules.push((*call, SeccompRule::new(vec![has(*mode, bit)?])?));
        }
        for (call, flags) in MAKERS {
            for making in MAKING {
                let both = vec![has(*flags, making.unsigned_abs())?, has(flags + 1, bit)?];
                rules.push((*call, SeccompRule::new(both)?));
            }
        }
    }
    Ok(rules)
}

fn unknown() -> Rules {
    UNKNOWN.iter().map(|call| (*call, Vec::new())).collect()
}

fn twice(mut rules: Rules) -> Rules {
    if let Some(second) = SECOND {
        let more: Vec<_> = rules
            .iter()
            .map(|(call, rule)| (call | second, rule.clone()))
            .collect();
        let odd = ODD.iter().filter_map(|(call, number)| {
            let rule = rules.get(call)?;
            Some((number | second, rule.clone()))
        });
        let odd: Vec<_> = odd.collect();
        rules.extend(more.into_iter().chain(odd));
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_can_be_built() {
        let rules = refused().expect("rules");
        assert!(rules.contains_key(&libc::SYS_ptrace));
        program(rules, libc::EPERM).expect("a program");
        program(unknown(), libc::ENOSYS).expect("a program");
    }
}
