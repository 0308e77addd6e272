use proptest::prelude::*;
use regex::Regex;

use super::{END, classify, sign};
use crate::{
    machine::WorkExit,
    verify::{FAILURE_SIGNS, SignPattern},
};
use wf_model::{FailureClass, FailureClassRule};

const ONE: WorkExit = WorkExit::Code { code: 1 };

/// Returns a text that fits a pattern of the table.
fn example(pattern: &str) -> String {
    let text = pattern.replace("STATUS", "503").replace('#', "7");
    if text.starts_with(": ") { format!("tool{text}") } else { text.replace('…', " x ") }
}

#[test]
fn every_sign_of_the_table_decides_when_it_is_seen() {
    for row in FAILURE_SIGNS {
        let check = |exit: &WorkExit, err: &str| {
            let seen = sign(exit, b"", err.as_bytes());
            assert_eq!(seen.meaning, row.meaning, "{exit:?} {err:?}");
            assert_eq!(classify(exit, b"", err.as_bytes(), &[]), Some(row.failure_class));
        };
        match row.sign {
            SignPattern::TimedOut => check(&WorkExit::TimedOut, ""),
            SignPattern::Signals(signals) => {
                for &signal in signals {
                    check(&WorkExit::Signal { signal }, "");
                    check(&WorkExit::Code { code: 128 + signal }, "");
                }
            }
            SignPattern::Codes(codes) => codes.iter().for_each(|&code| check(&WorkExit::Code { code }, "")),
            SignPattern::Reports(patterns) | SignPattern::Prints(patterns) => {
                for pattern in patterns {
                    let text = format!("before\n{}\nafter", example(pattern));
                    check(&ONE, &text);
                    let seen = sign(&ONE, text.as_bytes(), b" \n");
                    assert_eq!(seen.meaning, row.meaning, "{text:?} on standard output");
                }
            }
            SignPattern::Rest => check(&ONE, "it is wrong"),
        }
    }
}

/// The last output of real programs, and the first words of the row that it is a sign of.
const PRINTED: &[(&str, &str)] = &[
    ("curl: (6) Could not resolve host: nowhere.example", "`curl`"),
    ("100  9  0     0 --:--:-- --:--:--     0curl: (7) Failed to connect to localhost port 1", "`curl`"),
    ("curl: (22) The requested URL returned error: 503", "a server"),
    ("curl: (22) The requested URL returned error: 404", "anything else"),
    ("urllib.error.HTTPError: HTTP Error 503: Service Unavailable", "a server"),
    (
        "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>",
        "a failed or broken connection",
    ),
    ("requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: http://x/", "a server"),
    ("2026-11-21 10:00:00 ERROR 502: Bad Gateway.", "a server"),
    ("E: Failed to fetch http://deb.example/x.deb  503  Service Unavailable [IP: 10.0.0.1 80]", "a server"),
    ("gh: Server Error (HTTP 502)", "a server"),
    ("npm error code E503", "a server"),
    ("wget: unable to resolve host address ‘nowhere.example’", "a host"),
    ("ssh: Could not resolve hostname nowhere: Name or service not known", "a host"),
    ("fatal: unable to access 'https://x.example/': Could not resolve host: x.example", "a host"),
    ("dial tcp: lookup x.example on 10.0.0.1:53: no such host", "a host"),
    ("Error: getaddrinfo EAI_AGAIN x.example", "a host"),
    ("git@github.com: Permission denied (publickey).", "a missing permission"),
    ("PermissionError: [Errno 13] Permission denied: '/etc/shadow'", "a missing permission"),
    ("cp: cannot create regular file 'x': Read-only file system", "a full"),
    ("OSError: [Errno 28] No space left on device", "a full"),
    ("Error: ENOSPC: no space left on device, write", "a full"),
    ("Error: Os { code: 28, kind: StorageFull, message: \"No space left on device\" }", "a full"),
    ("sh: 1: frobnicate: not found", "a program"),
    ("run.sh: line 3: frobnicate: command not found", "a program"),
    ("zsh: command not found: frobnicate", "a program"),
    ("/usr/bin/env: ‘python’: No such file or directory", "a program"),
    ("sh: ./x: /bin/nosh: bad interpreter: No such file or directory", "a program"),
    ("make: *** [Makefile:2: all] Error 127", "a program"),
    (
        "./x: error while loading shared libraries: libx.so: cannot open shared object file: No such file or directory",
        "a program",
    ),
    ("exec: \"tool\": executable file not found in $PATH", "a program"),
    ("Error: spawn tool ENOENT", "a program"),
    ("terminate called after throwing an instance of 'std::bad_alloc'", "exhausted memory"),
    ("MemoryError", "exhausted memory"),
    ("fatal error: runtime: out of memory", "exhausted memory"),
    ("run.sh: line 4:   123 Killed                  ./big", "exhausted memory"),
    ("sh: fork: retry: Resource temporarily unavailable", "a resource"),
    ("OSError: [Errno 98] Address already in use", "a resource"),
    (
        "psql: error: connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused",
        "a failed or broken connection",
    ),
    ("Error: connect ECONNREFUSED 127.0.0.1:1", "a failed or broken connection"),
    ("read tcp 10.0.0.1:1->10.0.0.2:2: read: connection reset by peer", "a failed or broken connection"),
    ("Get \"https://x/\": net/http: TLS handshake timeout", "a failed or broken connection"),
    ("docker: Error response from daemon: toomanyrequests: You have reached your limit.", "rate limiting"),
    (
        "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed",
        "a failed TLS",
    ),
    ("\u{1b}[31mcurl: (28) Operation timed out\u{1b}[0m", "`curl`"),
    ("50%\r75%\rcurl: (56) Recv failure\r", "`curl`"),
    // A program's result, whatever its words.
    ("x.c:1:10: fatal error: foo.h: No such file or directory", "anything else"),
    ("grep: rows.csv: No such file or directory", "anything else"),
    ("python3: can't open file 'x.py': [Errno 2] No such file or directory", "anything else"),
    ("ModuleNotFoundError: No module named 'report'", "anything else"),
    ("AssertionError: expected 'Connection refused', got 'ok'", "anything else"),
    ("FAIL: wanted Connection refused, found nothing", "anything else"),
    ("the log should not say connection refused", "anything else"),
    (
        "E       ConnectionError: [Errno 111] Connection refused\n=== 1 failed, 3 passed in 0.12s ===",
        "failed tests",
    ),
    ("test result: FAILED. 3 passed; 1 failed; 0 ignored", "failed tests"),
    ("1 failed in 0.02s", "failed tests"),
    ("FAILED (failures=1)", "failed tests"),
    ("  2 failing", "failed tests"),
    ("Tests:       1 failed, 2 total", "failed tests"),
    ("not ok 3 - connects: Connection refused", "failed tests"),
    ("67% tests passed, 1 tests failed out of 3", "failed tests"),
    ("3 examples, 0 failures\ncurl: (6) Could not resolve host: x", "`curl`"),
    ("Segmentation fault (core dumped)", "anything else"),
];

