use super::program::ExecutedProgram;
use crate::inspect::tables::{ProgramTable, WordList};

/// Programs that reach the network.
static PROGRAMS: ProgramTable = ProgramTable::of(include_str!("../tables/programs/network_programs.txt"));

/// Programs that print what they fetch.
static FETCHERS: WordList = WordList::of(include_str!("../tables/words/fetchers.txt"));

/// Modules of Python that reach the network.
static PYTHON: WordList = WordList::of(include_str!("../tables/words/network_python.txt"));

/// Modules of other languages that reach the network, by the name used to load them.
pub(super) static OTHER: WordList = WordList::of(include_str!("../tables/words/network_modules.txt"));

/// Returns the part of a command that reaches the network, if any.
pub(super) fn reaches(program: &ExecutedProgram<'_>) -> Option<String> {
    PROGRAMS.texts(program).next()
}

/// True if it fetches something.
pub(super) fn fetches(program: &ExecutedProgram<'_>) -> bool {
    FETCHERS.contains(program.name)
}

/// Returns the network module to which an imported one belongs, if any.
pub(super) fn module(imported: &str) -> Option<&'static str> {
    PYTHON.iter().find(|module| {
        imported.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// True if a call of this name, including its module, reaches the network.
pub(in crate::inspect) fn reaches_network(called: &str) -> bool {
    let last = called.rsplit('.').next().unwrap_or_default();
    let is_function = last.starts_with(|c: char| c.is_ascii_lowercase()) || last == "Request";
    is_function && called.contains('.') && module(called).is_some()
}
