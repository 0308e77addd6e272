//! Console sessions: each file of `tests/cli`, and the tutorial, is a story that is told and checked.
//!
//! A fenced block `file=PATH` puts a file into an empty folder; in a `console` block each line
//! after `$` is executed there, and what it prints, and `? CODE` where it fails, must follow.
//! `[DIR]` stands for the folder, `[..]` for anything on a line. The clock stands still and run
//! ids follow from the place in the story. `WF_UPDATE=1` writes what differs.

use std::{fmt::Write as _, fs, path::Path};

/// A part of a session file.
enum Part {
    /// Prose, or a fence line.
    Prose(String),
    /// A file to write: its path and its text.
    File(String, String),
    /// A command and what must follow it.
    Command(String, String),
}

/// Makes a test of each session, so that they run side by side, and the list of all.
macro_rules! sessions {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            goes_as_it_is_told(&Path::new("tests/cli").join(file_name(stringify!($name))));
        })*

        /// The names of the files.
        fn names() -> Vec<String> {
            vec![$(file_name(stringify!($name))),*]
        }
    };
}

sessions! {
    agent agent_approval agent_compactor agent_context agent_conversation agent_dispatch agent_escalate
    agent_gates agent_gates_ask agent_gates_give agent_guidance agent_health agent_interaction
    agent_persona agent_persona_file agent_program agent_program_approval agent_program_repair
    agent_program_untrusted agent_recall agent_replan agent_replay agent_tools appended_steps approve
    attest audit backends backup cache check completions connection connection_health decisions diff
    doctor durability ends evidence first_hour foreign gate generated goal goal_accept goal_autonomy
    goal_broken goal_deploy goal_job goals graph hints idempotency import_sylk inbox init item_keys judge kept key left limits
    locks logs mcp mcp_health mcp_pin memory memory_import memory_notes one_ledger output_lines outputs
    plan planner_ways preferences pruned queue records replan replay replay_memory reports resume retry risk run
    schema serve sessions_of_work skill skill_danger skill_import skill_install skill_scripts skill_validate
    state suggestion typed_answers typed_answers_edit typed_answers_select undo usage uses verify
}

/// The name of the file of a session.
fn file_name(test: &str) -> String {
    test.replace('_', "-") + ".md"
}

#[test]
fn every_session_is_a_test() {
    let files = fs::read_dir("tests/cli").expect("there are sessions").flatten();
    let mut files: Vec<String> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    files.sort();
    let mut names = names();
    names.sort();
    assert_eq!(names, files, "list the session in tests/cli.rs");
}

#[test]
fn the_tutorial_goes_as_it_is_told() {
    goes_as_it_is_told(Path::new("docs/first-hour.md"));
}

fn goes_as_it_is_told(path: &Path) {
    let text = fs::read_to_string(path).expect("sessions are text");
    let story = path.file_stem().expect("they have names").to_string_lossy();
    let told = retell(&text, &story);
    if told != text && std::env::var_os("WF_UPDATE").is_some() {
        fs::write(path, &told).expect("sessions can be written");
    } else {
        assert!(
            told == text,
            "{}:\n{}\nWF_UPDATE=1 takes it over",
            path.display(),
            differences(&text, &told)
        );
    }
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
