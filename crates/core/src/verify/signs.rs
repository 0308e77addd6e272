use wf_model::FailureClass;

/// One row of the table that classifies failures: a sign and its meaning. The first row whose sign
/// is seen decides.
#[derive(Clone, Copy, Debug)]
pub struct FailureSign {
    /// A short description of the cause.
    pub meaning: &'static str,
    pub sign: SignPattern,
    pub failure_class: FailureClass,
}

/// The sign of a failure. In patterns, `…` stands for any text, `#` for a number above zero, and `STATUS` for
/// an HTTP status asking to retry. A pattern beginning with `: ` is a message at the end of a line, as
/// systems and programs print it; all others are whole lines.
#[derive(Clone, Copy, Debug)]
pub enum SignPattern {
    /// The process exceeded its time limit.
    TimedOut,
    /// A signal ended the process, or a shell reports it of a child: exit code 128 and the number.
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

const fn world(meaning: &'static str, sign: SignPattern) -> FailureSign {
    FailureSign { meaning, sign, failure_class: FailureClass::Environmental }
}

const fn result(meaning: &'static str, sign: SignPattern) -> FailureSign {
    FailureSign { meaning, sign, failure_class: FailureClass::Logical }
}

use SignPattern::{Codes, Prints, Reports, Rest, Signals, TimedOut};

/// The built-in table.
pub const FAILURE_SIGNS: &[FailureSign] = &[
    world("a timeout", TimedOut),
    world(
        "a signal from a user or the system (HUP, INT, QUIT, KILL, TERM); the kernel also sends \
         KILL when memory is short",
        Signals(&[1, 2, 3, 9, 15]),
    ),
    world(
        "a signal from a resource limit or the memory system (BUS, XCPU, XFSZ, SYS)",
        Signals(&[7, 24, 25, 31]),
    ),
    world("a program that a shell could not execute (126) or find (127)", Codes(&[126, 127])),
    result(
        "failed tests, whatever else is printed",
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
        "an `xargs` command that requested to stop",
        Prints(&["xargs: …: exited with status 255; aborting"]),
    ),
    world("an expired `timeout`", Codes(&[124])),
    world(
        "the exit codes of `sysexits.h` for hosts, services, the system, files that cannot be \
         created, input and output, temporary failures, and permissions",
        Codes(&[68, 69, 71, 72, 73, 74, 75, 77]),
    ),
    world(
        "`curl`: unknown host (5, 6), no connection (7), partial transfer (18), timeout (28), no \
         TLS connection (35, 60, 77), an empty or broken response (52, 55, 56, 92)",
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
        "a full, broken or read-only disk",
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
        "a missing permission",
        Prints(&[": Permission denied", "…EACCES…", ": Operation not permitted", "…EPERM…"]),
    ),
    world(
        "a program or a library that is missing or not built for this machine",
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
        "exhausted memory",
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
        "a resource that is busy or exhausted",
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
        "a host name that cannot be resolved",
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
        "a failed or broken connection",
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
        "a server that is failing or asks to retry later",
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
        "rate limiting",
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
        "a failed TLS connection",
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
    result("anything else: the program ran, and its result is wrong", Rest),
];
