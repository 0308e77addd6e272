use super::classify::{classify, ruled};
use super::output::{self, Miss};
use super::text::{evidence, line};
use super::{FileFound, Found};
use crate::machine::{Exit, Ruling, Verdict};
use crate::model::{CheckPhase, Class, ClassRule, Expect, Mode};
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
    pub fn verdict(self, name: Name, mode: Mode, millis: u64) -> Verdict {
        Verdict {
            name,
            phase: CheckPhase::default(),
            ruling: self.ruling,
            expected: self.expected,
            found: self.found,
            evidence: self.evidence,
            class: self.class,
            millis,
            mode,
            guards: None,
            hidden: Vec::new(),
        }
    }
}

/// Rules whether everything that was expected was found. The first expectation that does not
/// hold, in the order of [`Expect`], gives the reason. The class of what failed is that of the
/// first rule that holds; else, if its end is why, that of [`classify()`].
pub fn judge(expect: &Expect, found: &Found<'_>, rules: &[ClassRule]) -> Judgement {
    let (ruling, expected, reason, class) = match misses(expect, found) {
        Ok(()) => (Ruling::Pass, String::new(), String::new(), None),
        Err(Miss::Wrong {
            expected,
            found,
            class,
        }) => (Ruling::Fail, expected, found, Some(class)),
        Err(Miss::Unknown {
            expected,
            found,
            class,
        }) => (Ruling::Error, expected, found, Some(class)),
    };
    let by_rule = |exit| ruled(exit, found.out_end, found.err_end, rules);
    let class = class.map(|class| found.exit.and_then(by_rule).unwrap_or(class));
    Judgement {
        ruling,
        expected: line(&expected),
        found: line(&reason),
        evidence: evidence(found.stdout, found.stderr),
        class,
    }
}

fn misses(expect: &Expect, found: &Found<'_>) -> Result<(), Miss> {
    something(expect, found)?;
    exit_code(expect.exit_code, found)?;
    files(&expect.file_exists, found.files)?;
    output::all(expect, found)
}

/// Without a probe, files must be expected, and nothing else.
fn something(expect: &Expect, found: &Found<'_>) -> Result<(), Miss> {
    if found.exit.is_some() || expect.is_files_only() {
        return Ok(());
    }
    let expected = "something to judge".into();
    Err(unknown(
        expected,
        "nothing was run".into(),
        Some(Class::Logical),
    ))
}

/// An exit code that was asked for is right whatever it is; one that was not and says that
/// nothing ran is no answer to the question.
fn exit_code(asked: Option<i32>, found: &Found<'_>) -> Result<(), Miss> {
    let wanted = asked.unwrap_or(0);
    let Some(exit) = found.exit else {
        return Ok(());
    };
    let told = match exit {
        Exit::Code { code } if *code == wanted => return Ok(()),
        Exit::Done if wanted == 0 => return Ok(()),
        Exit::Code { code: 126 } => "exit code 126: cannot be executed".to_owned(),
        Exit::Code { code: 127 } => "exit code 127: command not found".to_owned(),
        exit => exit.to_string(),
    };
    let expected = format!("exit code {wanted}");
    let class = classify(exit, found.out_end, found.err_end, &[]);
    Err(match exit {
        Exit::Code { code: 126 | 127 } => unknown(expected, told, class),
        Exit::Code { .. } | Exit::Done => Miss::Wrong {
            expected,
            found: told,
            class: class.unwrap_or(Class::Logical),
        },
        _ => unknown(expected, told, class),
    })
}

/// What could not be looked at; the world is to blame if nobody else is.
fn unknown(expected: String, found: String, class: Option<Class>) -> Miss {
    Miss::Unknown {
        expected,
        found,
        class: class.unwrap_or(Class::Environmental),
    }
}

fn files(paths: &[String], found: &[FileFound]) -> Result<(), Miss> {
    for (at, path) in paths.iter().enumerate() {
        let expected = format!("the file {path}");
        match found.get(at) {
            Some(FileFound::Yes) => {}
            Some(FileFound::No) => {
                return output::wrong(expected, "no such file");
            }
            Some(FileFound::Unable(why)) => return Err(unknown(expected, why.clone(), None)),
            None => return Err(unknown(expected, "nobody looked for it".into(), None)),
        }
    }
    Ok(())
}
