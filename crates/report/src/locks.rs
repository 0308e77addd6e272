//! The words for what tasks wait for: locks, and permits to execute.

use wf_base::{units::plural, untrusted::untrusted};
use wf_core::{
    machine::{LockHolder, LockKey},
    permit::ParallelLimit,
};

/// Returns a lock, for a sentence.
pub fn lock_key_text(key: &LockKey) -> String {
    match key {
        LockKey::Name(name) => format!("lock `{}`", untrusted(name)),
        LockKey::File(path) => untrusted(path).to_string(),
    }
}

/// Returns the lock or permit a task waits for, and its holder or the first in line.
pub fn lock_holder_text(holder: &LockHolder) -> String {
    let LockHolder { key, run, place, waits } = holder;
    let verb = match key {
        _ if *waits => "gets first",
        LockKey::Name(_) => "holds",
        LockKey::File(_) => "writes",
    };
    format!("{}, which step {} of run {} {verb}", lock_key_text(key), untrusted(place), run.short())
}

/// Returns why a task waits until it may execute: the limit that keeps it back, with its value, or the others before it.
pub fn permit_wait_text(limit: Option<(ParallelLimit, u32)>) -> String {
    let Some((limit, most)) = limit else {
        return "steps of other runs are before it".into();
    };
    let of = match limit {
        ParallelLimit::Workspace => "",
        ParallelLimit::Session => " of this session",
        ParallelLimit::Run => " of this run",
    };
    let steps = plural(most as usize, "step");
    format!("at most {steps}{of} at once, as `limits.{limit}` in wf.yaml says")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_base::name::RunId;

    #[test]
    fn a_holder_is_named_with_its_run() {
        let run = RunId::from_bytes([0x3f; 16]);
        let holder = |key| LockHolder { key, run: run.clone(), place: "build[2]".into(), waits: false };
        let file = lock_holder_text(&holder(LockKey::File("out/report.txt".into())));
        assert_eq!(file, format!("out/report.txt, which step build[2] of run {} writes", run.short()));
        let name = lock_holder_text(&holder(LockKey::Name("database".into())));
        assert_eq!(name, format!("lock `database`, which step build[2] of run {} holds", run.short()));
        let first = LockHolder { waits: true, ..holder(LockKey::Name("database".into())) };
        let first = lock_holder_text(&first);
        assert_eq!(first, format!("lock `database`, which step build[2] of run {} gets first", run.short()));
    }

    #[test]
    fn a_limit_is_named_with_its_key() {
        let run = permit_wait_text(Some((ParallelLimit::Run, 1)));
        assert_eq!(
            run,
            "at most 1 step of this run at once, as `limits.max_parallel_per_run` in wf.yaml says"
        );
        assert_eq!(permit_wait_text(None), "steps of other runs are before it");
    }
}
