//! The files that a step declares to change, so that no other task of its run changes them at the same time.

use crate::expr::Template;
use crate::plans::{agent::AgentWorkspace, step::Step, work::StepWork};

impl Step {
    /// Returns the paths that it claims; nothing for an agent in a worktree, whose changes are merged one after another.
    pub fn claims(&self) -> impl Iterator<Item = &Template> {
        let apart = matches!(&self.work, StepWork::Agent(agent) if agent.workspace != AgentWorkspace::Shared);
        self.writes.iter().chain(&self.artifacts).filter(move |_| !apart)
    }
}

/// Paths that nobody means, of which a glob that covers everything matches one.
pub const UNMEANT_PATHS: [&str; 4] = ["k7q3zx", "k7q3zx.w9", "v5j1/k7q3zx.w9", "v5j1/h2/k7q3zx"];

/// Returns a path in its plainest form; `None` for a pattern: it says where files may be, not which.
pub fn claimed_path(path: &str) -> Option<String> {
    let is_pattern = path.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!is_pattern && !parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::claimed_path;

    #[test]
    fn a_pattern_claims_nothing() {
        assert_eq!(claimed_path("./out//a.txt").as_deref(), Some("out/a.txt"));
        assert_eq!(claimed_path("out/").as_deref(), Some("out"));
        for pattern in ["out/*.txt", "out/?", "{a,b}", "[ab]", "", "."] {
            assert_eq!(claimed_path(pattern), None, "{pattern}");
        }
    }
}
