use std::sync::Arc;

use crate::approval::{Policy, Refusal, Statement, Token};
use crate::cli::approve::{Rules, Standing, standing};
use crate::cli::load::Ready;
use crate::cli::{Failure, Ui, relative};
use crate::goal::{Advice, Counts, Grant, Sample, advise, counted, most_samples, narrower};
use crate::machine::Outcome;
use crate::model::{Autonomy, Goal, GoalApproval};
use crate::name::RunId;
use crate::store::{Reader, RunState, StoreError};
use crate::time::format_duration;

/// What a goal may do by itself, what people thought of what it did, and what is proposed.
#[derive(Debug)]
pub struct Leash {
    /// The goal.
    pub goal: Arc<Goal>,
    /// Its file, as seen from the current folder.
    pub shown: String,
    /// The approval beside it; `None`: its repairs need none.
    pub approval: Option<Result<Standing, Refusal>>,
    /// The numbers by which is proposed, `longest` no longer than who approves may.
    pub limits: Autonomy,
    /// What people thought of what was done under an approval like this.
    pub counts: Counts,
    /// What is proposed.
    pub advice: Option<Advice>,
}

/// What an approval allows.
pub fn granted(statement: &Statement) -> Grant {
    Grant {
        executions: statement.executions,
        validity: statement.expires.since(statement.issued),
    }
}

impl Leash {
    /// That of a goal. Nothing is recorded.
    pub fn of(ui: &Ui, ready: &Ready, goal: &Arc<Goal>) -> Result<Self, Failure> {
        let workspace = &ready.workspace;
        let now = ui.env.now();
        let approvers = Rules::of(ui, workspace)?.approvers;
        let is_free = goal.approval == GoalApproval::None && approvers.policy == Policy::Owner;
        let approval = if is_free {
            None
        } else {
            Some(standing(workspace, (&goal.id, &ready.path), now)?)
        };
        let mut limits = ready.config.autonomy;
        limits.longest = limits.longest.min(approvers.validity);
        let held = approval.as_ref().and_then(|found| found.as_ref().ok());
        let held = held.map(|standing| granted(&standing.statement));
        let samples = samples(ready, goal, &limits)?;
        // Without an approval there is what the latest repair was done under.
        let of = held.or_else(|| samples.first().and_then(|sample| sample.grant));
        let counts = counted(samples, of, &limits, now);
        Ok(Self {
            goal: Arc::clone(goal),
            shown: relative(&workspace.root.join(&ready.path), ui.env.cwd()),
            advice: held.and_then(|held| advise(&counts, held, &limits)),
            approval,
            limits,
            counts,
        })
    }

    /// The approval that can be used or could be, if there is one.
    pub fn standing(&self) -> Option<&Standing> {
        self.approval.as_ref().and_then(|found| found.as_ref().ok())
    }

    /// The command that signs an approval for something else.
    pub fn command(&self, to: Grant) -> String {
        let (file, executions) = (word(&self.shown), to.executions);
        let expires = format_duration(to.validity);
        format!("wf approve {file} --executions {executions} --expires {expires}")
    }

    /// The command that signs an approval for less than there is.
    pub fn narrower(&self) -> Option<String> {
        let held = granted(&self.standing()?.statement);
        Some(self.command(narrower(held, &self.limits)))
    }
}

/// What people thought of the latest repairs, newest first, as many as can count. One that waits or
/// was cancelled counts once somebody says something about it.
fn samples(ready: &Ready, goal: &Goal, limits: &Autonomy) -> Result<Vec<Sample>, Failure> {
    let reader = match Reader::open(&ready.workspace.state) {
        Ok(reader) => reader,
        Err(StoreError::NoState(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let most = usize::try_from(most_samples(limits)).unwrap_or(usize::MAX);
    let mut samples = Vec::new();
    for repair in reader.repairs(&goal.id, usize::MAX)? {
        let opinion = repair.opinion();
        let is_done = match repair.state {
            RunState::Running | RunState::Ended(Outcome::Cancelled) => false,
            RunState::Ended(_) => true,
        };
        if is_done || opinion.is_some() {
            samples.push(Sample {
                at: repair.at,
                grant: begun_under(&reader, &repair.run)?,
                opinion,
            });
        }
        if samples.len() >= most {
            break;
        }
    }
    Ok(samples)
}

/// What the standing approval allowed that a repair was begun under; `None` if there was none.
fn begun_under(reader: &Reader, run: &RunId) -> Result<Option<Grant>, Failure> {
    let sources = reader.sources(run)?.into_iter();
    let mut tokens = sources.filter(|(path, _)| path.ends_with(".approval.json"));
    let token = tokens.find_map(|(_, text)| Token::parse(&text).ok());
    let statement = token.as_ref().map(Token::statement);
    let standing = statement.filter(|statement| statement.run.is_none());
    Ok(standing.map(granted))
}

/// A word as a shell takes it.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    if text.chars().all(is_plain) && !text.starts_with('-') {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn what_a_shell_would_split_is_quoted() {
        for (text, wanted) in [
            ("goals/a-b_1.md", "goals/a-b_1.md"),
            ("goals/my site.md", "'goals/my site.md'"),
            ("it's.md", "'it'\\''s.md'"),
            ("-x.md", "'-x.md'"),
        ] {
            assert_eq!(word(text), wanted);
        }
    }
}
