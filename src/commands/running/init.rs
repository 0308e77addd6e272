use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use clap::Args;

use crate::Ui;
use wf_app::{CliExitCode, CommandError, normalize_path, relative_path};
use wf_base::untrusted::{BOLD, DIM, GOOD, NAME, paint, untrusted};

#[derive(Args, Debug)]
#[command(after_help = "Existing files are not changed, except for a line added to .gitignore.")]
pub struct InitArgs {
    /// Directory of the workspace
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

const CONFIG: &str = include_str!("templates/wf.yaml");
const FIRST_PLAN: &str = include_str!("templates/hello.md");

/// The gates of a new workspace, by the names of their files.
const GATES: [(&str, &str); 3] = [
    ("diff-size.md", include_str!("../../../gates/diff-size.md")),
    ("no-secrets.md", include_str!("../../../gates/no-secrets.md")),
    ("spend-limit.md", include_str!("../../../gates/spend-limit.md")),
];

/// The result for a file.
enum InitOutcome {
    Created,
    Added,
    Kept,
}

/// Creates the missing files of a workspace.
pub fn run(ui: &Ui, args: &InitArgs) -> Result<CliExitCode, CommandError> {
    let dir = normalize_path(&ui.host.cwd().join(&args.dir));
    let shown = |path: &Path| untrusted(&relative_path(path, ui.host.cwd())).to_string();
    let plan = dir.join("workflows").join("hello.md");
    let gates = GATES.map(|(name, text)| (dir.join(wf_lang::GATES).join(name), text));
    let files = [(dir.join("wf.yaml"), CONFIG), (plan.clone(), FIRST_PLAN)];
    for (path, content) in files.into_iter().chain(gates) {
        let outcome = create(&path, content).map_err(|error| io_failure(&shown(&path), &error))?;
        report(ui, &line(&outcome, &shown(&path)))?;
    }
    let ignore = dir.join(".gitignore");
    let outcome = add_line(&ignore, ".wf/").map_err(|error| io_failure(&shown(&ignore), &error))?;
    report(ui, &line(&outcome, &shown(&ignore)))?;
    let plan = shown(&plan);
    let next = format!(
        "\n{}\n  {}\n  {}\n",
        paint(BOLD, "next"),
        paint(NAME, &format!("wf check {plan}")),
        paint(NAME, &format!("wf run {plan}")),
    );
    report(ui, &next)?;
    Ok(CliExitCode::Ok)
}

/// Prints the results, unless quiet is requested.
fn report(ui: &Ui, text: &str) -> Result<(), CommandError> {
    if ui.is_quiet() { Ok(()) } else { ui.print(text) }
}

fn io_failure(path: &str, error: &std::io::Error) -> CommandError {
    CommandError::new(CliExitCode::Usage, format!("cannot write {path}: {error}"))
}

fn line(outcome: &InitOutcome, path: &str) -> String {
    match outcome {
        InitOutcome::Created => format!("{} {path}\n", paint(GOOD, "created")),
        InitOutcome::Added => format!("{} {path}\n", paint(GOOD, "  added")),
        InitOutcome::Kept => format!("{} {path}\n", paint(DIM, "   kept")),
    }
}

fn create(path: &Path, content: &str) -> std::io::Result<InitOutcome> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(content.as_bytes()).map(|()| InitOutcome::Created),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(InitOutcome::Kept),
        Err(error) => Err(error),
    }
}

fn add_line(path: &Path, line: &str) -> std::io::Result<InitOutcome> {
    let old = match fs::read(path) {
        Ok(old) => old,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return create(path, &format!("{line}\n"));
        }
        Err(error) => return Err(error),
    };
    if old.split(|byte| *byte == b'\n').any(|own| own.trim_ascii() == line.as_bytes()) {
        return Ok(InitOutcome::Kept);
    }
    let gap = if old.is_empty() || old.ends_with(b"\n") { "" } else { "\n" };
    let mut file = OpenOptions::new().append(true).open(path)?;
    writeln!(file, "{gap}{line}").map(|()| InitOutcome::Added)
}
