//! Reading and writing files.

use super::attempt::Attempt;

pub const ATTEMPTS: &[Attempt] = &[
    Attempt::sh("read_by_path", "read a file elsewhere", r#"cat "$OUTSIDE/secret.txt""#),
    Attempt::sh("read_by_dots", "read it by `..`", "cat ../outside/secret.txt"),
    Attempt::sh(
        "read_by_link",
        "read it through a link that leads out",
        "cat leads-out/secret.txt",
    ),
    Attempt::sh(
        "read_by_new_link",
        "make a link that leads out, and read through it",
        r#"ln -s "$OUTSIDE" "out/$NAME"; cat "out/$NAME/secret.txt""#,
    ),
    Attempt::sh(
        "read_by_hard_link",
        "make a hard link to it",
        r#"ln "$OUTSIDE/secret.txt" "out/$NAME" && cat "out/$NAME""#,
    ),
    Attempt::sh("read_key", "read a key in the home folder", "cat ~/.ssh/id"),
    Attempt::sh(
        "read_shadow",
        "read the passwords of the system",
        "grep -q : /etc/shadow && echo got-through",
    )
    .only_inside(),
    Attempt::sh(
        "read_private_settings",
        "read settings of the system that not everybody may read",
        r#"find /etc -type f ! -perm -004 -size +0 2>/dev/null | while read -r at; do
  if head -c 1 "$at" >/dev/null 2>&1; then echo "got-through $at"; fi
done"#,
    )
    .only_inside(),
    Attempt::sh(
        "read_state",
        "read the state of wf",
        "cat .wf/guarded.txt .wf/state.db .wf/keepers/* .wf/runs/*/*",
    ),
    Attempt::python(
        "read_moved_state",
        "move the state away and read it there",
        r#"
for name in ("out/moved", "moved"):
    try:
        os.rename(".wf", name)
    except OSError as error:
        print(error)
    show(name + "/guarded.txt")
"#,
    )
    .only_inside(),
    Attempt::python(
        "read_database",
        "ask the database of wf",
        r#"
import sqlite3
for row in sqlite3.connect("file:.wf/state.db?mode=ro", uri=True).execute("select * from events"):
    print(row)
"#,
    ),
    Attempt::python(
        "read_by_process",
        "go through the roots and folders of processes",
        r#"
for number in numbers():
    for way in ("root", "cwd"):
        show(f"/proc/{number}/{way}{OUTSIDE if way == 'root' else ''}/secret.txt")
"#,
    )
    .only_inside(),
    Attempt::sh(
        "read_inherited",
        "read what wf was given by whoever started it",
        r"cat /proc/self/fd/8 /dev/fd/9/secret.txt; cat <&8",
    ),
    Attempt::python(
        "read_by_inherited_folder",
        "go on from any descriptor that is left open",
        r#"
for number in range(3, 1024):
    for path in ("secret.txt", "outside/secret.txt", "../outside/secret.txt"):
        try:
            found = os.open(path, os.O_RDONLY, dir_fd=number)
            print(os.read(found, 1000))
        except OSError:
            pass
"#,
    ),
    Attempt::python(
        "read_environment",
        "read the environments of other processes",
        r#"
for number in numbers():
    show(f"/proc/{number}/environ")
"#,
    ),
    Attempt::sh(
        "read_shared_memory",
        "read a file in /dev/shm, /tmp and /var/tmp",
        r#"cat "/dev/shm/wf-escape-$TAG-secret" "/tmp/wf-escape-$TAG-secret" "/var/tmp/wf-escape-$TAG-secret""#,
    ),
    Attempt::python(
        "read_segment",
        "attach shared memory of another process",
        r#"
libc.shmat.restype = ctypes.c_void_p
number = libc.shmget(int(os.environ["SEGMENT"]), 0, 0)
at = libc.shmat(number, None, 0o10000)
if number >= 0 and at not in (None, ctypes.c_void_p(-1).value):
    print(ctypes.string_at(at, 32))
"#,
    ),
    Attempt::sh(
        "write_by_path",
        "write to a file elsewhere",
        r#"echo "$NAME" >> "$OUTSIDE/guarded.txt""#,
    ),
    Attempt::sh(
        "write_new",
        "make files elsewhere",
        r#"for at in "$OUTSIDE" .. /tmp /var/tmp /dev/shm "$HOME"; do touch "$at/$MARK" || :; done"#,
    ),
    Attempt::sh(
        "write_system",
        "make files in the system's folders",
        r#"for at in /etc /usr /usr/bin /usr/local/bin /opt /lib / /run /var; do touch "$at/$MARK" || :; done"#,
    )
    .only_inside(),
    Attempt::sh(
        "write_guarded",
        "write to a file of the workspace that it may not",
        r#"echo "$NAME" >> guarded.txt"#,
    ),
    Attempt::sh(
        "write_by_link",
        "write through links, out of a folder that it may write",
        r#"ln -s "$OUTSIDE" "out/$NAME-a"; echo "$NAME" >> "out/$NAME-a/guarded.txt"
ln -s ../guarded.txt "out/$NAME-b"; echo "$NAME" >> "out/$NAME-b""#,
    ),
    Attempt::sh(
        "replace_guarded",
        "put another file in its place",
        r#"echo "$NAME" > "out/$NAME"; mv "out/$NAME" guarded.txt; rm -f guarded.txt; mv guarded.txt "out/gone""#,
    )
    .only_inside(),
    Attempt::sh(
        "write_state",
        "write to the state of wf",
        r#"echo "$NAME" >> .wf/guarded.txt; touch ".wf/$MARK" .wf/runs/"$MARK""#,
    ),
    Attempt::sh(
        "replace_state",
        "put another folder in the place of the state",
        r#"mv .wf gone; mkdir -p .wf; echo "$NAME" > .wf/guarded.txt; umount .wf; echo "$NAME" >> .wf/guarded.txt"#,
    )
    .step("write: [.]")
    .only_inside(),
    Attempt::python(
        "write_lower_layer",
        "write below the scratch layer",
        r#"
for path in ("/low", "/old", "/scratch/up", "/new"):
    put(path + "/guarded.txt")
import mmap
file = os.open("guarded.txt", os.O_RDWR)
os.pwrite(file, NAME.encode(), 0)
seen = mmap.mmap(file, 0)
seen[:len(NAME)] = NAME.encode()
seen.flush()
for way in (f"/proc/self/fd/{file}",):
    put(way)
"#,
    )
    .only_inside(),
    Attempt::python(
        "write_by_descriptor",
        "open again, to write, what was opened to read",
        r#"
file = os.open("guarded.txt", os.O_RDONLY)
put(f"/proc/self/fd/{file}")
folder = os.open(".", os.O_PATH)
put(f"/proc/self/fd/{folder}/guarded.txt")
put(f"/proc/self/cwd/guarded.txt")
put(f"/proc/self/root{os.getcwd()}/guarded.txt")
"#,
    ),
    Attempt::python(
        "swap_folder",
        "swap a folder that it may write for a link, over and over",
        r#"
end = time.time() + 0.5
while time.time() < end:
    for make in (lambda: os.symlink(OUTSIDE, "out/race"), lambda: os.mkdir("out/race")):
        try:
            make()
            put("out/race/guarded.txt")
            os.rename("out/race", f"out/race-{NAME}-{time.time()}")
        except OSError:
            pass
"#,
    ),
    Attempt::sh(
        "deceive_output",
        "put a link in the place of the output file",
        r#"rm -f "$WF_OUTPUT"; ln -s "$OUTSIDE/secret.txt" "$WF_OUTPUT" && cat "$WF_OUTPUT""#,
    )
    .step("write: [out]"),
    Attempt::python(
        "open_by_handle",
        "open the root of the disk by its number",
        r#"
class Handle(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("bytes", ctypes.c_ubyte * 128)]
mount = ctypes.c_int()
handle = Handle(size=128)
call("name_to_handle_at", -100, b"guarded.txt", ctypes.byref(handle), ctypes.byref(mount), 0)
here = os.open(".", os.O_RDONLY)
for number in (2, 1, 64, 96, 128, 256):
    handle.bytes[0:4] = list(number.to_bytes(4, "little"))
    found = call("open_by_handle_at", here, ctypes.byref(handle), os.O_RDONLY)
    if found >= 0:
        through(os.listdir(found))
found = call("open_by_handle_at", here, ctypes.byref(handle), os.O_RDONLY)
"#,
    )
    .only_inside(),
];
