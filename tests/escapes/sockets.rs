//! Connecting and listening.

use super::attempt::Attempt;

/// Opens sockets of families that no program of a sandbox needs.
const ODD: &str = r"
for family, kind in [(40, 1), (17, 3), (17, 2), (38, 5), (2, 3), (10, 3), (44, 3), (21, 5), (42, 2),
                     (29, 3), (30, 5), (31, 3), (39, 5), (15, 3), (43, 1), (41, 2), (9, 5), (3, 5)]:
    try:
        socket.socket(family, kind)
        through(family)
    except OSError as error:
        print(family, error)
";

pub const ATTEMPTS: &[Attempt] = &[
    Attempt::python(
        "tcp",
        "connect to a server on the loopback interface",
        r#"knock(socket.SOCK_STREAM, socket.AF_INET, ("127.0.0.1", int(os.environ["TCP"])))"#,
    ),
    Attempt::python(
        "tcp6",
        "the same by IPv6, and by another way to write the address",
        r#"
knock(socket.SOCK_STREAM, socket.AF_INET6, ("::1", int(os.environ["TCP6"])))
knock(socket.SOCK_STREAM, socket.AF_INET6, ("::ffff:127.0.0.1", int(os.environ["TCP"])))
knock(socket.SOCK_STREAM, socket.AF_INET, ("0.0.0.0", int(os.environ["TCP"])))
"#,
    ),
    Attempt::python(
        "udp",
        "send a datagram",
        r#"knock(socket.SOCK_DGRAM, socket.AF_INET, ("127.0.0.1", int(os.environ["UDP"])))"#,
    ),
    Attempt::python(
        "unix_socket",
        "connect to a socket in a folder elsewhere",
        r#"knock(socket.SOCK_STREAM, socket.AF_UNIX, OUTSIDE + "/socket")"#,
    ),
    Attempt::python(
        "unix_socket_by_link",
        "connect to it through a link",
        r#"knock(socket.SOCK_STREAM, socket.AF_UNIX, "leads-out/socket")"#,
    ),
    Attempt::python(
        "unix_socket_here",
        "connect to a socket in the workspace",
        r#"knock(socket.SOCK_STREAM, socket.AF_UNIX, "socket")"#,
    )
    .granted("a socket in the workspace can be used by whoever sees it"),
    Attempt::python(
        "unix_datagram_here",
        "send a datagram to a socket in the workspace",
        r#"knock(socket.SOCK_DGRAM, socket.AF_UNIX, "datagrams")"#,
    )
    .granted("a socket in the workspace can be used by whoever sees it"),
    Attempt::python(
        "pipe_here",
        "write to a named pipe in the workspace",
        r#"
pipe = os.open("pipe", os.O_WRONLY | os.O_NONBLOCK)
os.write(pipe, (NAME + "\n").encode())
"#,
    ),
    Attempt::python(
        "abstract_socket",
        "connect to an abstract socket",
        r#"knock(socket.SOCK_STREAM, socket.AF_UNIX, "\0" + os.environ["ABSTRACT"])"#,
    ),
    Attempt::python(
        "abstract_socket_with_network",
        "the same, where the network is allowed",
        r#"knock(socket.SOCK_STREAM, socket.AF_UNIX, "\0" + os.environ["ABSTRACT"])"#,
    )
    .step("net: true"),
    Attempt::python(
        "keeper",
        "talk to the process that starts all others",
        r#"
import glob
for path in glob.glob(".wf/keepers/*") + glob.glob("/tmp/wf*") + glob.glob("/run/wf*"):
    try:
        line = socket.socket(socket.AF_UNIX)
        line.connect(path)
        through(path)
    except OSError as error:
        print(path, error)
"#,
    ),
    Attempt::python(
        "netlink",
        "list the interfaces of the machine",
        r#"
others = [name for _, name in socket.if_nameindex() if name != "lo"]
if others:
    through(others)
"#,
    )
    .only_inside(),
    Attempt::python("odd_sockets", "open sockets that no network confines, or that look below it", ODD)
        .only_inside(),
    Attempt::python("odd_sockets_with_network", "the same, where the network is allowed", ODD)
        .step("net: true")
        .only_inside(),
    Attempt::python(
        "signal_with_network",
        "signal a process, where the network is allowed",
        r#"os.kill(int(os.environ["VICTIM"]), 15)"#,
    )
    .step("net: true"),
];
