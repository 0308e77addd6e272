use std::path::{Path, PathBuf};

use clap::Args;

use super::upgrade_outlook::print_outlook;
use crate::{Ui, model_findings::model_findings};
use wf_app::{
    APPROVERS, CONFIG, CliExitCode, CommandError, Host,
    call_findings::{RecordedCalls, connection_findings, server_findings},
    doctor::{self, DoctorFinding, DoctorStatus},
    git::{GitLocation, RepositoryTrust},
    goals::{DeployedGoal, check_goals_scheduled, check_standing_approvals, deployed_goals},
    load, relative_path,
    repair::repair_state,
    run_worktree::unrecorded_worktrees,
};
use wf_base::{
    diag::{CheckedFile, Diagnostic, Severity},
    name::PlanId,
    program,
    source::{LineColumn, SourceText},
    units::plural,
    untrusted::{BAD, DIM, GOOD, WARN, paint, styled_line},
};
use wf_core::machine::IsolationKind;
use wf_exec::{container, sandbox::ability};
use wf_lang::DiskFiles;
use wf_sign::approval::Approvers;

#[derive(Args, Debug)]
#[command(after_help = "\
--repair rebuilds the tables beside the log of events where they differ from it, and prints each
difference. It changes nothing if the log itself, a text or a stored file was altered: `wf
restore` replaces these. It changes nothing either while a run or a daemon works. A manual change
of the database also causes differences: to examine it, copy the state folder first.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct DoctorArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
    /// Verify the whole history, also what was verified before
    #[arg(long)]
    full: bool,
    /// Rebuild tables that differ from the log, instead of checking the environment
    #[arg(long, conflicts_with_all = ["json", "full"])]
    repair: bool,
    /// Print what this version would change in a state of an earlier one, and change nothing
    #[arg(long, conflicts_with_all = ["json", "full", "repair"])]
    upgrade: bool,
}

/// Runs all checks of the environment.
pub fn run(ui: &Ui, args: &DoctorArgs) -> Result<CliExitCode, CommandError> {
    if args.upgrade {
        return print_outlook(ui);
    }
    if args.repair {
        return repair(ui);
    }
    let mut findings = Vec::from([
        good_finding("wf", format!("{} for {}", program::version(), std::env::consts::OS)),
        workspace(&ui.host),
        configuration(ui),
        approvers(ui),
    ]);
    findings.extend(repository(&ui.host));
    findings.extend(worktrees(&ui.host));
    findings.extend(misnamed(&ui.host));
    findings.extend(doctor::check_state(ui, args.full));
    findings.extend(check_goals_scheduled(ui).into_iter().map(|goal_finding| goal_finding.finding));
    findings.extend(check_standing_approvals(ui));
    for (name, need) in [("sh", DoctorStatus::Bad), ("bash", DoctorStatus::Weak), ("git", DoctorStatus::Weak)]
    {
        findings.push(program(&ui.host, name, need));
    }
    findings.push(containers(&ui.host));
    findings.push(sandbox(&ui.host));
    let calls = RecordedCalls::read(&ui.host);
    findings.extend(models(ui, &calls));
    findings.extend(deployments(&ui.host));
    findings.extend(connection_findings(&ui.host, &calls).unwrap_or_default());
    if args.json {
        let document = serde_json::json!({ "v": 1, "findings": findings });
        ui.print_json(&format!("{document:#}\n"))?;
    } else {
        ui.print(&findings.iter().map(line).collect::<String>())?;
    }
    let worst = findings.iter().map(|finding| finding.health).max();
    Ok(if worst == Some(DoctorStatus::Bad) { CliExitCode::State } else { CliExitCode::Ok })
}

/// Rebuilds the tables differing from the log.
fn repair(ui: &Ui) -> Result<CliExitCode, CommandError> {
    let repaired = repair_state(ui)?;
    if repaired.is_empty() {
        ui.print_line("nothing to repair: every table matches the log")?;
        return Ok(CliExitCode::Ok);
    }
    for difference in &repaired {
        ui.print_line(difference)?;
    }
    let count = plural(repaired.len(), "difference");
    ui.print_line(&format!("repaired {count}: the tables were rebuilt from the log"))?;
    Ok(CliExitCode::Ok)
}

fn line(finding: &DoctorFinding) -> String {
    let (style, mark) = match finding.health {
        DoctorStatus::Good => (GOOD, "ok"),
        DoctorStatus::Weak => (WARN, "note"),
        DoctorStatus::Bad => (BAD, "bad"),
    };
    let name = paint(DIM, &format!("{:<13}", finding.name));
    format!("{} {name} {}\n", paint(style, &format!("{mark:>4}")), styled_line(&finding.found))
}

fn good_finding(name: &'static str, found: impl Into<String>) -> DoctorFinding {
    DoctorFinding { name, health: DoctorStatus::Good, found: found.into() }
}

