use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::load::{self, Ready};
use crate::cli::{Begun, Exit, Failure, Revision, Ui, normal};
use crate::goal::Part;
use crate::report::consent::{Consent, House};
use crate::report::diff::{Diff, Way, diff};
use crate::report::plural;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf diff plan.md                      what changed since the last commit
  wf diff main plan.md                 since another revision
  wf diff v1:ops/plan.md v2:ops/plan.md
  wf diff old.md new.md --json         for a program

What lets more happen, or lets less hold, comes first. Exit code 1 if the meaning differs. A path
after `:` begins at the top level of the repository, or with ./ in the current folder.")]
pub struct DiffArgs {
    /// The version before: a file, REV:PATH, or a revision; with one argument, the plan itself
    #[arg(value_name = "A")]
    before: String,
    /// The version after: a file, or REV:PATH
    #[arg(value_name = "B")]
    after: Option<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Compares two versions.
pub fn run(ui: &Ui, args: &DiffArgs) -> Result<Exit, Failure> {
    let (before, after) = match &args.after {
        Some(after) => (args.before.as_str(), after.as_str()),
        None => ("HEAD", args.before.as_str()),
    };
    let new = version(ui, after, None)?;
    let old = version(ui, before, Some(after))?;
    let found = diff(&meaning(&old), &meaning(&new));
    let bytes = differing(&old, &new);
    if args.json {
        ui.print_json(&found.json(bytes.is_empty()))?;
    } else {
        ui.print(&found.text())?;
        ui.print(&ending(&found, &bytes))?;
    }
    Ok(if found.is_empty() {
        Exit::Ok
    } else {
        Exit::RunFailed
    })
}

/// A version by what a person calls it; `plan` is the plan that a mere revision is about.
fn version(ui: &Ui, name: &str, plan: Option<&str>) -> Result<Ready, Failure> {
    let cwd = ui.env.cwd();
    let is_file = normal(&cwd.join(name)).exists();
    let (revision, path) = match (name.split_once(':'), plan) {
        _ if is_file => return load::spec(ui, Path::new(name)),
        (Some((revision, path)), _) => (revision, path.to_owned()),
        (None, Some(plan)) => (name, here(plan)),
        (None, None) => return load::spec(ui, Path::new(name)),
    };
    let mut files = Revision::find(cwd, revision)?;
    let path = files.enter(&path, cwd)?;
    let workspace = files.workspace();
    let ready = load::ready(
        ui,
        &files,
        workspace,
        path.clone(),
        Begun::now(ui, None).of_goal(Part::Repair),
    );
    if ready.is_err() {
        ui.say_line(&format!("this is {path} as it is in {revision}"));
    }
    ready
}

/// The path of the plan that a mere revision is about, as one that begins in the current folder.
fn here(plan: &str) -> String {
    match plan.split_once(':') {
        Some((_, path)) => path.to_owned(),
        None => PathBuf::from("./").join(plan).display().to_string(),
    }
}

fn meaning(version: &Ready) -> Consent {
    let config = &version.config;
    let house = House {
        confined: config.sandbox.on,
        read: &config.sandbox.read,
        pass: &config.env_pass,
    };
    let goal = version.goal.as_ref().map(|of| &*of.goal);
    Consent::of(&version.plan, &version.path)
        .of_any(goal)
        .within(&house)
}

/// The files that are not the same to the byte. What the plan itself is called does not matter.
fn differing(old: &Ready, new: &Ready) -> Vec<String> {
    let texts = |version: &Ready| -> BTreeMap<String, String> {
        let named = version.sources.iter().map(|(path, text)| {
            let own = *path == version.path;
            let name = if own { new.path.clone() } else { path.clone() };
            (name, text.clone())
        });
        named.collect()
    };
    let (old, new) = (texts(old), texts(new));
    let mut names: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| old.get(name) != new.get(name));
    names
}

fn ending(found: &Diff, bytes: &[String]) -> String {
    if bytes.is_empty() && found.is_empty() {
        return "the same, to the byte\n".into();
    }
    if found.is_empty() {
        let files = bytes.join(", ");
        return format!(
            "the same meaning; the bytes differ ({files}), so an approval of one does not hold \
             for the other\n"
        );
    }
    let count = found.changes.len();
    let loose = found.changes.iter().filter(|own| own.way == Way::Looser);
    format!(
        "{}, {} of them wider, weaker or more\n",
        plural(count, "change"),
        loose.count()
    )
}
