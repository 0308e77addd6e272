//! The words for locks that tasks wait for.

use wf_base::untrusted::untrusted;
use wf_core::machine::{LockHolder, LockKey};

/// Returns a lock, for a sentence.
pub fn lock_key_text(key: &LockKey) -> String {
    match key {
        LockKey::Name(name) => format!("lock `{}`", untrusted(name)),
        LockKey::File(path) => untrusted(path).to_string(),
    }
}

/// Returns what a task waits for, and who has it.
pub fn lock_holder_text(holder: &LockHolder) -> String {
    let LockHolder { key, run, place } = holder;
    let verb = match key {
        LockKey::Name(_) => "holds",
        LockKey::File(_) => "writes",
    };
    format!("{}, which step {} of run {} {verb}", lock_key_text(key), untrusted(place), run.short())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_base::name::RunId;

    #[test]
    fn a_holder_is_named_with_its_run() {
        let run = RunId::from_bytes([0x3f; 16]);
        let holder = |key| LockHolder { key, run: run.clone(), place: "build[2]".into() };
        let file = lock_holder_text(&holder(LockKey::File("out/report.txt".into())));
        assert_eq!(file, format!("out/report.txt, which step build[2] of run {} writes", run.short()));
        let name = lock_holder_text(&holder(LockKey::Name("database".into())));
        assert_eq!(name, format!("lock `database`, which step build[2] of run {} holds", run.short()));
    }
}