fn workspace(host: &Host) -> DoctorFinding {
    let root = host.workspace().root;
    let reason = if root.join(CONFIG).exists() {
        "contains wf.yaml"
    } else if root.join(".git").exists() {
        "top level of a git repository"
    } else {
        "no wf.yaml or git repository found, using the current directory"
    };
    good_finding("workspace", format!("{} · {reason}", root.display()))
}

/// Reports the folders outside of the workspace that git needs, which sandboxes show, or why git cannot work in a sandbox.
fn repository(host: &Host) -> Option<DoctorFinding> {
    let root = host.workspace().root;
    let location = match GitLocation::find(&root) {
        Ok(location) => location?,
        Err(error) => {
            let description = format!("git does not work in sandboxes: {error}");
            return Some(DoctorFinding::new("repository", DoctorStatus::Weak, description));
        }
    };
    let mut folders = location.folders();
    folders.retain(|folder| !folder.starts_with(&root));
    folders.sort();
    folders.dedup_by(|folder, before| folder.starts_with(before));
    let shown: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let outside = format!("{} · outside the workspace; git in a sandbox can read it", shown.join(", "));
    let outside = (!shown.is_empty()).then_some(outside);
    let (health, trust) = repository_trust(host, &location);
    let outside = outside.filter(|_| health == DoctorStatus::Good);
    let descriptions: Vec<String> = outside.into_iter().chain(trust).collect();
    (!descriptions.is_empty()).then(|| DoctorFinding::new("repository", health, descriptions.join(" · ")))
}

/// Names the worktrees of runs beside the repository without a run in the workspace.
fn worktrees(host: &Host) -> Vec<DoctorFinding> {
    let worktrees = unrecorded_worktrees(host).into_iter();
    let finding = |folder: PathBuf| {
        let shown = relative_path(&folder, host.cwd());
        let description = format!(
            "{shown} · no run of this workspace works there: a `wf run --worktree` was killed before its run began, or another \
             workspace has it; if you need nothing in it: git worktree remove --force {shown}, or rm -r {shown}"
        );
        DoctorFinding::new("worktree", DoctorStatus::Weak, description)
    };
    worktrees.map(finding).collect()
}

/// Returns the health of a repository by its owner, and the trust of the user in another one; `None`: it is the user's own.
fn repository_trust(host: &Host, location: &GitLocation) -> (DoctorStatus, Option<String>) {
    let top = location.top.display();
    let (health, text) = match RepositoryTrust::of(location, &host.workspace().state, &host.vars()) {
        Ok(None) => return (DoctorStatus::Good, None),
        Ok(Some(trust)) if trust.is_trusted => {
            let text = format!("{top} belongs to another user, and is trusted by `safe.directory`");
            (DoctorStatus::Good, text)
        }
        Ok(Some(_)) => {
            let text = format!(
                "git refuses {top}, inside and outside of sandboxes: it belongs to another user; if you trust it: \
                 git config --global --add safe.directory {top}"
            );
            (DoctorStatus::Weak, text)
        }
        Err(error) => {
            let text = format!("cannot read whether {top}, of another user, is trusted: {error}");
            (DoctorStatus::Weak, text)
        }
    };
    (health, Some(text))
}

fn configuration(ui: &Ui) -> DoctorFinding {
    let files = DiskFiles::new(ui.host.workspace().root);
    let read = load::read_config(&files, CONFIG).map(|(_, checked)| checked);
    let none = format!("no {CONFIG}, using defaults");
    let (health, description) =
        read.map_or((DoctorStatus::Good, none), |checked| file_finding(&checked, CONFIG));
    DoctorFinding::new("configuration", health, description)
}

/// Reports the models and the MCP servers of the workspace, if its configuration can be read.
fn models(ui: &Ui, calls: &RecordedCalls) -> Vec<DoctorFinding> {
    let files = DiskFiles::new(ui.host.workspace().root);
    let config = load::read_config(&files, CONFIG).map(|(config, _)| config);
    let Some(table) = config.map(|config| config.models) else {
        return Vec::new();
    };
    let mut findings = model_findings(&ui.host, &table, calls);
    findings.extend(server_findings(&ui.host, &table, calls));
    findings
}

/// Reports the deployed goals.
fn deployments(host: &Host) -> Vec<DoctorFinding> {
    let finding = |(goal, deployed): (PlanId, DeployedGoal)| {
        let records = plural(usize::try_from(deployed.recorded).unwrap_or(usize::MAX), "record");
        let (backend, since) = (&deployed.backend, deployed.since.to_second());
        good_finding("deployed", format!("{goal} on {backend} since {since} · {records} here"))
    };
    deployed_goals(host).into_iter().map(finding).collect()
}

/// Reports the approvers of the workspace.
fn approvers(ui: &Ui) -> DoctorFinding {
    let files = DiskFiles::new(ui.host.workspace().root);
    let read = load::read_approvers(&files, APPROVERS);
    let none = format!("no {APPROVERS}: runs are approved with your own keys");
    let (health, description) = read.map_or((DoctorStatus::Good, none), |(file, checked)| {
        let keys = file.map_or(0, |file| Approvers::from(file).keys.len());
        file_finding(&checked, &format!("{APPROVERS} · {}", plural(keys, "key")))
    });
    DoctorFinding::new("approvers", health, description)
}

