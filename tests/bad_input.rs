//! Input that nobody should write: one clear error or a bounded run, never a panic or a hang.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use crate::support::{Did, Sandbox};

const PLAN: &str = "---\nkind: plan\nid: p\nsteps:\n  - {id: a, run: \"true\"}\n---\n";

/// Checks and runs a file, and expects one error that says something, with the code for specs.
#[track_caller]
fn refused(content: impl AsRef<[u8]>, says: &str) {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", content);
    for command in ["check", "run"] {
        let did = sandbox.wf(&[command, "plan.md"]).exits(3).says(says);
        assert!(!did.all().contains("panicked"), "{}", did.all());
        assert!(did.all().len() < 100_000, "{} bytes of errors", did.all().len());
    }
    assert!(!sandbox.at(".wf").exists(), "nothing was begun");
}

#[test]
fn what_is_no_file() {
    let sandbox = Sandbox::new();
    sandbox.wf(&["run", "missing.md"]).exits(2).says("missing.md");
    std::fs::create_dir(sandbox.at("folder.md")).unwrap();
    sandbox.wf(&["run", "folder.md"]).exits(2).says("folder");
    sandbox.wf(&["run", "/dev/zero"]).exits(3);
}

#[test]
fn what_is_no_text() {
    refused([0xff, 0xfe, 0x00, 0x01, b'-', b'-'], "UTF-8");
    refused([b' '; 4096], "---");
    refused("", "---");
    refused("# only prose\n", "---");
    refused("---\nkind: plan\n", "---");
}

/// A workspace, a state and a plan whose names are not text are named and refused, and a file that a
/// step keeps is; nothing is begun by another name.
#[test]
fn names_that_are_no_text() {
    let sandbox = Sandbox::new();
    let odd = sandbox.path().join(OsStr::from_bytes(b"odd-\xff"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("plan.md"), PLAN).unwrap();
    std::fs::write(odd.join("wf.yaml"), "").unwrap();
    std::fs::write(sandbox.path().join(OsStr::from_bytes(b"p-\xff.md")), PLAN).unwrap();
    sandbox.file("plan.md", PLAN);
    let from = |args: &[&OsStr]| {
        let mut command = sandbox.command(&[]);
        Did::of(command.args(args)).exits(2).says("is not UTF-8")
    };
    let word = OsStr::new;
    from(&[word("-C"), odd.as_os_str(), word("run"), word("plan.md")]);
    from(&[word("-C"), odd.as_os_str(), word("list")]);
    from(&[word("run"), odd.join("plan.md").as_os_str()]);
    from(&[word("run"), OsStr::from_bytes(b"p-\xff.md")]);
    from(&[word("check"), OsStr::from_bytes(b"p-\xff.md")]);
    from(&[word("run"), word("--state"), odd.as_os_str(), word("plan.md")]);
    assert!(!odd.join(".wf").exists() && !sandbox.at(".wf").exists());
    let keeps =
        PLAN.replace("run: \"true\"", r#"run: "touch \"$(printf 'kept\\377')\"", artifacts: ["kept*"]"#);
    sandbox.file("keeps.md", keeps);
    sandbox.wf(&["run", "keeps.md"]).exits(1).says("is not valid UTF-8");
}

#[test]
fn what_is_text_all_the_same() {
    for text in [format!("\u{feff}{PLAN}"), PLAN.replace('\n', "\r\n")] {
        let sandbox = Sandbox::new();
        sandbox.file("plan.md", text);
        sandbox.wf(&["run", "plan.md"]).exits(0).says("succeeded");
    }
}

#[test]
fn what_would_grow_without_bounds() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b]\n";
    refused(format!("---\n{bomb}---\n"), "anchor");
    refused(format!("---\nkind: {}\n---\n", "[".repeat(10_000)), "deep");
    refused(format!("---\nkind: {}{}\n---\n", "[".repeat(10_000), "]".repeat(10_000)), "deep");
    let parens = format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000));
    refused(PLAN.replace("run:", &format!("when: \"{parens}\", run:")), "expression");
}

