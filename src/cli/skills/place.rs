//! What every way of a skill into a workspace has in common: it is studied, tried, shown and signed
//! for, and then written.

use serde_json::Value;

use super::consent::{self, Installer, SignArgs};
use super::locks;
use super::needs::{AcceptArgs, Terms};
use super::put::{Hold, SKILLS};
use super::study::Studied;
use super::tell::{self, Approvals};
use super::trial::{Tried, trial};
use crate::cli::approve::agreed;
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::skill::lock::{Locked, locked_files};

/// Where a skill comes from and goes to.
pub struct Way<'a> {
    /// The workspace.
    pub workspace: &'a Workspace,
    /// Nobody else changes skills meanwhile.
    pub hold: &'a Hold,
    /// Its source, as the lock writes it.
    pub source: String,
    /// The commit, if it came from git.
    pub commit: Option<String>,
    /// Its folder, relative to the workspace; `None`: it lies there already and is not written.
    pub lies: Option<String>,
    /// How it is signed for.
    pub sign: &'a SignArgs,
    /// Which dangers are accepted.
    pub accept: &'a AcceptArgs,
    /// Whether one JSON document is written instead of text.
    pub json: bool,
}

/// Brings a skill in: refused if it is dangerous, unless that is accepted. What there was of it before stays until
/// everything was said and signed.
pub fn bring(ui: &Ui, studied: &Studied, way: &Way<'_>) -> Result<Exit, Failure> {
    let terms = Terms::of(studied, way.accept)?;
    if terms.refuse(studied) {
        return refused(ui, studied, &[], way);
    }
    let name = studied.name.as_str();
    consent::id(name)?;
    let staged = way.hold.stage(name, &studied.bundle)?;
    let all = trial(ui, way.workspace, studied, &staged.path)?;
    let is_declared = |one: &&Tried| studied.declared.scripts.contains_key(&one.path);
    if all.iter().filter(is_declared).any(Tried::failed) {
        return refused(ui, studied, &all, way);
    }
    let mut lock = locks::read(way.workspace)?;
    let before = lock.skills.get(name);
    show(ui, studied, &all, (before, &terms), way)?;
    let places = tell::places(studied);
    let question = match places.as_slice() {
        [] => terms.question().to_owned(),
        _ => format!("it names {}: {}", places.join(", "), terms.question()),
    };
    agreed(ui, way.sign.yes, &question)?;
    let by = consent::installer(ui, way.workspace, way.sign)?;
    let mut locked = entry(studied, way, &by, terms);
    by.sign(ui, (name, &mut locked), way.sign)?;
    match &way.lies {
        None => staged.place()?,
        Some(_) => drop(staged),
    }
    let approvals = approvals(ui, &by, name, &locked);
    lock.skills.insert(name.to_owned(), locked.clone());
    locks::write(way.workspace, &lock)?;
    told(ui, studied, &locked, (&all, &approvals, way))?;
    Ok(Exit::Ok)
}

fn entry(studied: &Studied, way: &Way<'_>, by: &Installer, terms: Terms) -> Locked {
    let folder = way
        .lies
        .clone()
        .unwrap_or_else(|| format!("{SKILLS}/{}", studied.name));
    Locked {
        folder,
        source: way.source.clone(),
        commit: way.commit.clone(),
        digest: studied.bundle.digest(),
        files: locked_files(&studied.bundle),
        granted: terms.granted,
        exceptions: terms.exceptions,
        report: studied.report_digest(),
        installer: by.id,
        approvals: Vec::new(),
    }
}

fn approvals(ui: &Ui, by: &Installer, name: &str, locked: &Locked) -> Approvals {
    let held = consent::holds(ui, &by.rules, name, locked);
    Approvals {
        holds: held.is_ok(),
        why: held.err().map(|refusal| refusal.to_string()),
    }
}

fn show(
    ui: &Ui,
    studied: &Studied,
    all: &[Tried],
    (before, terms): (Option<&Locked>, &Terms),
    way: &Way<'_>,
) -> Result<(), Failure> {
    let mut text = tell::summary(studied) + &tell::findings(studied) + &tell::tried(all);
    if let Some(before) = before {
        text += &tell::differences(way.workspace, before, studied);
    }
    text += &terms.text();
    if way.json {
        // Whoever is asked must have seen it.
        if !way.sign.yes {
            ui.say(&text);
        }
        return Ok(());
    }
    ui.print(&text)
}

fn refused(ui: &Ui, studied: &Studied, all: &[Tried], way: &Way<'_>) -> Result<Exit, Failure> {
    if way.json {
        let document: Value = tell::document(studied, None, all, &Approvals::default());
        ui.print_json(&format!("{document}\n"))?;
        return Err(Failure::silent(Exit::Invalid));
    }
    ui.print(&(tell::findings(studied) + &tell::tried(all)))?;
    let message = format!("the skill `{}` is refused", studied.name.escape_debug());
    Err(Failure::new(Exit::Invalid, message)
        .hint("nothing was changed: a danger refuses an install; docs/skills.md says what each rule finds, and how one finding is accepted"))
}

fn told(
    ui: &Ui,
    studied: &Studied,
    locked: &Locked,
    (all, approvals, way): (&[Tried], &Approvals, &Way<'_>),
) -> Result<(), Failure> {
    if way.json {
        let document = tell::document(studied, Some(locked), all, approvals);
        return ui.print_json(&format!("{document}\n"));
    }
    let name = &studied.name;
    let mut text = format!(
        "locked {name} in {}, from {}\n",
        locked.folder, locked.source
    );
    match &approvals.why {
        None => text += "approved with your key\n",
        Some(why) => {
            text += &format!(
                "not approved yet: {why}\nno plan can use it before others sign: wf skill approve {name}\n"
            );
        }
    }
    ui.print(&text)
}
