//! Console sessions: each file of `tests/cli` is a story that is told and checked.
//!
//! A fenced block `file=PATH` puts a file into an empty folder; in a `console` block each line
//! after `$` is executed there, and what it prints, and `? CODE` where it fails, must follow.
//! `[DIR]` stands for the folder, `[..]` for anything on a line. The clock stands still and run
//! ids follow from the place in the story. `WF_UPDATE=1` writes what differs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A part of a session file.
enum Part {
    /// Prose, or a fence line.
    Prose(String),
    /// A file to write: its path and its text.
    File(String, String),
    /// A command and what must follow it.
    Command(String, String),
}

#[test]
fn sessions_go_as_they_are_told() {
    let update = std::env::var_os("WF_UPDATE").is_some();
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir("tests/cli").expect("there are sessions").flatten() {
        let path = entry.path();
        let text = fs::read_to_string(&path).expect("sessions are text");
        let story = path.file_stem().expect("they have names").to_string_lossy();
        let told = retell(&text, &story);
        count += 1;
        if told != text && update {
            fs::write(&path, &told).expect("sessions can be written");
        } else if told != text {
            wrong.push(format!("{}:\n{}", path.display(), differences(&text, &told)));
        }
    }
    assert!(count > 10, "there is a session for each command");
    assert!(wrong.is_empty(), "{}\nWF_UPDATE=1 takes it over", wrong.join("\n"));
}

/// The session as it goes now.
fn retell(text: &str, story: &str) -> String {
    let dir = tempfile::tempdir().expect("there is room");
    let dir = dir.path().canonicalize().expect("it is there");
    let mut told = String::new();
    let mut number = 0;
    for part in parts(text) {
        match part {
            Part::Prose(line) => told.push_str(&line),
            Part::File(path, content) => {
                let file = dir.join(path);
                fs::create_dir_all(file.parent().expect("it is in the folder")).expect("room");
                fs::write(file, &content).expect("room");
                told.push_str(&content);
            }
            Part::Command(command, expected) => {
                number += 1;
                let printed = execute(&dir, &command, &format!("{story} {number}"));
                let kept = if matches(&expected, &printed) { expected } else { printed };
                let _ = write!(told, "$ {command}\n{kept}");
            }
        }
    }
    told
}

#[expect(clippy::disallowed_methods, reason = "the program is tried as people use it")]
fn execute(dir: &Path, command: &str, seed: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_wf"));
    let folder = program.parent().expect("it is in a folder").display();
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(dir)
        .env_clear()
        .env("PATH", format!("{folder}:/usr/local/bin:/usr/bin:/bin"))
        .env("HOME", dir)
        .env("USER", "robin")
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8")
        .env("WF_NOW", "2026-11-21T09:30:00Z")
        .env("WF_SEED", seed)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("there is a shell");
    let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed = printed.replace(&dir.display().to_string(), "[DIR]");
    if !printed.is_empty() && !printed.ends_with('\n') {
        printed.push('\n');
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => drop(writeln!(printed, "? {code}")),
        None => printed.push_str("? killed\n"),
    }
    printed
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        parts.push(Part::Prose(line.to_owned()));
        let ticks = line.chars().take_while(|c| *c == '`').count();
        if ticks < 3 {
            continue;
        }
        let end = format!("{}\n", "`".repeat(ticks));
        let mut body = Vec::new();
        while let Some(inside) = lines.next_if(|next| *next != end) {
            body.push(inside);
        }
        match line.trim_start_matches('`').trim() {
            "console" => parts.extend(commands(&body)),
            info => match info.split_once("file=") {
                Some((_, path)) => parts.push(Part::File(path.to_owned(), body.concat())),
                None => parts.extend(body.iter().map(|line| Part::Prose((*line).to_owned()))),
            },
        }
        parts.extend(lines.next().map(|end| Part::Prose(end.to_owned())));
    }
    parts
}

fn commands(body: &[&str]) -> Vec<Part> {
    let mut commands = Vec::new();
    for line in body {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => {
                let command = command.trim_end().to_owned();
                commands.push(Part::Command(command, String::new()));
            }
            (None, Some(Part::Command(_, expected))) => expected.push_str(line),
            (None, _) => commands.push(Part::Prose((*line).to_owned())),
        }
    }
    commands
}

/// Whether a text is what was expected; `[..]` stands for anything on a line.
fn matches(expected: &str, found: &str) -> bool {
    let mut lines = found.lines();
    expected.lines().all(|line| lines.next().is_some_and(|found| fits(line, found))) && lines.next().is_none()
}

fn fits(expected: &str, found: &str) -> bool {
    let Some((before, after)) = expected.split_once("[..]") else {
        return expected == found;
    };
    let Some(rest) = found.strip_prefix(before) else {
        return false;
    };
    (0..=rest.len()).filter_map(|at| rest.get(at..)).any(|rest| fits(after, rest))
}

fn differences(expected: &str, found: &str) -> String {
    let (expected, found): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let same = expected.iter().zip(&found).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(3);
    let mut text = String::new();
    for (mark, lines) in [("- ", &expected), ("+ ", &found)] {
        for line in lines.iter().skip(from).take(25) {
            let _ = writeln!(text, "{mark}{line}");
        }
    }
    text
}