#[test]
fn what_programs_print_is_understood() {
    for (printed, what) in PRINTED {
        let seen = sign(&ONE, b"", printed.as_bytes());
        assert!(seen.meaning.starts_with(what), "{printed:?}: {}", seen.meaning);
    }
}

#[test]
fn how_it_ended_counts_before_what_it_printed() {
    let failed = b"=== 1 failed in 0.1s ===";
    let refused = b"tool: Connection refused";
    let class = |exit: WorkExit, err: &[u8]| classify(&exit, b"", err, &[]);
    let (logical, world) = (Some(FailureClass::Logical), Some(FailureClass::Environmental));
    for signal in [4, 5, 6, 8, 11, 13] {
        assert_eq!(class(WorkExit::Signal { signal }, b""), logical, "{signal}");
        assert_eq!(class(WorkExit::Code { code: 128 + signal }, b""), logical, "{signal}");
    }
    assert_eq!(class(WorkExit::Signal { signal: 9 }, failed), world);
    assert_eq!(class(WorkExit::Signal { signal: 6 }, b"what():  std::bad_alloc"), world);
    assert_eq!(class(WorkExit::TimedOut, failed), world);
    assert_eq!(class(WorkExit::Code { code: 127 }, failed), world);
    assert_eq!(class(WorkExit::Code { code: 75 }, failed), logical, "75 tests failed");
    assert_eq!(class(WorkExit::Code { code: 124 }, b"xargs: sh: exited with status 255; aborting"), logical);
    for code in [2, 3, 4, 5, 64, 65, 66, 70, 76, 78, 255] {
        assert_eq!(class(WorkExit::Code { code }, b""), logical, "{code}");
        assert_eq!(class(WorkExit::Code { code }, refused), world, "{code}");
    }
    assert_eq!(class(WorkExit::Code { code: 0 }, refused), None);
    assert_eq!(class(WorkExit::Completed, refused), None);
    assert_eq!(class(WorkExit::Cancelled, refused), None);
    assert_eq!(class(WorkExit::Interrupted, refused), Some(FailureClass::Interrupted));
    for class in [FailureClass::Logical, FailureClass::Environmental] {
        let reason = "it says why".to_owned();
        let unable = WorkExit::Error { reason, failure_class: class };
        assert_eq!(classify(&unable, b"", refused, &[]), Some(class));
    }
}

