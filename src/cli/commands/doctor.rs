use std::path::Path;

use clap::Args;

use crate::approval::Approvers;
use crate::cli::goals::attended;
use crate::cli::health::{self, Finding, Health};
use crate::cli::workspace::{APPROVERS, CONFIG};
use crate::cli::{Exit, Failure, Ui, load};
use crate::diag::{Diagnostic, Severity};
use crate::exec::sandbox::ability;
use crate::machine::Guard;
use crate::report::mistakes::Checked;
use crate::report::{BAD, DIM, GOOD, WARN, paint, plural};
use crate::source::{LineColumn, Source};
use crate::spec::Disk;
use crate::untrusted::styled_line;

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Looks at everything.
pub fn run(ui: &Ui, args: &DoctorArgs) -> Result<Exit, Failure> {
    let mut findings = Vec::from([
        good(
            "wf",
            format!("{} for {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS),
        ),
        workspace(ui),
        configuration(ui),
        approvers(ui),
    ]);
    findings.extend(misnamed(ui));
    findings.extend(health::of_state(ui));
    findings.extend(attended(ui));
    for (name, need) in [
        ("sh", Health::Bad),
        ("bash", Health::Weak),
        ("git", Health::Weak),
    ] {
        findings.push(program(ui, name, need));
    }
    findings.push(sandbox(ui));
    if args.json {
        let document = serde_json::json!({ "v": 1, "findings": findings });
        ui.print_json(&format!("{document:#}\n"))?;
    } else {
        ui.print(&findings.iter().map(line).collect::<String>())?;
    }
    let worst = findings.iter().map(|finding| finding.health).max();
    Ok(if worst == Some(Health::Bad) {
        Exit::State
    } else {
        Exit::Ok
    })
}

fn line(finding: &Finding) -> String {
    let (style, mark) = match finding.health {
        Health::Good => (GOOD, "ok"),
        Health::Weak => (WARN, "note"),
        Health::Bad => (BAD, "bad"),
    };
    let name = paint(DIM, &format!("{:<13}", finding.name));
    format!(
        "{} {name} {}\n",
        paint(style, &format!("{mark:>4}")),
        styled_line(&finding.found)
    )
}

fn good(name: &'static str, found: impl Into<String>) -> Finding {
    Finding {
        name,
        health: Health::Good,
        found: found.into(),
    }
}

fn workspace(ui: &Ui) -> Finding {
    let root = ui.workspace().root;
    let why = if root.join(CONFIG).exists() {
        "it has a wf.yaml"
    } else if root.join(".git").exists() {
        "the top level of a git repository"
    } else {
        "neither wf.yaml nor git found, so it is the current folder"
    };
    good("workspace", format!("{} · {why}", root.display()))
}

fn configuration(ui: &Ui) -> Finding {
    let files = Disk::new(ui.workspace().root);
    let read = load::read_config(&files, CONFIG).map(|(_, checked)| checked);
    let none = format!("no {CONFIG}: the defaults hold");
    let (health, found) = read.map_or((Health::Good, none), |checked| told(&checked, CONFIG));
    Finding::new("configuration", health, found)
}

/// Who may approve here.
fn approvers(ui: &Ui) -> Finding {
    let files = Disk::new(ui.workspace().root);
    let read = load::read_approvers(&files, APPROVERS);
    let none = format!("no {APPROVERS}: your own keys approve what you run");
    let (health, found) = read.map_or((Health::Good, none), |(file, checked)| {
        let keys = file.map_or(0, |file| Approvers::from(file).keys.len());
        told(&checked, &format!("{APPROVERS} · {}", plural(keys, "key")))
    });
    Finding::new("approvers", health, found)
}

/// How a file is: what is wrong with it first, with the place, the cause and the remedy.
fn told(checked: &Checked, good: &str) -> (Health, String) {
    let mut wrong = checked.diagnostics.iter();
    let worst = wrong.clone().map(Diagnostic::severity).min();
    let health = match worst {
        None => return (Health::Good, good.to_owned()),
        Some(Severity::Error) => Health::Bad,
        Some(Severity::Warning) => Health::Weak,
    };
    let is_worst = |one: &&Diagnostic| Some(one.severity()) == worst;
    let first = wrong
        .find(is_worst)
        .map(|one| line_of(&checked.source, one));
    let found = first.unwrap_or_default();
    let others = checked.diagnostics.len() - 1;
    let more = format!(" · and {}: wf check", plural(others, "more mistake"));
    (health, if others > 0 { found + &more } else { found })
}

/// A mistake on one line.
fn line_of(source: &Source, wrong: &Diagnostic) -> String {
    let LineColumn { line, column } = source.place(wrong.span.start);
    let remedy = wrong.help.as_ref().map(|help| format!(" · {help}"));
    format!(
        "{}:{line}:{column}: {}{}",
        source.path(),
        wrong.message,
        remedy.unwrap_or_default()
    )
}

/// Files that are not read, though they look as if they were meant to be.
fn misnamed(ui: &Ui) -> Vec<Finding> {
    let root = ui.workspace().root;
    let names = [
        ("wf.yml", CONFIG),
        ("approvers.yml", APPROVERS),
        ("approver.yaml", APPROVERS),
        ("approver.yml", APPROVERS),
    ];
    let there = names
        .into_iter()
        .filter(|(name, _)| root.join(name).exists());
    let one = |(name, meant)| {
        let found = format!("{name} is not read · call it {meant}, or remove it");
        Finding::new("not read", Health::Weak, found)
    };
    there.map(one).collect()
}

/// What a sandbox enforces here, found out by making one.
fn sandbox(ui: &Ui) -> Finding {
    let files = Disk::new(ui.workspace().root);
    let config = load::read_config(&files, CONFIG).map(|(config, _)| config);
    let on = config.is_none_or(|config| config.sandbox.on);
    let able = ability(&ui.workspace().root);
    let (health, found) = match (able.why_not, on) {
        (None, true) => (
            Health::Good,
            format!("checks are confined: {}", words(&able.guards)),
        ),
        (None, false) => (
            Health::Weak,
            "switched off in wf.yaml: checks can write wherever you can; it would work here".into(),
        ),
        (Some(_), false) => (
            Health::Weak,
            "switched off in wf.yaml: checks can write wherever you can; it would not work here"
                .into(),
        ),
        (Some(why), true) => (Health::Bad, why),
    };
    Finding {
        name: "sandbox",
        health,
        found,
    }
}

/// What is enforced, and which limits are not.
fn words(guards: &[Guard]) -> String {
    let known: Vec<&str> = guards.iter().map(|guard| guard.as_str()).collect();
    let limits = [
        (
            Guard::Scratch,
            "a scratch layer over the workspace: it can only be read",
        ),
        (Guard::Landlock, "Landlock"),
        (Guard::Memory, "a limit on memory"),
        (Guard::Count, "a limit on processes"),
    ];
    let missing = limits.iter().filter(|(guard, _)| !guards.contains(guard));
    let missing: Vec<&str> = missing.map(|(_, what)| *what).collect();
    match missing.as_slice() {
        [] => known.join(" "),
        missing => format!("{} · without {}", known.join(" "), missing.join(", ")),
    }
}

/// Whether a program is on the `PATH`; nothing is executed.
fn program(ui: &Ui, name: &'static str, need: Health) -> Finding {
    let path = ui.env.var("PATH").unwrap_or("");
    let mut places = path.split(':').map(|dir| Path::new(dir).join(name));
    match places.find(|place| place.is_file()) {
        Some(place) => good(name, place.display().to_string()),
        None => Finding {
            name,
            health: need,
            found: "not found on the PATH".into(),
        },
    }
}
