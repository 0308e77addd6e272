use super::output::{self, Miss};
use super::text::{evidence, line};
use super::{FileFound, Found};
use crate::machine::{Exit, Ruling, Verdict};
use crate::model::{Class, Expect, Mode};
use crate::name::Name;

/// The ruling on one criterion, before it is given a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The ruling.
    pub ruling: Ruling,
    /// What was expected, in one short line; empty if it passed.
    pub expected: String,
    /// What was found, in one short line; empty if it passed.
    pub found: String,
    /// What the probe printed, at most [`WHY_LIMIT`](crate::machine::WHY_LIMIT) characters.
    pub evidence: String,
    /// Whose fault a failure is.
    pub class: Option<Class>,
}

impl Judgement {
    /// The verdict on a criterion whose probe took this long.
    pub fn verdict(self, name: Name, millis: u64) -> Verdict {
        Verdict {
            name,
            ruling: self.ruling,
            expected: self.expected,
            found: self.found,
            evidence: self.evidence,
            class: self.class,
            millis,
            mode: Mode::default(),
            guards: None,
        }
    }
}

/// Rules whether everything that was expected was found. The first expectation that does not
/// hold, in the order of [`Expect`], gives the reason.
pub fn judge(expect: &Expect, found: &Found<'_>) -> Judgement {
    let (ruling, expected, reason, class) = match misses(expect, found) {
        Ok(()) => (Ruling::Pass, String::new(), String::new(), None),
        Err(Miss::Wrong { expected, found }) => {
            (Ruling::Fail, expected, found, Some(Class::Logical))
        }
        Err(Miss::Unknown {
            expected,
            found,
            class,
        }) => (Ruling::Error, expected, found, Some(class)),
    };
    Judgement {
        ruling,
        expected: line(&expected),
        found: line(&reason),
        evidence: evidence(found.stdout, found.stderr),
        class,
    }
}

fn misses(expect: &Expect, found: &Found<'_>) -> Result<(), Miss> {
    exit_code(expect.exit_code, found.exit)?;
    files(&expect.file_exists, found.files)?;
    output::all(expect, found)
}

/// An exit code that was asked for is right whatever it is; one that was not and says that
/// nothing ran is no answer to the question.
fn exit_code(asked: Option<i32>, exit: Option<&Exit>) -> Result<(), Miss> {
    let wanted = asked.unwrap_or(0);
    let Some(exit) = exit else { return Ok(()) };
    match exit {
        Exit::Code { code } if *code == wanted => Ok(()),
        Exit::Done if wanted == 0 => Ok(()),
        Exit::Code { code: 126 } => Err(not_run(wanted, "exit code 126: cannot be executed")),
        Exit::Code { code: 127 } => Err(not_run(wanted, "exit code 127: command not found")),
        Exit::Code { .. } | Exit::Done => Err(Miss::Wrong {
            expected: format!("exit code {wanted}"),
            found: exit.to_string(),
        }),
        Exit::Unable { why, class } => Err(Miss::Unknown {
            expected: format!("exit code {wanted}"),
            found: why.clone(),
            class: *class,
        }),
        Exit::Signal { .. } | Exit::TimedOut | Exit::Cancelled | Exit::Interrupted => {
            Err(not_run(wanted, &exit.to_string()))
        }
    }
}

fn not_run(wanted: i32, found: &str) -> Miss {
    Miss::Unknown {
        expected: format!("exit code {wanted}"),
        found: found.to_owned(),
        class: Class::Environmental,
    }
}

fn files(paths: &[String], found: &[FileFound]) -> Result<(), Miss> {
    for (at, path) in paths.iter().enumerate() {
        let expected = format!("the file {path}");
        match found.get(at) {
            Some(FileFound::Yes) => {}
            Some(FileFound::No) => {
                return Err(Miss::Wrong {
                    expected,
                    found: "no such file".into(),
                });
            }
            Some(FileFound::Unable(why)) => return Err(unlooked(expected, why)),
            None => return Err(unlooked(expected, "nobody looked for it")),
        }
    }
    Ok(())
}

fn unlooked(expected: String, why: &str) -> Miss {
    Miss::Unknown {
        expected,
        found: why.to_owned(),
        class: Class::Environmental,
    }
}
