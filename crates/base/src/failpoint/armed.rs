use std::{
    fs::OpenOptions,
    io::Write as _,
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::process::{Signal, getpid, kill_process};

/// The action of the crash points of this process.
#[derive(Debug, PartialEq, Eq)]
enum CrashPlan {
    /// Kills at the point with this number, counted from one.
    Kill(u64),
    /// Panics at the point with this number.
    Panic(u64),
    /// Stops, until it is told to go on, at the point with this number.
    Stop(u64),
    /// Writes the name of every point to this file.
    List(PathBuf),
}

static PLAN: OnceLock<CrashPlan> = OnceLock::new();
static PASSED: AtomicU64 = AtomicU64::new(0);

/// A value of `WF_CRASH` that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("WF_CRASH={0}: write ROLE:NUMBER, ROLE:panic=NUMBER, ROLE:stop=NUMBER or ROLE:list=FILE")]
pub struct CrashPlanError(String);

/// Applies the value of `WF_CRASH`, if it names the process of this role.
pub fn arm(text: &str, role: &str) -> Result<(), CrashPlanError> {
    if cfg!(debug_assertions)
        && let Some(plan) = parse(text, role)?
    {
        // The first value stays.
        let _ = PLAN.set(plan);
    }
    Ok(())
}

/// Marks an instant the process may be killed. `name` names the write that has just been, or is about to be,
/// made durable.
pub fn point(name: &str) {
    if cfg!(debug_assertions)
        && let Some(plan) = PLAN.get()
    {
        pass_point(plan, name);
    }
}

fn pass_point(plan: &CrashPlan, name: &str) {
    let passed = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
    match plan {
        CrashPlan::Kill(at) if passed == *at => {
            let _ = kill_process(getpid(), Signal::KILL);
            // The kill may take a moment to arrive, and nothing must happen in it.
            loop {
                std::thread::park();
            }
        }
        CrashPlan::Panic(at) if passed == *at => panic!("WF_CRASH asked for it at {name}"),
        CrashPlan::Stop(at) if passed == *at => {
            let _ = kill_process(getpid(), Signal::STOP);
        }
        CrashPlan::Kill(_) | CrashPlan::Panic(_) | CrashPlan::Stop(_) => {}
        CrashPlan::List(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            // A list that cannot be written shows by being empty.
            let _ = file.and_then(|mut file| writeln!(file, "{name}"));
        }
    }
}

/// Reads `ROLE:NUMBER`, `ROLE:panic=NUMBER`, `ROLE:stop=NUMBER` or `ROLE:list=FILE`; `None` if another role is meant.
fn parse(text: &str, role: &str) -> Result<Option<CrashPlan>, CrashPlanError> {
    let wrong = || CrashPlanError(text.to_owned());
    let (owner, plan) = text.split_once(':').ok_or_else(wrong)?;
    if owner != role {
        return Ok(None);
    }
    let number = |text: &str| text.parse().map_err(|_| wrong());
    Ok(Some(match plan.split_once('=') {
        Some(("list", path)) => CrashPlan::List(path.into()),
        Some(("stop", at)) => CrashPlan::Stop(number(at)?),
        Some(("panic", at)) => CrashPlan::Panic(number(at)?),
        _ => CrashPlan::Kill(number(plan)?),
    }))
}

#[cfg(test)]
mod tests {
    use super::{CrashPlan, parse};

    #[test]
    fn a_plan_is_for_one_role() {
        assert_eq!(parse("engine:7", "engine"), Ok(Some(CrashPlan::Kill(7))));
        assert_eq!(parse("engine:7", "keeper"), Ok(None));
        assert_eq!(parse("engine:panic=7", "engine"), Ok(Some(CrashPlan::Panic(7))));
        assert_eq!(parse("worker:stop=7", "worker"), Ok(Some(CrashPlan::Stop(7))));
        assert!(parse("engine:panic=", "engine").is_err());
        let list = CrashPlan::List("/tmp/points".into());
        assert_eq!(parse("keeper:list=/tmp/points", "keeper"), Ok(Some(list)));
        assert!(parse("engine:x", "engine").is_err());
        assert!(parse("7", "engine").is_err());
    }
}
