use crate::model::Class;

/// One row of the table that sorts failures: a sign and what it means. The first row whose sign
/// is seen decides.
#[derive(Clone, Copy, Debug)]
pub struct FailureSign {
    /// What it is a sign of, in a few words.
    pub what: &'static str,
    /// What is seen.
    pub sign: Sign,
    /// What the failure then is.
    pub class: Class,
}

/// What is seen of a failure. In patterns, `…` stands for any text, `#` for a number above zero,
/// and `STATUS` for a status of HTTP that asks to come again. A pattern that begins with `: ` is
/// a message, as systems and programs end their lines with; all others are whole lines.
#[derive(Clone, Copy, Debug)]
pub enum Sign {
    /// It took longer than it may.
    TimedOut,
    /// A signal ended it, or a shell says so of what it ran: exit code 128 and the number.
    Signals(&'static [i32]),
    /// One of these exit codes.
    Codes(&'static [i32]),
    /// A line at the end of either output.
    Reports(&'static [&'static str]),
    /// A line at the end of standard error, or of standard output if standard error is blank.
    Prints(&'static [&'static str]),
    /// Anything else.
    Rest,
}

const fn world(what: &'static str, sign: Sign) -> FailureSign {
    FailureSign {
        what,
        sign,
        class: Class::Environmental,
    }
}

const fn result(what: &'static str, sign: Sign) -> FailureSign {
    FailureSign {
        what,
        sign,
        class: Class::Logical,
    }
}

use Sign::{Codes, Prints, Reports, Rest, Signals, TimedOut};

