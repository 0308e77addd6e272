use super::before::text_of;
use super::lines::changed;
use crate::approval::{Difference, Refusal};
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::report::{BAD, paint};

/// Refuses to run a plan: says why, shows what is different where that is known, and what to do.
pub(super) fn refused(ui: &Ui, workspace: &Workspace, path: &str, refusal: &Refusal) -> Failure {
    if let Refusal::Changed(files) = refusal {
        for file in files {
            ui.say(&shown(workspace, file));
        }
    }
    let message = format!("{path} may not run: {refusal}");
    Failure::new(Exit::Approval, message).hint(refusal.remedy())
}

/// A file that is not what was approved, with the lines that differ.
pub(super) fn shown(workspace: &Workspace, file: &Difference) -> String {
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
