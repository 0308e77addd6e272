//! The system calls refused to commands in a sandbox.
//!
//! A deny list, not an allow list: checks run any installed tool. Without capabilities most of these calls would fail
//! anyway; each one here has had a vulnerability, or inspects other processes, or creates namespaces in which
//! capabilities come back.
//!
//! Calls newer than this list are reported as missing, as on an older system: libraries then do
//! without them, and a new system opens no way around the refused calls.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

/// Calls refused with "operation not permitted".
const REFUSED_SYSCALLS: [i64; 42] = [
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

/// Calls reported as missing, so that programs do without: their arguments cannot be inspected, or
/// they act past this filter.
const HIDDEN_SYSCALLS: [i64; 5] = [
    libc::SYS_openat2,
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
];

/// The first number of a call that was not reviewed, on every architecture: `open_tree_attr` of Linux 6.15, a variant
/// of `open_tree`. The calls below are known. The second numbers of x86-64 are above, too.
const FIRST_UNKNOWN_SYSCALL: u32 = 467;

/// The error of a missing call.
const ABSENT_ERROR: u32 = libc::ENOSYS.unsigned_abs();

/// The flags of `clone` for new namespaces.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The only permitted socket families: those confined by namespaces, and no others with access to the kernel.
const ALLOWED_SOCKETS: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The bits that let a program act as the owner or the group of its file. Such a program would give
/// the rights of the user of wf to others, outside and later.
const SET_ID_MODES: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// The calls that set the mode of a file, each with the index of the mode.
const MODE_SYSCALLS: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    // `fchmodat2`, which some libraries do not define.
    (452, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// The calls creating a file if their flags say so, each with the index of the flags; the mode follows, and is ignored
/// otherwise.
const CREATING_SYSCALLS: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// The flags creating a file: a named one, and one without a name.
const CREATE_FLAGS: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// `ioctl`s with input for a terminal.
const TERMINAL_INPUT_IOCTLS: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// The second number of every call on x86-64.
#[cfg(target_arch = "x86_64")]
const SECOND: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND: Option<i64> = None;

/// Calls whose second number belongs to another first one, and has no name in a library.
const RENUMBERED_SYSCALLS: [(i64, i64); 5] = [
    (libc::SYS_ioctl, 514),
    (libc::SYS_ptrace, 521),
    (libc::SYS_kexec_load, 528),
    (libc::SYS_process_vm_readv, 539),
    (libc::SYS_process_vm_writev, 540),
];

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refuses these calls from now on, to this process and all its descendants. No rights can be
/// gained any more either. If programs are restricted, none can be created in memory.
pub(super) fn apply(only_some: bool) -> Result<(), seccompiler::Error> {
    programs(only_some)?.iter().try_for_each(|program| seccompiler::apply_filter(program))
}

/// Returns the filters in order of application: if two refuse a call, the later one sets the error.
fn programs(only_some: bool) -> Result<[BpfProgram; 3], seccompiler::Error> {
    let mut rules = refused_syscalls()?;
    if only_some {
        rules.insert(libc::SYS_memfd_create, Vec::new());
    }
    Ok([newer(), program(rules, libc::EPERM)?, program(unknown(), libc::ENOSYS)?])
}

/// Reports every call from [`FIRST_UNKNOWN_SYSCALL`] on as missing.
#[expect(clippy::cast_possible_truncation, reason = "the codes of instructions have 16 bits")]
fn newer() -> BpfProgram {
    let step = |code: u32, k: u32, jf: u8| sock_filter { code: code as u16, jt: 0, jf, k };
    vec![
        // The number of a call is the first field in a filter's input.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, FIRST_UNKNOWN_SYSCALL, 1),
        step(libc::BPF_RET, SeccompAction::Errno(ABSENT_ERROR).into(), 0),
        step(libc::BPF_RET, SeccompAction::Allow.into(), 0),
    ]
}

fn program(rules: SyscallRules, errno: i32) -> Result<BpfProgram, seccompiler::Error> {
    let arch = std::env::consts::ARCH.try_into()?;
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    Ok(SeccompFilter::new(twice(rules), SeccompAction::Allow, errno, arch)?.try_into()?)
}

fn refused_syscalls() -> Result<SyscallRules, seccompiler::Error> {
    let mut rules: SyscallRules = REFUSED_SYSCALLS.iter().map(|call| (*call, Vec::new())).collect();
    let mut with = |call, argument, len, op, value| -> Result<(), seccompiler::Error> {
        let condition = SeccompCondition::new(argument, len, op, value)?;
        let rule = SeccompRule::new(vec![condition])?;
        rules.entry(call).or_default().push(rule);
        Ok(())
    };
    for space in NAMESPACE_FLAGS {
        let bit = u64::from(space.unsigned_abs());
        with(libc::SYS_clone, 0, Len::Qword, Op::MaskedEq(bit), bit)?;
    }
    for request in TERMINAL_INPUT_IOCTLS {
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
        let none: Result<_, _> = ALLOWED_SOCKETS.into_iter().map(other).collect();
        rules.insert(call, vec![SeccompRule::new(none?)?]);
    }
    Ok(rules)
}

/// Returns rules against giving a file the rights of its owner or group.
fn set_id() -> Result<Vec<(i64, SeccompRule)>, seccompiler::Error> {
    let has = |argument, bit: u32| {
        let bit = u64::from(bit);
        SeccompCondition::new(argument, Len::Dword, Op::MaskedEq(bit), bit)
    };
    let mut rules = Vec::new();
    for bit in SET_ID_MODES {
        for (call, mode) in MODE_SYSCALLS {
            rules.push((*call, SeccompRule::new(vec![has(*mode, bit)?])?));
        }
        for (call, flags) in CREATING_SYSCALLS {
            for making in CREATE_FLAGS {
                let both = vec![has(*flags, making.unsigned_abs())?, has(flags + 1, bit)?];
                rules.push((*call, SeccompRule::new(both)?));
            }
        }
    }
    Ok(rules)
}

fn unknown() -> SyscallRules {
    HIDDEN_SYSCALLS.iter().map(|call| (*call, Vec::new())).collect()
}

fn twice(mut rules: SyscallRules) -> SyscallRules {
    if let Some(second) = SECOND {
        let more: Vec<_> = rules.iter().map(|(call, rule)| (call | second, rule.clone())).collect();
        let odd = RENUMBERED_SYSCALLS.iter().filter_map(|(call, number)| {
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

    const ALLOWED: u32 = 0x7fff_0000;
    const KILLED: u32 = 0x8000_0000;

    /// Returns a filter's verdict on a call with these low halves of its arguments: the few
    /// instructions used in filters, as the kernel executes them.
    fn verdict(program: &BpfProgram, arch: u32, number: u32, arguments: [u32; 6]) -> u32 {
        let word = |offset: u32| match offset {
            0 => number,
            4 => arch,
            // The high halves are zero.
            _ if !offset.is_multiple_of(8) => 0,
            _ => arguments[(offset as usize - 16) / 8],
        };
        let (mut at, mut held) = (0, 0);
        loop {
            let step = &program[at];
            let jump = |is| usize::from(if is { step.jt } else { step.jf });
            at += 1;
            match step.code {
                0x20 => held = word(step.k),
                0x54 => held &= step.k,
                0x05 => at += step.k as usize,
                0x15 => at += jump(held == step.k),
                0x25 => at += jump(held > step.k),
                0x35 => at += jump(held >= step.k),
                0x06 => return step.k,
                code => panic!("{code:#x} is no instruction of these filters"),
            }
        }
    }

    /// Returns the kernel's answer: the most severe of all filters, and of equal ones the later.
    fn answer(number: i64, arguments: [u32; 6]) -> u32 {
        let arch = if cfg!(target_arch = "x86_64") {
            0xc000_003e
        } else if cfg!(target_arch = "aarch64") {
            0xc000_00b7
        } else {
            0xc000_00f3
        };
        let number = u32::try_from(number).unwrap();
        let said = programs(true).expect("filters").map(|program| {
            assert_eq!(verdict(&program, arch, 0, [0; 6]), ALLOWED);
            verdict(&program, arch, number, arguments)
        });
        let worst = |said: &&u32| **said & 0x7fff_0000;
        *said.iter().rev().min_by_key(worst).unwrap()
    }

    fn refused_with(errno: i32) -> u32 {
        0x0005_0000 | errno.unsigned_abs()
    }

    #[test]
    fn what_is_refused_says_so_and_what_is_not_known_does_not_exist() {
        let spaces = [libc::CLONE_NEWUSER.unsigned_abs(), 0, 0, 0, 0, 0];
        for number in REFUSED_SYSCALLS.into_iter().chain([libc::SYS_memfd_create]) {
            assert_eq!(answer(number, [0; 6]), refused_with(libc::EPERM), "{number}");
        }
        assert_eq!(answer(libc::SYS_clone, spaces), refused_with(libc::EPERM));
        let absent = HIDDEN_SYSCALLS.into_iter().chain([467, 470, 999, 0xffff_ffff]);
        for number in absent {
            assert_eq!(answer(number, [0; 6]), refused_with(libc::ENOSYS), "{number}");
        }
        for number in [libc::SYS_clone, libc::SYS_read, libc::SYS_rseq, 452, 466] {
            assert_eq!(answer(number, [0; 6]), ALLOWED, "{number}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn second_numbers_are_refused_or_do_not_exist() {
        let second = SECOND.expect("a second number");
        let ptrace = answer(libc::SYS_ptrace | second, [0; 6]);
        assert_eq!(ptrace, refused_with(libc::EPERM));
        let read = answer(libc::SYS_read | second, [0; 6]);
        assert_eq!(read, refused_with(libc::ENOSYS));
    }

    #[test]
    fn calls_of_another_architecture_end_the_process() {
        let [_, refused, unknown] = programs(false).expect("filters");
        for program in [refused, unknown] {
            assert_eq!(verdict(&program, 0x4000_0003, 1, [0; 6]), KILLED);
        }
    }
}