/// The built-in table.
pub const FAILURE_SIGNS: &[FailureSign] = &[
    world("it took too long", TimedOut),
    world(
        "somebody ended it (HUP, INT, QUIT, KILL, TERM), which is also how a system that is short of memory ends processes",
        Signals(&[1, 2, 3, 9, 15]),
    ),
    world(
        "a limit, or what lies below its memory, ended it (BUS, XCPU, XFSZ, SYS)",
        Signals(&[7, 24, 25, 31]),
    ),
    world(
        "a shell could not execute a program (126) or find it (127)",
        Codes(&[126, 127]),
    ),
    result(
        "tests failed, whatever they printed",
        Reports(&[
            "=…= # failed…",
            "# failed, …",
            "# failed in …",
            "FAILED …::…",
            "FAILED (…)",
            "test result: FAILED. …",
            "error: test failed, to rerun pass …",
            "# failing",
            "Tests:…# failed…",
            "Tests  …# failed…",
            "--- FAIL: …",
            "FAIL",
            "FAIL …",
            "[  FAILED  ] …",
            "not ok #…",
            "…% tests passed, # test…failed out of #",
            "[ERROR] Tests run: …",
            "# test…, … passed, # failed",
            "# example…, # failure…",
            "# runs, # assertions, # failures, …",
            "# runs, # assertions, 0 failures, # errors, …",
            "FAILURES!",
        ]),
    ),
    result(
        "what `xargs` ran said that it is to stop",
        Prints(&["xargs: …: exited with status 255; aborting"]),
    ),
    world("`timeout` says that the time is over", Codes(&[124])),
    world(
        "the exit codes of `sysexits.h` for hosts, services, the system, files that cannot be made, input and output, what may be repeated, and permissions",
        Codes(&[68, 69, 71, 72, 73, 74, 75, 77]),
    ),
    world(
        "`curl`: no host (5, 6), no connection (7), a part only (18), no time left (28), no secure connection (35, 60, 77), an answer that is empty or broken (52, 55, 56, 92)",
        Prints(&[
            "…curl: (5) …",
            "…curl: (6) …",
            "…curl: (7) …",
            "…curl: (18) …",
            "…curl: (28) …",
            "…curl: (35) …",
            "…curl: (52) …",
            "…curl: (55) …",
            "…curl: (56) …",
            "…curl: (60) …",
            "…curl: (77) …",
            "…curl: (92) …",
        ]),
    ),
    world(
        "a disk that is full, broken or cannot be written",
        Prints(&[
            ": No space left on device",
            "…ENOSPC…",
            ": Disk quota exceeded",
            "…EDQUOT…",
            ": database or disk is full",
            ": Read-only file system",
            "…EROFS…",
            ": Input/output error",
            ": Stale file handle",
        ]),
    ),
    world(
        "a permission that is missing",
        Prints(&[
            ": Permission denied",
            "…EACCES…",
            ": Operation not permitted",
            "…EPERM…",
        ]),
    ),
    world(
        "a program or a library that is missing or not for this machine",
        Prints(&[
            ": command not found",
            "…: #: …: not found",
            "sh: …: not found",
            "/bin/sh: …: not found",
            "env: …: No such file or directory",
            "/usr/bin/env: …: No such file or directory",
            ": bad interpreter",
            ": executable file not found in $PATH",
            "…spawn … ENOENT…",
            "make…: *** … Error 127",
            ": Exec format error",
            ": error while loading shared libraries",
            "…: version …GLIBC…not found (required by …",
            ": Text file busy",
        ]),
    ),
    world(
        "memory that is not there",
        Prints(&[
            ": Cannot allocate memory",
            "…ENOMEM…",
            ": Out of memory",
            "MemoryError",
            "MemoryError: …",
            "…std::bad_alloc…",
            "…JavaScript heap out of memory…",
            "…java.lang.OutOfMemoryError…",
            "memory allocation of # bytes failed",
            ": virtual memory exhausted",
            "…: line #: …Killed…",
            "…: Killed signal terminated program …",
        ]),
    ),
    world(
        "something that is taken, or used up",
        Prints(&[
            ": Too many open files",
            "…EMFILE…",
            "…ENFILE…",
            ": Resource temporarily unavailable",
            "…EAGAIN…",
            ": Cannot fork",
            ": Device or resource busy",
            "…EBUSY…",
            ": Address already in use",
            "…EADDRINUSE…",
            "E: Could not get lock …",
        ]),
    ),
    world(
        "a host whose name is not found",
        Prints(&[
            ": Temporary failure in name resolution",
            ": Name or service not known",
            ": nodename nor servname provided",
            ": No address associated with hostname",
            ": Could not resolve host",
            ": Could not resolve hostname",
            ": unable to resolve host address",
            ": failed to lookup address information",
            "…: no such host",
            "…: server misbehaving",
            "…getaddrinfo ENOTFOUND…",
            "…EAI_AGAIN…",
            "…Temporary failure resolving …",
            "…NameResolutionError…",
            "…java.net.UnknownHostException…",
        ]),
    ),
    world(
        "no connection, or one that broke",
        Prints(&[
            ": Connection refused",
            "…ECONNREFUSED…",
            ": Connection reset by peer",
            ": Connection reset",
            "…ECONNRESET…",
            ": Software caused connection abort",
            "…ECONNABORTED…",
            ": Connection timed out",
            ": Operation timed out",
            "…ETIMEDOUT…",
            ": No route to host",
            "…EHOSTUNREACH…",
            ": Host is unreachable",
            ": Network is unreachable",
            "…ENETUNREACH…",
            ": Network is down",
            ": Cannot assign requested address",
            ": Transport endpoint is not connected",
            ": the remote end hung up unexpectedly",
            ": Could not read from remote repository",
            "Connection closed by …",
            "kex_exchange_identification: …",
            "…: socket hang up",
            "…: i/o timeout",
            "…: context deadline exceeded…",
            "…: TLS handshake timeout",
            "…Read timed out…",
            "…subprocess.TimeoutExpired: …",
            "…Cannot connect to the Docker daemon…",
            "…Can't connect to MySQL server on …",
        ]),
    ),
    world(
        "a server that asks to come again, or fails itself",
        Prints(&[
            "…The requested URL returned error: STATUS…",
            "…HTTP Error STATUS…",
            "…HTTP error STATUS…",
            "…ERROR STATUS: …",
            "…STATUS Server Error: …",
            "…STATUS Client Error: …",
            "…HTTP status server error (STATUS …",
            "…HTTP status client error (STATUS …",
            "…HTTP status: STATUS…",
            "…HTTP code STATUS…",
            "…status code STATUS…",
            "…HTTP STATUS: …",
            "…(HTTP STATUS)…",
            "npm …ESTATUS",
            "npm …STATUS …",
            "E: Failed to fetch …  STATUS  …",
        ]),
    ),
    world(
        "too many requests",
        Prints(&[
            ": Too Many Requests",
            ": toomanyrequests",
            ": rate limit exceeded",
            "…API rate limit exceeded…",
            "…secondary rate limit…",
            "…rate_limit_error…",
            "…overloaded_error…",
            "…RESOURCE_EXHAUSTED…",
            "…ThrottlingException…",
            "…Rate exceeded…",
        ]),
    ),
    world(
        "a secure connection that was not made",
        Prints(&[
            "…SSL certificate problem…",
            "…certificate verify failed…",
            "…CERTIFICATE_VERIFY_FAILED…",
            "…x509: certificate …",
            "…SSL_ERROR_SYSCALL…",
            "…gnutls_handshake() failed…",
            "…handshake failure…",
            "…CERT_HAS_EXPIRED…",
            "…UNABLE_TO_VERIFY_LEAF_SIGNATURE…",
            ": self-signed certificate",
            ": unable to get local issuer certificate",
        ]),
    ),
    result("anything else: it ran, and the result is wrong", Rest),
];
