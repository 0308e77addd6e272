use super::adapt::SkillConversionError;
use crate::MAX_NAME;
use crate::words::{normal, strip};

/// Returns the name in the form of the standard: `My Skill_2` becomes `my-skill-2`.
pub(super) fn name(said: &str) -> Result<String, SkillConversionError> {
    let lower = normal(strip(said)).to_lowercase();
    let is_gap = |c: char| c == '-' || c == '_' || c.is_whitespace();
    let words: Vec<&str> = lower.split(is_gap).filter(|word| !word.is_empty()).collect();
    let name = words.join("-");
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(plain) {
        return Ok(name);
    }
    let said: String = said.chars().take(100).collect();
    let message = format!(
        "cannot turn `{}` into a valid name: a-z, 0-9 and single hyphens, at most {MAX_NAME} \
         characters",
        said.escape_debug()
    );
    Err(SkillConversionError::new(message, "set one: --name NAME"))
}
