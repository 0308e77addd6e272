use crate::inspect::tables::WordList;

/// Variables available to every script, and those that a shell sets by itself.
static GIVEN: WordList = WordList::of(include_str!("../tables/words/given_variables.txt"));

/// True if a variable needs no declaration.
pub(super) fn is_known(name: &str) -> bool {
    let begins = ["LC_", "WF_", "BASH", "COMP_"];
    let is_prompt = |rest: &str| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit());
    GIVEN.contains(name)
        || begins.iter().any(|begin| name.starts_with(begin))
        || name.strip_prefix("PS").is_some_and(is_prompt)
}