/// Describes a file: its errors first, with the place, the cause and the remedy.
fn file_finding(checked: &CheckedFile, good: &str) -> (DoctorStatus, String) {
    let mut wrong = checked.diagnostics.iter();
    let worst = wrong.clone().map(Diagnostic::severity).min();
    let health = match worst {
        None => return (DoctorStatus::Good, good.to_owned()),
        Some(Severity::Error) => DoctorStatus::Bad,
        Some(Severity::Warning) => DoctorStatus::Weak,
    };
    let is_worst = |diagnostic: &&Diagnostic| Some(diagnostic.severity()) == worst;
    let first = wrong.find(is_worst).map(|diagnostic| line_of(&checked.source, diagnostic));
    let description = first.unwrap_or_default();
    let others = checked.diagnostics.len() - 1;
    let more = format!(" · and {}: wf check", plural(others, "more problem"));
    (health, if others > 0 { description + &more } else { description })
}

/// An error on one line.
fn line_of(source: &SourceText, diagnostic: &Diagnostic) -> String {
    let LineColumn { line, column } = source.line_column(diagnostic.span.start);
    let remedy = diagnostic.help.as_ref().map(|help| format!(" · {help}"));
    format!("{}:{line}:{column}: {}{}", source.path(), diagnostic.message, remedy.unwrap_or_default())
}

/// Unread files with names near those of read ones.
fn misnamed(host: &Host) -> Vec<DoctorFinding> {
    let root = host.workspace().root;
    let names = [
        ("wf.yml", CONFIG),
        ("approvers.yml", APPROVERS),
        ("approver.yaml", APPROVERS),
        ("approver.yml", APPROVERS),
    ];
    let there = names.into_iter().filter(|(name, _)| root.join(name).exists());
    let finding = |(name, correct_name)| {
        let description = format!("{name} is ignored · rename it to {correct_name}, or remove it");
        DoctorFinding::new("not read", DoctorStatus::Weak, description)
    };
    there.map(finding).collect()
}

/// Reports the guarantees of a sandbox here, found out by creating one.
fn sandbox(host: &Host) -> DoctorFinding {
    let files = DiskFiles::new(host.workspace().root);
    let config = load::read_config(&files, CONFIG).map(|(config, _)| config);
    let on = config.is_none_or(|config| config.sandbox.on);
    let able = ability(&host.workspace().root);
    let (health, description) = match (able.why_not, on) {
        (None, true) => (DoctorStatus::Good, format!("checks run in a sandbox: {}", words(&able.isolation))),
        (None, false) => (
            DoctorStatus::Weak,
            "disabled in wf.yaml: checks can write wherever you can; it is available on this system".into(),
        ),
        (Some(_), false) => (
            DoctorStatus::Weak,
            "disabled in wf.yaml: checks can write wherever you can; it is not available on this system"
                .into(),
        ),
        (Some(reason), true) => (DoctorStatus::Bad, reason),
    };
    DoctorFinding { name: "sandbox", health, found: description }
}

/// The enforced guards, and the missing limits.
fn words(isolation: &[IsolationKind]) -> String {
    let guards: Vec<&str> = isolation.iter().map(|guard| guard.as_str()).collect();
    let limits = [
        (IsolationKind::Scratch, "a scratch layer over the workspace (it is read-only)"),
        (IsolationKind::Landlock, "Landlock"),
        (IsolationKind::Memory, "a memory limit"),
        (IsolationKind::Count, "a process limit"),
    ];
    let missing = limits.iter().filter(|(guard, _)| !isolation.contains(guard));
    let missing: Vec<&str> = missing.map(|(_, name)| *name).collect();
    match missing.as_slice() {
        [] => guards.join(" "),
        missing => format!("{} · without {}", guards.join(" "), missing.join(", ")),
    }
}

/// Reports the program for the containers of steps; nothing is executed.
fn containers(host: &Host) -> DoctorFinding {
    match container::find_engine(host.var("PATH")) {
        Some(engine) => good_finding("containers", engine.display().to_string()),
        None => DoctorFinding::new(
            "containers",
            DoctorStatus::Weak,
            format!("{}: steps with `container` cannot run", container::NO_ENGINE),
        ),
    }
}

/// Reports whether a program is on the `PATH`; nothing is executed.
fn program(host: &Host, name: &'static str, status_if_missing: DoctorStatus) -> DoctorFinding {
    let path = host.var("PATH").unwrap_or("");
    let mut places = path.split(':').map(|dir| Path::new(dir).join(name));
    match places.find(|place| place.is_file()) {
        Some(place) => good_finding(name, place.display().to_string()),
        None => DoctorFinding { name, health: status_if_missing, found: "not found on PATH".into() },
    }
}
