//! Lists of names for the rules: variables, network programs and modules, places started later, private places.

use super::program::ExecutedProgram;
use crate::inspect::{
    shell::UNKNOWN,
    tables::{ProgramTable, WordList, pairs},
};

/// Variables available to every script, and those a shell sets by itself.
static KNOWN_VARIABLES: WordList = WordList::from_table(include_str!("../tables/words/given_variables.txt"));

/// True if a variable needs no declaration.
pub(super) fn is_known_variable(name: &str) -> bool {
    let begins = ["LC_", "WF_", "BASH", "COMP_"];
    let is_prompt = |rest: &str| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit());
    KNOWN_VARIABLES.contains(name)
        || begins.iter().any(|begin| name.starts_with(begin))
        || name.strip_prefix("PS").is_some_and(is_prompt)
}

/// Programs that reach the network.
static NETWORK_PROGRAMS: ProgramTable =
    ProgramTable::from_table(include_str!("../tables/programs/network_programs.txt"));

/// Programs printing a fetched file.
static FETCHERS: WordList = WordList::from_table(include_str!("../tables/words/fetchers.txt"));

/// Modules of Python that reach the network.
static NETWORK_PYTHON: WordList = WordList::from_table(include_str!("../tables/words/network_python.txt"));

/// Modules of other languages that reach the network, by the name used to load them.
pub(super) static NETWORK_MODULES: WordList =
    WordList::from_table(include_str!("../tables/words/network_modules.txt"));

/// Returns the part of a command reaching the network, if any.
pub(super) fn network_use(program: &ExecutedProgram<'_>) -> Option<String> {
    NETWORK_PROGRAMS.texts(program).next()
}

/// True if it fetches something.
pub(super) fn fetches(program: &ExecutedProgram<'_>) -> bool {
    FETCHERS.contains(program.name)
}

/// Returns the network module to which an imported one belongs, if any.
pub(super) fn network_module(imported: &str) -> Option<&'static str> {
    NETWORK_PYTHON.iter().find(|module| {
        imported.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// True if a call of this name, including its module, reaches the network.
pub(in crate::inspect) fn reaches_network(called: &str) -> bool {
    let last = called.rsplit('.').next().unwrap_or_default();
    let is_function = last.starts_with(|c: char| c.is_ascii_lowercase()) || last == "Request";
    is_function && called.contains('.') && network_module(called).is_some()
}

/// Parts of paths whose files are started later, or trusted.
static STARTED_LATER: WordList = WordList::from_table(include_str!("../tables/words/started_later.txt"));

/// The same, for whole file names only.
const WHOLE: [&str; 4] = [".profile", ".gitconfig", ".login", ".kshrc"];

/// True if a file written there is started later.
pub(super) fn starts_later(path: &str) -> bool {
    let name = path.rsplit(['/', UNKNOWN]).next().unwrap_or_default();
    STARTED_LATER.iter().any(|part| path.contains(part)) || WHOLE.contains(&name) || path.contains("/.ssh/")
}

/// True if a path is everything: the root, a folder in it, or a home.
pub(super) fn is_everything(path: &str) -> bool {
    let bare = path.trim_end_matches(['*', '.']).trim_end_matches('/');
    let is_top = path.starts_with('/') && bare.matches('/').count() <= 1 && !bare.contains(UNKNOWN);
    is_top || bare == "~" || path == "*" && bare.is_empty()
}

/// Private places of users and their programs: parts of a path, and a description of the content.
const PRIVATE: &str = include_str!("../tables/words/private.txt");

/// Returns the private content of a path, if any: the part of the path, and the description. A home
/// folder as a whole has all of it.
pub fn private_content(path: &str) -> Option<(&'static str, &'static str)> {
    let bare = path.trim_end_matches(['/', '*', '.']);
    if matches!(bare, "~" | "$HOME" | "${HOME}") {
        return Some(("~", "everything in the home folder"));
    }
    pairs(PRIVATE).find(|(part, _)| has_part(path, part))
}

/// True if a path has a part as a whole: `.aws` is in `~/.aws/config` and not in `x.aws-old`.
fn has_part(path: &str, part: &str) -> bool {
    path.match_indices(part).any(|(at, _)| {
        let before = path.get(..at).unwrap_or_default();
        let after = path.get(at + part.len()..).unwrap_or_default();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let starts = part.starts_with('/') || !before.ends_with(|c: char| is_word(c) || c == '.');
        starts && !after.starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::private_content;

    #[test]
    fn parts_of_paths_tell_what_is_kept_there() {
        for (path, expected) in [
            ("~/.aws", Some("~/.aws")),
            ("$HOME/.aws/credentials", Some("~/.aws")),
            ("/home/ada/.ssh/id_ed25519", Some("~/.ssh")),
            (".config/gh/hosts.yml", Some("~/.config/gh")),
            ("~/", Some("~")),
            ("src/x.aws.py", None),
            (".sshx", None),
            ("docs/.claude-notes.md", None),
            ("data", None),
        ] {
            let found = private_content(path).map(|(part, _)| part);
            let expected = expected.map(|full| full.strip_prefix("~/").unwrap_or(full));
            assert_eq!(found, expected, "{path}");
        }
    }
}
