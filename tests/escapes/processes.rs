//! Signals, other processes' memory, and what outlives its check.

use super::attempt::Attempt;

pub const ATTEMPTS: &[Attempt] = &[
    Attempt::sh("signal", "signal a process", r#"kill "$VICTIM""#),
    Attempt::sh("signal_hard", "kill it", r#"kill -9 "$VICTIM""#),
    Attempt::python(
        "signal_by_descriptor",
        "signal it by a descriptor of it",
        r#"
process = call("pidfd_open", int(os.environ["VICTIM"]), 0)
call("pidfd_send_signal", process, 15, 0, 0)
"#,
    ),
    Attempt::python(
        "signal_all",
        "signal everything there is",
        r"
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(-1, signal.SIGTERM)
for number in range(1, 4096):
    if number != os.getpid():
        try:
            os.kill(number, signal.SIGKILL)
        except OSError:
            pass
",
    )
    .only_inside(),
    Attempt::python(
        "see_processes",
        "look for the processes of wf",
        r#"
for number in numbers():
    try:
        name = open(f"/proc/{number}/cmdline").read()
    except OSError:
        continue
    if name.startswith("wf-keeper") or name.startswith("sleep\0120"):
        through(name)
"#,
    ),
    Attempt::python(
        "read_memory",
        "read the memory of process 1 and of the parent",
        r#"
for number in {1, os.getppid()}:
    for line in open(f"/proc/{number}/maps"):
        start = int(line.split("-")[0], 16)
        memory = os.open(f"/proc/{number}/mem", os.O_RDONLY)
        if os.pread(memory, 16, start):
            through(number)
        break
"#,
    )
    .only_inside(),
    Attempt::python(
        "read_memory_by_call",
        "read it by a system call",
        r#"
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
room = ctypes.create_string_buffer(16)
here, there = Vector(ctypes.addressof(room), 16), Vector(0x400000, 16)
for number in numbers():
    if number != os.getpid() and call("process_vm_readv", number, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
        through(number)
"#,
    )
    .only_inside(),
    Attempt::python(
        "trace",
        "trace process 1, and a child",
        r#"
child = os.fork()
if child == 0:
    time.sleep(5)
    os._exit(0)
for number in (1, child):
    for request in (16, 0x4206):
        if call("ptrace", request, number, 0, 0) == 0:
            through(number)
os.kill(child, 9)
"#,
    )
    .only_inside(),
    Attempt::python(
        "take_descriptors",
        "take descriptors out of process 1",
        r#"
process = call("pidfd_open", 1, 0)
for number in range(16):
    if call("pidfd_getfd", process, number, 0) >= 0:
        through(number)
for number in range(16):
    for way in (f"/proc/1/fd/{number}", f"/proc/1/fdinfo/{number}"):
        try:
            os.open(way, os.O_RDONLY | os.O_NONBLOCK)
            through(way)
        except OSError as error:
            print(way, error.strerror)
"#,
    )
    .only_inside(),
    Attempt::sh(
        "read_order",
        "read what the sandbox was told, from what is left open",
        r#"for at in /proc/self/fd/3 /proc/1/fd/3 /proc/$PPID/fd/3; do
  if dd if="$at" bs=64k count=1 iflag=nonblock 2>&1 | grep -q '"sandbox"'; then echo got-through; fi
done"#,
    )
    .only_inside(),
    Attempt::python(
        "speak_for_the_sandbox",
        "tell the keeper, in the place of process 1, how the command ended",
        r#"
word = b'{"code":0}\n'
for number in range(3, 1024):
    try:
        os.write(number, word)
        through(number)
    except OSError:
        pass
"#,
    )
    .only_inside(),
    Attempt::sh(
        "daemon",
        "leave a process that writes later",
        r#"(setsid sh -c 'sleep 1; touch "out/$MARK-late"; echo "$NAME" >> guarded.txt' > /dev/null 2>&1 &) ; exit 0"#,
    ),
    Attempt::python(
        "daemon_deaf",
        "leave one that is deaf to signals, of a session and parent of its own",
        r#"
import signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        nothing = os.open("/dev/null", os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        time.sleep(1)
        open(f"out/{MARK}-late", "w")
        put("guarded.txt")
    os._exit(0)
os._exit(0)
"#,
    ),
    Attempt::sh(
        "next_check",
        "leave something for the check that comes next",
        r#"for at in /tmp /var/tmp /dev/shm . "$HOME"; do
  if test -e "$at/left-by-$NAME"; then echo got-through; fi
  touch "$at/left-by-$NAME" || :
done"#,
    )
    .only_inside(),
    Attempt::sh(
        "watched_by_group",
        "leave the control group",
        r#"for at in /sys/fs/cgroup /sys/fs/cgroup/pids /sys/fs/cgroup/unified; do
  if test -e "$at/cgroup.procs"; then echo got-through; echo $$ > "$at/cgroup.procs"; fi
done"#,
    ),
];