#[test]
fn only_the_end_counts() {
    let refused = "tool: Connection refused\n";
    let class = |out: &str, err: &str| classify(&ONE, out.as_bytes(), err.as_bytes(), &[]);
    let (logical, world) = (Some(FailureClass::Logical), Some(FailureClass::Environmental));
    let lines = |count: usize| "a line of data\n".repeat(count);
    assert_eq!(class("", &(refused.to_owned() + &lines(39))), world);
    assert_eq!(class("", &(refused.to_owned() + &lines(40))), logical);
    assert_eq!(class(&(refused.to_owned() + &lines(9)), ""), world);
    assert_eq!(class(&(refused.to_owned() + &lines(10)), ""), logical);
    assert_eq!(class(refused, "3 rows differ"), logical, "that was data");
    assert_eq!(class("", &(refused.to_owned() + &"x".repeat(END))), logical);
    assert_eq!(class("", &format!("{}\n{refused}", "x".repeat(9 * END))), world);
    // A line with its beginning cut off is ignored.
    let quoted = "it is not Connection refused\n";
    let rest = "z".repeat(END - "Connection refused\n".len());
    assert_eq!(class("", &format!("{quoted}{rest}")), logical);
}

fn rule(
    codes: &[i32],
    signal: Option<i32>,
    output: Option<&str>,
    failure_class: FailureClass,
) -> FailureClassRule {
    FailureClassRule {
        exit_code: codes.to_vec(),
        signal,
        output: output.map(|text| Regex::new(text).unwrap()),
        class: failure_class,
    }
}

#[test]
fn the_first_rule_that_holds_decides() {
    use FailureClass::{Environmental, Logical};
    let rules = [
        rule(&[], None, None, Environmental),
        rule(&[1, 3], None, Some("(?m)^quota"), Environmental),
        rule(&[3], None, None, Logical),
        rule(&[], Some(9), None, Logical),
        rule(&[], None, Some("refused"), Logical),
        rule(&[75], None, None, Logical),
    ];
    let class = |exit: &WorkExit, out: &str| classify(exit, out.as_bytes(), b"noise\n", &rules);
    let (code, signal) = (|code| WorkExit::Code { code }, |signal| WorkExit::Signal { signal });
    assert_eq!(class(&code(1), "quota: 3"), Some(Environmental));
    assert_eq!(class(&code(3), "quota: 3"), Some(Environmental));
    assert_eq!(class(&code(3), "x quota"), Some(Logical));
    assert_eq!(class(&code(2), "quota: 3"), Some(Logical), "no rule: the table");
    assert_eq!(class(&signal(9), ""), Some(Logical));
    assert_eq!(class(&signal(15), ""), Some(Environmental));
    assert_eq!(class(&code(75), ""), Some(Logical));
    assert_eq!(class(&WorkExit::TimedOut, "refused"), Some(Logical));
    assert_eq!(class(&WorkExit::TimedOut, ""), Some(Environmental));
    let unable = WorkExit::Error { reason: String::new(), failure_class: Environmental };
    assert_eq!(class(&unable, "refused"), Some(Logical));
    assert_eq!(class(&code(0), "refused"), None, "a success has no class");
    assert_eq!(class(&WorkExit::Interrupted, "refused"), Some(FailureClass::Interrupted));
}

proptest! {
    #[test]
    fn any_output_has_a_class(code in 1..256, out in any::<Vec<u8>>(), err in any::<Vec<u8>>()) {
        let exit = WorkExit::Code { code };
        let class = classify(&exit, &out, &err, &[]);
        prop_assert!(class.is_some());
        prop_assert_eq!(class, classify(&exit, &out, &err, &[]));
        prop_assert_eq!(classify(&WorkExit::Code { code: 0 }, &out, &err, &[]), None);
    }

    #[test]
    fn what_came_long_before_the_end_changes_nothing(before in "[ -~\\n]{0,200}", code in 1..256) {
        let exit = WorkExit::Code { code };
        let end = "a line of data\n".repeat(END / 10);
        let class = |text: &str| classify(&exit, text.as_bytes(), text.as_bytes(), &[]);
        prop_assert_eq!(class(&format!("{before}\n{end}")), class(&end));
    }
}
