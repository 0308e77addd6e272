use crate::{
    Caller, CliExitCode, CommandError, Host, Workspace,
    approve::{before::text_by_digest, lines::changed_lines},
    relative_path,
};
use wf_base::{
    units::plural,
    untrusted::{BAD, paint, shell_word},
};
use wf_sign::approval::{ApprovalRefusal, ApprovedFileDifference};

/// Refuses to run a plan: prints the reason, the differences where they are known, and the remedy.
pub fn refuse_run(
    caller: &dyn Caller,
    workspace: &Workspace,
    path: &str,
    refusal: &ApprovalRefusal,
) -> CommandError {
    if let ApprovalRefusal::Changed(files) = refusal {
        caller.message(&differences_text(caller.host(), workspace, files));
    }
    let message = format!("{path} is not approved: {refusal}");
    // The file as the current folder sees it.
    let file = shell_word(&relative_path(&workspace.root.join(path), caller.host().cwd()));
    CommandError::new(CliExitCode::Approval, message).hint(refusal.remedy_for(&file))
}

const MAX_SHOWN_FILES: usize = 20;

/// Returns the files differing from the approved ones, the first of them with the differing lines.
pub fn differences_text(host: &Host, workspace: &Workspace, files: &[ApprovedFileDifference]) -> String {
    let first = files.iter().take(MAX_SHOWN_FILES);
    let mut text: String = first.map(|file| difference_text(host, workspace, file)).collect();
    if let Some(more) = files.len().checked_sub(MAX_SHOWN_FILES).filter(|more| *more > 0) {
        text.push_str(&format!("… and {}\n", plural(more, "more file")));
    }
    text
}

fn difference_text(host: &Host, workspace: &Workspace, file: &ApprovedFileDifference) -> String {
    let label = paint(BAD, "different:");
    // The mode is another, and the content the same.
    if file.approved == file.found {
        return format!("{label} {file}\n");
    }
    let short = |digest: Option<wf_base::digest::Sha256Digest>| {
        digest.map_or_else(|| "none".to_owned(), |digest| digest.short())
    };
    let text = format!("{label} {file}: approved {}, found {}\n", short(file.approved), short(file.found));
    let (Some(approved), Some(found)) = (file.approved, file.found) else {
        return text;
    };
    let now = std::fs::read_to_string(workspace.root.join(&file.path)).ok();
    // Only content with the reported digest is shown.
    let now = now.filter(|now| wf_base::digest::Sha256Digest::of_bytes(now.as_bytes()) == found);
    match (text_by_digest(host, workspace, &file.path, approved), now) {
        (Some(before), Some(now)) => text + &changed_lines(&before, &now),
        _ => text,
    }
}
