//! Mounts, namespaces, devices, rights and the kernel's odd corners.

use super::attempt::Attempt;

pub const ATTEMPTS: &[Attempt] = &[
    Attempt::sh(
        "remount",
        "make the workspace and the root writable",
        r#"for at in / "$PWD" /usr /etc .wf /proc; do mount -o remount,bind,rw "$at" || mount -o remount,rw "$at" || :; done
echo "$NAME" >> guarded.txt; touch "/usr/$MARK""#,
    )
    .only_inside(),
    Attempt::python(
        "mount",
        "mount something over a path, by the old calls and the new",
        r#"
for at in (b"out", b"/tmp", b"."):
    for kind, source, flags in ((b"tmpfs", b"none", 0), (b"", OUTSIDE.encode(), 4096), (b"proc", b"proc", 0)):
        if call("mount", source, at, kind, flags, b"") == 0:
            through(at)
if call("fsopen", b"tmpfs", 0) >= 0:
    through("fsopen")
if call("open_tree", -100, b".", 1) >= 0:
    through("open_tree")
attributes = (ctypes.c_ulong * 4)(0, 1, 0, 0)
if call("mount_setattr", -100, os.getcwd().encode(), 0, attributes, 32) == 0:
    through("mount_setattr")
"#,
    )
    .only_inside(),
    Attempt::python(
        "unmount",
        "take away what covers the state and the old root",
        r#"
for line in open("/proc/self/mountinfo"):
    call("umount2", line.split()[4].encode(), 2)
show(".wf/guarded.txt")
show(OUTSIDE + "/secret.txt")
"#,
    )
    .only_inside(),
    Attempt::python(
        "change_root",
        "break out by changing the root",
        r#"
os.makedirs("/tmp/jail", exist_ok=True)
for change in (lambda: call("chroot", b"/tmp/jail"), lambda: call("pivot_root", b".", b".")):
    if change() == 0:
        through()
for _ in range(50):
    os.chdir("..")
show("." + OUTSIDE + "/secret.txt")
"#,
    )
    .only_inside(),
    Attempt::python(
        "new_namespaces",
        "get rights in new namespaces",
        r#"
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, 0x80):
    if call("unshare", flag) == 0:
        through(hex(flag))
"#,
    )
    .only_inside(),
    Attempt::python(
        "new_namespaces_by_clone",
        "the same by starting a process",
        r#"
for flags in (0x10000000 | 17, 0x20000 | 17, 0x10000000 | 0x20000000 | 17, (1 << 40) | 0x10000000 | 17):
    child = call("clone", flags, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    if child > 0:
        through(hex(flags))
words = (ctypes.c_ulonglong * 8)(0x10000000, 0, 0, 0, 17, 0, 0, 0)
child = call("clone3", words, 64)
if child == 0:
    os._exit(0)
if child > 0:
    through("clone3")
"#,
    )
    .only_inside(),
    Attempt::python(
        "enter_namespaces",
        "enter the namespaces of another process",
        r#"
for number in numbers():
    for kind in ("mnt", "net", "user", "pid", "ipc"):
        try:
            space = os.open(f"/proc/{number}/ns/{kind}", os.O_RDONLY)
        except OSError as error:
            print(number, error.strerror)
            continue
        if call("setns", space, 0) == 0:
            through(kind)
process = call("pidfd_open", 1, 0)
if call("setns", process, 0x20000) == 0:
    through("by descriptor")
"#,
    )
    .only_inside(),
    Attempt::python(
        "ring",
        "let the kernel open files past the filter",
        r#"
if call("io_uring_setup", 8, ctypes.create_string_buffer(120)) >= 0:
    through()
"#,
    )
    .only_inside(),
    Attempt::python(
        "keys",
        "read and write the keyrings",
        r#"
for ring in (-1, -2, -3, -4, -5):
    if call("keyctl", 0, ring, 1) > 0:
        through(ring)
if call("add_key", b"user", NAME.encode(), b"x", 1, -2) > 0:
    through("add_key")
"#,
    )
    .only_inside(),
    Attempt::python(
        "kernel_doors",
        "load programs into the kernel, watch it, read its log",
        r#"
room = ctypes.create_string_buffer(256)
for name, words in (
    ("bpf", (0, room, 128)), ("perf_event_open", (room, 0, -1, -1, 0)), ("userfaultfd", (1,)),
    ("syslog", (3, room, 256)), ("acct", (b"out/acct",)), ("sethostname", (b"escaped", 7)),
    ("quotactl", (0x800002 << 8, b"/", 0, room)),
):
    if call(name, *words) >= 0:
        through(name)
"#,
    )
    .only_inside(),
    Attempt::sh(
        "kernel_settings",
        "change settings of the kernel",
        r#"for at in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/overcommit_memory \
  /proc/sys/kernel/modprobe /proc/sys/kernel/ns_last_pid /proc/sysrq-trigger /proc/self/oom_score_adj \
  /sys/kernel/uevent_helper /sys/power/state /sys/devices/system/cpu/cpu1/online; do
  if test -e "$at" && ( : >> "$at" ) 2>/dev/null; then echo "got-through $at"; fi
done"#,
    )
    .only_inside(),
    Attempt::sh(
        "system_folders",
        "see parts of /sys and /proc that tell of the machine",
        r#"for at in /sys/class/net/* /sys/block/* /sys/fs/cgroup /sys/kernel/debug /proc/kcore /proc/kmsg /proc/sys/fs/binfmt_misc/register; do
  if test -r "$at" && head -c 1 "$at" >/dev/null 2>&1; then echo "got-through $at"; fi
done"#,
    )
    .only_inside(),
    Attempt::python(
        "devices",
        "open the disk, by the device that is there and by one of its own",
        r#"
import glob, stat
for at in glob.glob("/dev/[svx]d*") + glob.glob("/dev/nvme*") + ["/dev/mem", "/dev/kmsg", "/dev/fuse", "/dev/kvm", "/dev/net/tun", "/dev/vsock"]:
    try:
        os.open(at, os.O_RDONLY | os.O_NONBLOCK)
        through(at)
    except OSError as error:
        print(at, error.strerror)
for at in ("/tmp/disk", "out/disk", "/dev/shm/disk"):
    for number in (os.makedev(254, 0), os.makedev(8, 0), os.makedev(1, 1)):
        try:
            os.mknod(at, stat.S_IFBLK | 0o600, number)
            os.open(at, os.O_RDONLY)
            through(at)
        except OSError as error:
            print(at, error.strerror)
"#,
    )
    .only_inside(),
    Attempt::python(
        "rights",
        "get capabilities back",
        r#"
head = (ctypes.c_uint * 2)(0x20080522, 0)
for wanted in (0xFFFFFFFF, 1 << 21, 1 << 1):
    data = (ctypes.c_uint * 6)(wanted, wanted, wanted, 0, 0, 0)
    if call("capset", head, data) == 0:
        through("capset")
for one in range(41):
    if libc.prctl(47, 2, one, 0, 0) == 0 or libc.prctl(23, one, 0, 0, 0) == 1:
        through(one)
for change in (lambda: os.setuid(0 if os.getuid() else 1), lambda: os.setgroups([0])):
    try:
        change()
        through("another user")
    except OSError as error:
        print(error)
"#,
    )
    .only_inside(),
    Attempt::sh(
        "setuid_program",
        "execute a program that belongs to somebody else and gives his rights",
        r"./suid-cat root-only.txt; su -c true; mount -t tmpfs none out && echo got-through",
    )
    .only_inside(),
    Attempt::python(
        "type_into_terminal",
        "type into the terminal of whoever started it",
        r#"
import fcntl, termios
for at in ("/dev/tty", "/dev/console", "/dev/pts/0", "/dev/tty1"):
    try:
        terminal = os.open(at, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        print(at, error.strerror)
        continue
    try:
        fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
        through(at)
    except OSError as error:
        print(at, error.strerror)
ours, theirs = os.openpty()
os.setsid() if os.getsid(0) != os.getpid() else None
fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
fcntl.ioctl(theirs, termios.TIOCSTI, b"x")
through("a terminal of its own")
"#,
    )
    .only_inside(),
    Attempt::python(
        "set_id_bits",
        "leave a program that gives the rights of who runs wf",
        r#"
import stat
bits = (stat.S_ISUID, stat.S_ISGID, stat.S_ISUID | stat.S_ISGID)
def fresh():
    at = "out/set-id"
    if os.path.exists(at):
        os.unlink(at)
    return at
def made(at, mode):
    os.umask(0)
    open(at, "w").close()
    return at
def how(at, mode):
    byte = at.encode()
    number = (lambda x86, other: x86 if X86 else other)
    yield "chmod", lambda: os.chmod(made(at, mode), mode)
    yield "fchmod", lambda: os.fchmod(os.open(made(at, mode), os.O_RDONLY), mode)
    yield "fchmodat", lambda: os.chmod(os.path.basename(made(at, mode)), mode, dir_fd=os.open("out", os.O_RDONLY))
    yield "fchmodat2", lambda: libc.syscall(452, -100, made(at, mode).encode(), mode, 0)
    yield "open", lambda: os.open(at, os.O_CREAT | os.O_WRONLY, mode)
    yield "openat", lambda: os.open("set-id", os.O_CREAT | os.O_WRONLY, mode, dir_fd=os.open("out", os.O_RDONLY))
    yield "openat2", lambda: libc.syscall(437, -100, byte, ctypes.byref((ctypes.c_ulonglong * 3)(os.O_CREAT | os.O_WRONLY, mode, 0)), 24)
    yield "mknod", lambda: os.mknod(at, stat.S_IFREG | mode)
    if X86:
        yield "creat", lambda: libc.creat(byte, mode)
        yield "second number of chmod", lambda: libc.syscall(ctypes.c_long(0x40000000 | 90), made(at, mode).encode(), mode)
    def nameless():
        one = os.open("out", os.O_TMPFILE | os.O_WRONLY, mode)
        os.link(f"/proc/self/fd/{one}", at, follow_symlinks=True)
    yield "nameless", nameless
os.makedirs("out", exist_ok=True)
os.umask(0)
for bit in bits:
    for name, _ in list(how("out/set-id", bit | 0o755)):
        at = fresh()
        try:
            dict(how(at, bit | 0o755))[name]()
        except OSError as error:
            print(name, error.strerror)
        if os.path.exists(at) and os.stat(at).st_mode & (stat.S_ISUID | stat.S_ISGID):
            through(f"{name} {oct(bit)}")
"#,
    ),
    Attempt::c(
        "old_calls",
        "make calls of another architecture that is executed here, too",
        r#"
#include <stdio.h>
int main(void) {
#if defined(__x86_64__)
    long got = -1;
    /* mount, as a program of 32 bits calls it */
    __asm__ volatile("int $0x80" : "=a"(got) : "a"(20), "b"(0) : "memory");
    if (got > 0) puts("got-through: int 0x80");
#endif
    return 0;
}
"#,
    )
    .only_inside(),
    Attempt::python(
        "newer_calls",
        "make calls that are younger than the list of what is refused",
        r#"
for number in (467, 468, 470, 500, 999):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
    if got != -1 or ctypes.get_errno() != 38:
        through(f"{number} {ctypes.get_errno()}")
for name in ("ptrace", "mount", "unshare"):
    ctypes.set_errno(0)
    if call(name, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1:
        through(f"{name} {ctypes.get_errno()}")
"#,
    ),
    Attempt::python(
        "second_numbers",
        "make refused calls by their second numbers",
        r#"
if X86:
    vector = (ctypes.c_ulong * 2)(ctypes.addressof(ctypes.create_string_buffer(16)), 16)
    for number in (101, 165, 272, 310, 521, 528, 539, 540):
        ctypes.set_errno(0)
        got = libc.syscall(ctypes.c_long(0x40000000 | number), ctypes.c_long(0), *[ctypes.c_long(0)] * 4)
        if got == 0 or ctypes.get_errno() not in (1, 38):
            through(f"{number} {ctypes.get_errno()}")
"#,
    )
    .only_inside(),
];
