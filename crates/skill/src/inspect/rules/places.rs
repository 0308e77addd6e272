use crate::inspect::shell::UNKNOWN;
use crate::inspect::tables::WordList;

/// Parts of paths whose files are started later, or trusted.
static STARTED: WordList = WordList::of(include_str!("../tables/words/started_later.txt"));

/// The same, for whole file names only.
const WHOLE: [&str; 4] = [".profile", ".gitconfig", ".login", ".kshrc"];

/// True if a file written there is started later.
pub(super) fn starts_later(path: &str) -> bool {
    let name = path.rsplit(['/', UNKNOWN]).next().unwrap_or_default();
    STARTED.iter().any(|part| path.contains(part)) || WHOLE.contains(&name) || path.contains("/.ssh/")
}

/// True if a path is everything: the root, a folder in it, or a home.
pub(super) fn is_everything(path: &str) -> bool {
    let bare = path.trim_end_matches(['*', '.']).trim_end_matches('/');
    let is_top = path.starts_with('/') && bare.matches('/').count() <= 1 && !bare.contains(UNKNOWN);
    is_top || bare == "~" || path == "*" && bare.is_empty()
}
