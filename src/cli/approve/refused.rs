use super::before::text_of;
use super::lines::changed;
use crate::approval::{Difference, Refusal};
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::report::{BAD, paint, plural};

/// Refuses to run a plan: says why, shows what is different where that is known, and what to do.
pub(super) fn refused(ui: &Ui, workspace: &Workspace, path: &str, refusal: &Refusal) -> Failure {
    if let Refusal::Changed(files) = refusal {
        ui.say(&shown(workspace, files));
    }
    let message = format!("{path} may not run: {refusal}");
    Failure::new(Exit::Approval, message).hint(refusal.remedy())
}

/// How many files are shown.
const SHOWN: usize = 20;

/// The files that are not what was approved, the first of them with the lines that differ.
pub(super) fn shown(workspace: &Workspace, files: &[Difference]) -> String {
    let first = files.iter().take(SHOWN);
    let mut text: String = first.map(|file| one(workspace, file)).collect();
    if let Some(more) = files.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!("… and {}\n", plural(more, "more file")));
    }
    text
}

fn one(workspace: &Workspace, file: &Difference) -> String {
    let short = |digest: Option<crate::digest::Digest>| {
        digest.map_or_else(|| "none".to_owned(), |digest| digest.short())
    };
    let text = format!(
        "{} {file}: approved {}, found {}\n",
        paint(BAD, "different:"),
        short(file.approved),
        short(file.found)
    );
    let (Some(approved), Some(found)) = (file.approved, file.found) else {
        return text;
    };
    let now = std::fs::read_to_string(workspace.root.join(&file.path)).ok();
    // Only what is told to be there is shown.
    let now = now.filter(|now| crate::digest::Digest::of(now.as_bytes()) == found);
    match (text_of(workspace, &file.path, approved), now) {
        (Some(before), Some(now)) => text + &changed(&before, &now),
        _ => text,
    }
}
