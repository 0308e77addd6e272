use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

/// What the points of this process do.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    /// The point with this number, counted from one, kills.
    Kill(u64),
    /// The point with this number is a mistake of the program itself.
    Panic(u64),
    /// Each is written down.
    List(PathBuf),
}

static PLAN: OnceLock<Plan> = OnceLock::new();
static PASSED: AtomicU64 = AtomicU64::new(0);

/// Takes what `WF_CRASH` says into account, if it names the process of this role. Says what is
/// wrong with it.
pub fn arm(text: &str, role: &str) -> Result<(), String> {
    if cfg!(debug_assertions)
        && let Some(plan) = parse(text, role)?
    {
        // Whoever came first stays.
        let _ = PLAN.set(plan);
    }
    Ok(())
}

/// An instant at which the process may be killed. `name` says what has just been, or is about to
/// be, made durable.
pub fn point(name: &str) {
    if cfg!(debug_assertions)
        && let Some(plan) = PLAN.get()
    {
        pass(plan, name);
    }
}

fn pass(plan: &Plan, name: &str) {
    let passed = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
    match plan {
        Plan::Kill(at) if passed == *at => {
            let _ = kill_process(getpid(), Signal::KILL);
            // Death may take a moment to arrive, and nothing must happen in it.
            loop {
                std::thread::park();
            }
        }
        Plan::Panic(at) if passed == *at => panic!("WF_CRASH asked for it at {name}"),
        Plan::Kill(_) | Plan::Panic(_) => {}
        Plan::List(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            // A list that cannot be written is seen to be empty.
            let _ = file.and_then(|mut file| writeln!(file, "{name}"));
        }
    }
}

/// Reads `ROLE:NUMBER`, `ROLE:panic=NUMBER` or `ROLE:list=FILE`; `None` if another role is meant.
fn parse(text: &str, role: &str) -> Result<Option<Plan>, String> {
    let wrong =
        || format!("WF_CRASH={text}: write ROLE:NUMBER, ROLE:panic=NUMBER or ROLE:list=FILE");
    let (whose, what) = text.split_once(':').ok_or_else(wrong)?;
    if whose != role {
        return Ok(None);
    }
    let number = |text: &str| text.parse().map_err(|_| wrong());
    Ok(Some(match what.split_once('=') {
        Some(("list", path)) => Plan::List(path.into()),
        Some(("panic", at)) => Plan::Panic(number(at)?),
        _ => Plan::Kill(number(what)?),
    }))
}

#[cfg(test)]
mod tests {
    use super::{Plan, parse};

    #[test]
    fn a_plan_is_for_one_role() {
        assert_eq!(parse("engine:7", "engine"), Ok(Some(Plan::Kill(7))));
        assert_eq!(parse("engine:7", "keeper"), Ok(None));
        assert_eq!(parse("engine:panic=7", "engine"), Ok(Some(Plan::Panic(7))));
        assert!(parse("engine:panic=", "engine").is_err());
        let list = Plan::List("/tmp/points".into());
        assert_eq!(parse("keeper:list=/tmp/points", "keeper"), Ok(Some(list)));
        assert!(parse("engine:x", "engine").is_err());
        assert!(parse("7", "engine").is_err());
    }
}
