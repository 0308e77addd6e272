//! What a repetition will do, before it does it.

use std::fmt::Write as _;
use std::path::Path;

use super::{Exit, Failure};
use crate::engine::unchanged;
use crate::expr::Expr;
use crate::name::RunId;
use crate::repeat::{Again, Fate, Past, Reason};
use crate::report::plural;
use crate::store::{Reader, StoreError};
use crate::untrusted::styled_line;

/// How many steps are named in one line.
const NAMED: usize = 5;

/// What a repetition will do.
#[derive(Debug, Default)]
pub struct Outlook {
    /// The steps, nested ones too, each with what becomes of it and why.
    lines: Vec<(String, &'static str, String)>,
    /// The results that are kept.
    kept: Vec<String>,
    /// The steps that run again for a reason of their own.
    roots: Vec<String>,
    after: usize,
    left: usize,
    /// Whether the plan has criteria of its own.
    checks: bool,
}

impl Outlook {
    /// Looks at everything that is known before the run begins.
    pub fn of(root: &Path, reader: &Reader, past: &Past) -> Result<Self, StoreError> {
        let mut outlook = Self {
            checks: !past.plan().parts().verify.is_empty(),
            ..Self::default()
        };
        outlook.look((root, reader), past, "")?;
        Ok(outlook)
    }

    /// One line: `repeats run 1a2b3c4d · keeps 2 results: c, d · runs again: a, b (+3 downstream)`.
    pub fn line(&self, run: &RunId) -> String {
        let mut text = format!(
            "repeats run {} · keeps {}",
            run.short(),
            plural(self.kept.len(), "result")
        );
        if !self.kept.is_empty() {
            let _ = write!(text, ": {}", named(&self.kept));
        }
        let again = self.roots.len() + self.after;
        if again == 0 && self.checks {
            text.push_str(" · runs only the plan's checks again");
        } else if again == 0 {
            text.push_str(" · runs no step again");
        } else if self.roots.is_empty() {
            let _ = write!(text, " · runs again: {}", plural(self.after, "step"));
        } else {
            let _ = write!(text, " · runs again: {}", named(&self.roots));
            if self.after > 0 {
                let _ = write!(text, " (+{} downstream)", self.after);
            }
        }
        if self.left > 0 {
            let _ = write!(text, " · leaves out {}", self.left);
        }
        format!("{}\n", styled_line(&text))
    }

    /// Every step with what becomes of it, a line each.
    pub fn list(&self) -> String {
        let width = self.lines.iter().map(|(name, ..)| name.chars().count());
        let width = width.max().unwrap_or(0);
        let mut text = String::new();
        for (name, verb, why) in &self.lines {
            let line = format!("  {verb:<10}  {name:<width$}  {why}");
            let _ = writeln!(text, "{}", styled_line(line.trim_end()));
        }
        text
    }

    fn look(
        &mut self,
        (root, reader): (&Path, &Reader),
        past: &Past,
        above: &str,
    ) -> Result<(), StoreError> {
        let kept = past.kept().into_iter();
        self.kept.extend(kept.map(|kept| match kept.item {
            Some(key) => format!("{above}{}[{key}]", kept.step),
            None => format!("{above}{}", kept.step),
        }));
        for (step, fate) in past.fates() {
            let name = format!("{above}{step}");
            match fate {
                Fate::Kept => self.tell(&name, "kept", ""),
                Fate::Settled => self.tell(&name, "skipped", "as before"),
                Fate::Left => {
                    self.left += 1;
                    self.tell(&name, "left out", "it is not chosen");
                }
                Fate::Again(again) => {
                    self.tell(&name, "runs again", &again.why.to_string());
                    self.again((root, reader), past, &name, (step, again))?;
                }
            }
        }
        Ok(())
    }

    /// Counts a step that runs again, by what runs again inside of it where something is kept
    /// there.
    fn again(
        &mut self,
        (root, reader): (&Path, &Reader),
        past: &Past,
        name: &str,
        (step, again): (&crate::name::Name, &Again),
    ) -> Result<(), StoreError> {
        let before = self.roots.len();
        for key in past.repeated_items(step) {
            let named = match &key {
                Some(key) => format!("{name}[{key}]"),
                None => name.to_owned(),
            };
            if again.inside
                && let Some(nested) = past.nested(reader, step, key.as_deref(), None)?
                && nested.run().is_some()
            {
                let nested = unchanged(root, reader, nested)?;
                self.look((root, reader), &nested, &format!("{named}/"))?;
            } else if key.is_some() && !again.kept.is_empty() {
                self.tell(&named, "runs again", "");
                self.roots.push(named);
            }
        }
        if self.roots.len() > before {
            return Ok(());
        }
        if again.why.is_own() {
            self.roots.push(name.to_owned());
        } else if again.why != Reason::Finally {
            self.after += 1;
        }
        Ok(())
    }

    fn tell(&mut self, name: &str, verb: &'static str, why: &str) {
        self.lines.push((name.to_owned(), verb, why.to_owned()));
    }
}

/// The first of some names, and how many more there are.
fn named(all: &[String]) -> String {
    let first: Vec<&str> = all.iter().take(NAMED).map(String::as_str).collect();
    let more = match all.len() - first.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    first.join(", ") + &more
}

/// Refuses a choice that cannot run: what it depends on did not succeed and was not chosen.
pub fn possible((root, reader): (&Path, &Reader), past: &Past, above: &str) -> Result<(), Failure> {
    let plan = past.plan();
    for (step, fate) in past.fates() {
        let Fate::Again(again) = fate else { continue };
        for key in past.repeated_items(step) {
            let nested = past.nested(reader, step, key.as_deref(), None)?;
            if let Some(nested) = nested.filter(|_| again.inside) {
                let nested = unchanged(root, reader, nested)?;
                possible((root, reader), &nested, &format!("{above}{step}/"))?;
            }
        }
        let declared = plan.find(step.as_str()).map(|ix| plan.step(ix));
        let asks = |when: &Expr| when.asks_status();
        let Some(declared) = declared.filter(|step| !step.when.as_deref().is_some_and(asks)) else {
            continue;
        };
        for needed in &declared.depends_on {
            let needed = &plan.step(*needed).id;
            if past.fate(needed) == Some(&Fate::Left) {
                let message = format!(
                    "`{above}{step}` depends on `{needed}`, which has no result to keep and is not \
                     chosen"
                );
                let failure = Failure::new(Exit::Usage, message);
                return Err(failure.hint(format!(
                    "choose it, too: --only {above}{needed} --only {above}{step}"
                )));
            }
        }
    }
    Ok(())
}
