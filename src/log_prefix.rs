//! The beginning of each line of a service: the time, and its goal.

use std::{os::fd::AsFd, sync::Arc};

use rustix::fs::fstat;

use wf_app::{Host, daemon::prefix_with_goal};
use wf_base::time::{Clock, Moment};

/// The beginning of each line of a daemon, or of a process started by it.
#[derive(Clone)]
pub struct LogPrefix {
    clock: Arc<dyn Clock>,
    goal: Option<String>,
    /// The stream to the journal of systemd, as `JOURNAL_STREAM` names it.
    journal: Option<String>,
}

impl LogPrefix {
    /// Makes the prefix of a process for a goal; empty: for none.
    pub fn new(host: &Host, goal: &str) -> Self {
        let goal = (!goal.is_empty()).then(|| goal.to_owned());
        Self { clock: host.clock(), goal, journal: host.var("JOURNAL_STREAM").map(str::to_owned) }
    }

    /// Adds it to each line of a text. The journal stamps its lines itself.
    pub fn add_to(&self, text: &str, stream: &impl AsFd) -> String {
        let is_stamped = self.journal.as_deref().is_some_and(|journal| is_stream(stream, journal));
        add_prefix(text, (!is_stamped).then(|| self.clock.now()), self.goal.as_deref())
    }
}

/// True if an open stream is the one of a device and an inode, written as `DEVICE:INODE`.
fn is_stream(stream: &impl AsFd, named: &str) -> bool {
    fstat(stream).is_ok_and(|stat| format!("{}:{}", stat.st_dev, stat.st_ino) == named)
}

/// Puts a time and a goal before each line of a text.
fn add_prefix(text: &str, time: Option<Moment>, goal: Option<&str>) -> String {
    let text = goal.map_or_else(|| text.to_owned(), |goal| prefix_with_goal(goal, text));
    let Some(time) = time else { return text };
    let time = time.to_second();
    text.split_inclusive('\n').map(|line| format!("{time} {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{add_prefix, is_stream};
    use wf_base::time::Moment;

    #[test]
    fn each_line_has_the_time_and_the_goal() {
        let time = Moment::parse("2026-11-21T09:30:00.250Z").unwrap();
        let text = "error: a\nhint: b\n";
        assert_eq!(
            add_prefix(text, Some(time), Some("mirror")),
            "2026-11-21T09:30:00Z goal mirror · error: a\n2026-11-21T09:30:00Z goal mirror · hint: b\n"
        );
        assert_eq!(add_prefix(text, None, Some("mirror")), "goal mirror · error: a\ngoal mirror · hint: b\n");
        assert_eq!(add_prefix("idle\n", Some(time), None), "2026-11-21T09:30:00Z idle\n");
        assert_eq!(add_prefix("", Some(time), Some("mirror")), "");
    }

    #[test]
    fn a_stream_is_the_journal_s_only_if_it_is_the_named_one() {
        use std::os::unix::fs::MetadataExt as _;
        let file = tempfile::tempfile().unwrap();
        let metadata = file.metadata().unwrap();
        assert!(is_stream(&file, &format!("{}:{}", metadata.dev(), metadata.ino())));
        for other in [format!("{}:{}", metadata.dev(), metadata.ino() + 1), "journal".into()] {
            assert!(!is_stream(&file, &other));
        }
    }
}
