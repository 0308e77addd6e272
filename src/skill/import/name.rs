use super::adapt::NotAdapted;
use crate::skill::MAX_NAME;
use crate::skill::words::{normal, strip};

/// The name as the standard wants it: of `My Skill_2` it is `my-skill-2`.
pub(super) fn name(said: &str) -> Result<String, NotAdapted> {
    let lower = normal(strip(said)).to_lowercase();
    let is_gap = |c: char| c == '-' || c == '_' || c.is_whitespace();
    let words: Vec<&str> = lower
        .split(is_gap)
        .filter(|word| !word.is_empty())
        .collect();
    let name = words.join("-");
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(plain) {
        return Ok(name);
    }
    let said: String = said.chars().take(100).collect();
    let message = format!(
        "`{}` cannot be made a name of a-z, 0-9 and single hyphens, {MAX_NAME} at most",
        said.escape_debug()
    );
    Err(NotAdapted::new(message, "give it one: --name NAME"))
}
