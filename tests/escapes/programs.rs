//! Starting programs that are not on the list of a step.

use super::attempt::Attempt;

pub const ATTEMPTS: &[Attempt] = &[
    Attempt::sh(
        "run_unlisted",
        "execute a program that is not listed, by name and by path",
        r#"touch "out/$MARK-a" || :; /usr/bin/touch "out/$MARK-b" || :; /bin/touch "out/$MARK-c""#,
    )
    .step("write: [out], exec: [sh]"),
    Attempt::sh(
        "run_copy",
        "execute a copy of it",
        r#"for at in out /tmp /dev/shm; do cp /usr/bin/touch "$at/copy-$NAME"; "$at/copy-$NAME" "out/$MARK" || :; done"#,
    )
    .step("write: [out], exec: [sh, cp]"),
    Attempt::sh(
        "run_by_loader",
        "let the loader of libraries execute it",
        r#"for loader in /lib*/ld-*.so* /usr/lib/*/ld-*.so*; do "$loader" /usr/bin/touch "out/$MARK" || :; done"#,
    )
    .step("write: [out], exec: [sh]"),
    Attempt::sh(
        "run_copy_by_loader",
        "let the loader execute a copy of it",
        r#"for at in out /tmp /dev/shm; do cp /usr/bin/touch "$at/copied-$NAME"
  for loader in /lib*/ld-*.so* /usr/lib/*/ld-*.so*; do "$loader" "$at/copied-$NAME" "out/$MARK" || :; done
done"#,
    )
    .step("write: [out], exec: [sh, cp]"),
    Attempt::sh(
        "run_own_by_loader",
        "write a program, and let the loader execute it",
        r#"python3 -c 'import os
for at in ("out/own", "/tmp/own", "/dev/shm/own"):
    open(at, "wb").write(open("own", "rb").read())'
for own in own out/own /tmp/own /dev/shm/own; do
  for loader in /lib*/ld-*.so* /usr/lib/*/ld-*.so*; do "$loader" "$own" "out/$MARK" || :; done
done"#,
    )
    .step("write: [out], exec: [sh, python3]"),
    Attempt::sh(
        "run_by_interpreter",
        "execute a script whose interpreter is not listed",
        r#"./tool.py "out/$MARK""#,
    )
    .step("write: [out], exec: [sh, ./tool.py]"),
    Attempt::python(
        "run_from_memory",
        "execute a program out of memory",
        r#"
program = open("own", "rb").read()
memory = call("memfd_create", b"x", 0)
os.write(memory, program)
if os.fork() == 0:
    os.execv(f"/proc/self/fd/{memory}", ["touch", f"out/{MARK}"])
os.wait()
"#,
    )
    .step("write: [out], exec: [python3]"),
    Attempt::sh(
        "see_variables",
        "see a variable that was not asked for",
        "env; cat /proc/self/environ",
    )
    .only_inside(),
];