#[test]
fn what_goes_round_in_circles() {
    refused(PLAN.replace("run: \"true\"", "uses: plan.md"), "uses itself");
    let sandbox = Sandbox::new();
    sandbox.file("a.md", PLAN.replace("run: \"true\"", "uses: b.md"));
    sandbox.file("b.md", PLAN.replace("id: p", "id: q").replace("run: \"true\"", "uses: a.md"));
    sandbox.wf(&["run", "a.md"]).exits(3).says("a.md");
    let ring = "---\nkind: plan\nid: p\nsteps:\n  - {id: a, run: x, depends_on: [c]}\n  \
                - {id: b, run: x, depends_on: [a]}\n  - {id: c, run: x, depends_on: [b]}\n---\n";
    refused(ring, "a → c → b → a");
}

#[test]
fn names_that_would_be_paths() {
    refused(PLAN.replace("id: a", "id: ../../etc/passwd"), "name");
    refused(PLAN.replace("id: a", "id: a/b"), "name");
    refused(PLAN.replace("id: p", "id: ../p"), "id");
    refused(PLAN.replace("run: \"true\"", "uses: ../../outside.md"), "outside");
}

#[test]
fn a_skill_is_a_folder_and_no_kind() {
    refused("---\nkind: skill\nid: x\n---\n", "a skill is a folder with a SKILL.md");
}

/// Half a gigabyte of address space holds the program, its libraries and the stacks of its
/// threads, and not a log of 300 MB besides.
#[test]
fn output_without_end_is_cut_and_memory_stays_bounded() {
    let sandbox = Sandbox::new();
    sandbox.file("wf.yaml", "logs: {max_bytes: 100000}\n");
    let flood = "head -c 300000000 /dev/zero; head -c 1000 /dev/urandom";
    sandbox.file("plan.md", PLAN.replace("\"true\"", &format!("\"{flood}\"")));
    let command = sandbox.command(&["run", "plan.md"]);
    let mut limited = sandbox.program("sh");
    limited.args(["-c", "ulimit -v 500000; exec \"$0\" \"$@\""]).arg(command.get_program());
    let output = limited.args(command.get_args()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kept: u64 = files(&sandbox.at(".wf/runs")).iter().map(|(_, size)| size).sum();
    assert!(kept < 300_000, "{kept} bytes are kept");
    sandbox.wf(&["logs", "--last", "a", "--tail", "3"]).exits(0);
}

/// Every file below a folder, with its size.
pub fn files(dir: &std::path::Path) -> Vec<(std::path::PathBuf, u64)> {
    let entries = walkdir::WalkDir::new(dir).into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.map(|entry| (entry.path().to_owned(), entry.metadata().map_or(0, |m| m.len()))).collect()
}

#[test]
fn a_used_plan_that_a_link_takes_out_of_the_workspace_is_not_shown() {
    let (sandbox, outside) = (Sandbox::new(), Sandbox::new());
    outside.file("plan.md", "---\nkind: private words\n---\n");
    std::os::unix::fs::symlink(outside.at("plan.md"), sandbox.at("inner.md")).unwrap();
    sandbox.file("outer.md", "---\nkind: plan\nid: outer\nsteps:\n  - {id: a, uses: inner.md}\n---\n");
    let did = sandbox.wf(&["check", "outer.md"]).exits(3);
    let did = did.says("a symlink leads out of the workspace");
    assert!(!did.all().contains("private words"), "{}", did.all());
    sandbox.wf(&["check", "inner.md"]).says("private words");
}

#[test]
fn a_parameter_file_without_end_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("p.md", "---\nkind: plan\nid: p\nsteps:\n  - {id: a, run: \"true\"}\n---\n");
    sandbox.wf(&["run", "p.md", "--params", "/dev/zero"]).exits(2).says("larger than 16 MiB");
}

#[test]
fn a_secret_in_a_pipe_holds_nothing_up() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "p.md",
        "---\nkind: plan\nid: p\nsecrets:\n  T: {from: file, path: pipe}\nsteps:\n  - {id: a, \
         run: \"true\", env: {T: \"{{ secrets.T }}\"}}\n---\n",
    );
    let (at, mode) = (sandbox.at("pipe"), rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, &at, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    sandbox.wf(&["run", "p.md"]).exits(1).says("not a regular file");
}

#[test]
fn events_that_cannot_be_written_are_not_lost_in_silence() {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", PLAN);
    let mut command = sandbox.command(&["run", "--json", "plan.md"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the output"));
    sandbox.wf(&["show", "--last"]).exits(0).says("succeeded");
}
