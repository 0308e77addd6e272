use std::collections::BTreeMap;

use super::tail::{append_to_line, line_text};
use wf_base::{
    name::RunId,
    untrusted::{DIM, paint},
};
use wf_core::machine::Attempt;

/// The longest incomplete line that is held back, in bytes.
const OPEN_LIMIT: usize = 8 * 1024;

/// Turns output in pieces into whole lines, each after the name of its step.
#[derive(Debug, Default)]
pub struct OutputLineBuffer {
    partial_lines: BTreeMap<(RunId, Attempt), Vec<u8>>,
}

impl OutputLineBuffer {
    /// Takes in output of an attempt and returns the lines that are complete, after the name of its
    /// task.
    pub fn push(&mut self, name: &str, run: &RunId, attempt: &Attempt, bytes: &[u8]) -> String {
        let key = (run.clone(), attempt.clone());
        let mut open = self.partial_lines.remove(&key).unwrap_or_default();
        let mut lines = String::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            append_to_line(&mut open, part, usize::MAX);
            if part.ends_with(b"\n") || open.len() > OPEN_LIMIT {
                lines.push_str(&prefixed(name, &open));
                open.clear();
            }
        }
        if !open.is_empty() {
            self.partial_lines.insert(key, open);
        }
        lines
    }

    /// Returns the output of an attempt with no line end.
    pub fn close(&mut self, name: &str, run: &RunId, attempt: &Attempt) -> String {
        let open = self.partial_lines.remove(&(run.clone(), attempt.clone()));
        open.map(|line| prefixed(name, &line)).unwrap_or_default()
    }
}

fn prefixed(name: &str, line: &[u8]) -> String {
    format!("{} {}\n", paint(DIM, &format!("{name} │")), line_text(line))
}

#[cfg(test)]
mod tests {
    use super::OutputLineBuffer;
    use wf_base::{
        name::{Name, RunId},
        untrusted::plain,
    };
    use wf_core::machine::{Attempt, TaskId};

    #[test]
    fn lines_come_whole_and_named() {
        let (run, name) = (RunId::from_stored("r"), "all/build");
        let attempt = Attempt { task_id: TaskId::of_step(&Name::parse("build").unwrap()), attempt: 1 };
        let mut lines = OutputLineBuffer::default();
        assert_eq!(lines.push(name, &run, &attempt, b"one"), "");
        let mut told = lines.push(name, &run, &attempt, b" line\ntwo\nthr");
        assert_eq!(plain(&told), "all/build │ one line\nall/build │ two\n");
        assert_eq!(plain(&lines.close(name, &run, &attempt)), "all/build │ thr\n");
        assert_eq!(lines.close(name, &run, &attempt), "");
        for part in ["10%\r2", "0%", "\r", "30%\r40%", "\r", "\r\n5", "0%\r\n"] {
            told = lines.push(name, &run, &attempt, part.as_bytes());
        }
        assert_eq!(plain(&told), "all/build │ 50%\n");
    }
}
