import ctypes, os, socket, sys, time

NAME, MARK = os.environ["NAME"], os.environ["MARK"]
OUTSIDE = os.environ["OUTSIDE"]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X86 = os.uname().machine == "x86_64"
NUMBERS = {
    "clone": (56, 220), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "unshare": (272, 97), "setns": (308, 268), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "keyctl": (250, 219), "add_key": (248, 217),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "sethostname": (170, 161),
    "syslog": (103, 116), "mknodat": (259, 33), "fsopen": (430, 430), "open_tree": (428, 428),
    "move_mount": (429, 429), "mount_setattr": (442, 442), "memfd_create": (319, 279),
    "execveat": (322, 281), "io_uring_setup": (425, 425), "clone3": (435, 435),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "capset": (126, 91), "quotactl": (179, 60), "acct": (163, 89),
}


def call(name, *words):
    number = NUMBERS[name][0 if X86 else 1]
    return libc.syscall(ctypes.c_long(number), *[
        ctypes.c_long(word) if isinstance(word, int) else word for word in words
    ])


def show(path):
    """Prints what a path holds, if it can be read."""
    try:
        found = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        print(os.read(found, 65536).decode("latin-1"))
        os.close(found)
    except OSError as error:
        print(path, error.strerror)


def put(path):
    """Writes the own name to the end of a file."""
    try:
        with open(path, "a") as file:
            file.write(NAME + "\n")
    except OSError as error:
        print(path, error.strerror)


def knock(kind, family, address):
    """Sends the own name to a socket."""
    try:
        line = socket.socket(family, kind)
        line.settimeout(1)
        line.connect(address)
        line.send((NAME + "\n").encode())
        line.close()
    except OSError as error:
        print(address, error)


def numbers():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def through(why=""):
    """Owns up to something that nobody outside can see."""
    print("got-through", why)
