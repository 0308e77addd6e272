use super::ViewedCheck;
use wf_model::expr::Template;
use wf_model::{Check, CheckProbe, Expectation};

/// Reads the commit, its folders, and whether its files are there. Without git there is nothing that a check could have asked; a
/// partial clone may lack files, so of that only the commit and its top folder are read.
const SCRIPT: &str = r"
command -v git >/dev/null || exit 0
export GIT_NO_LAZY_FETCH=1
if git config --get-regexp '^(extensions\.partialclone|remote\..*\.promisor)$' >/dev/null 2>&1; then
  exec git cat-file -e 'HEAD^{tree}'
fi
exec git rev-list --objects --no-walk --quiet HEAD
";

impl ViewedCheck {
    /// Returns the question whether git can read the commit with which the run began, where that is in doubt: a command that
    /// finds nothing since git failed looks like one that found nothing.
    pub fn git_check(&self) -> Option<Check> {
        let is_in_doubt = self.worktree.is_none() && self.workspace_view.originals.may_have_lost_commits();
        let words = ["sh", "-c", SCRIPT].map(Template::literal);
        is_in_doubt.then(|| Check {
            probe: Some(CheckProbe::Exec(words.into())),
            expect: Expectation { exit_code: Some(0), ..Expectation::default() },
            env: Vec::new(),
            cwd: None,
            classify: Vec::new(),
            before: None,
            judge: None,
            ..Check::clone(&self.check)
        })
    }
}
