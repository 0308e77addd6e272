//! The beginning of each line of a service: the time, the workspace among several, and its goal.

use std::{os::fd::AsFd, sync::Arc};

use rustix::fs::fstat;

use wf_app::{
    Host,
    daemon::{WORKSPACE_VAR, prefix_with_goal},
};
use wf_base::time::{Clock, Moment};

/// The beginning of each line of a daemon, or of a process started by it.
#[derive(Clone)]
pub struct LogPrefix {
    clock: Arc<dyn Clock>,
    /// The name of the workspace, where one process runs the goals of several.
    workspace: Option<String>,
    goal: Option<String>,
    /// The stream to the journal of systemd, as `JOURNAL_STREAM` names it.
    journal: Option<String>,
}

impl LogPrefix {
    /// Makes the prefix of a process for a goal; empty: for none.
    pub fn new(host: &Host, goal: &str) -> Self {
        let goal = (!goal.is_empty()).then(|| goal.to_owned());
        // It is printed as it is.
        let is_plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_graphic());
        let workspace = host.var(WORKSPACE_VAR).filter(is_plain).map(str::to_owned);
        Self { clock: host.clock(), workspace, goal, journal: host.var("JOURNAL_STREAM").map(str::to_owned) }
    }

    /// Adds it to each line of a text. The journal stamps its lines itself.
    pub fn add_to(&self, text: &str, stream: &impl AsFd) -> String {
        let is_stamped = self.journal.as_deref().is_some_and(|journal| is_stream(stream, journal));
        let text = add_subject(text, self.workspace.as_deref(), self.goal.as_deref());
        add_time(text, (!is_stamped).then(|| self.clock.now()))
    }
}

/// True if an open stream is the one of a device and an inode, written as `DEVICE:INODE`.
fn is_stream(stream: &impl AsFd, named: &str) -> bool {
    fstat(stream).is_ok_and(|stat| format!("{}:{}", stat.st_dev, stat.st_ino) == named)
}

/// Puts a workspace and a goal before each line of a text.
fn add_subject(text: &str, workspace: Option<&str>, goal: Option<&str>) -> String {
    let text = goal.map_or_else(|| text.to_owned(), |goal| prefix_with_goal(goal, text));
    let Some(workspace) = workspace else { return text };
    text.split_inclusive('\n').map(|line| format!("workspace {workspace} · {line}")).collect()
}

/// Puts a time before each line of a text.
fn add_time(text: String, time: Option<Moment>) -> String {
    let Some(time) = time else { return text };
    let time = time.to_second();
    text.split_inclusive('\n').map(|line| format!("{time} {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{add_subject, add_time, is_stream};
    use wf_base::time::Moment;

    #[test]
    fn each_line_has_the_time_and_the_goal() {
        let time = Moment::parse("2026-11-21T09:30:00.250Z").unwrap();
        let add_prefix = |text: &str, time, goal: Option<&str>| add_time(add_subject(text, None, goal), time);
        let text = "error: a\nhint: b\n";
        assert_eq!(
            add_prefix(text, Some(time), Some("mirror")),
            "2026-11-21T09:30:00Z goal mirror · error: a\n2026-11-21T09:30:00Z goal mirror · hint: b\n"
        );
        assert_eq!(add_prefix(text, None, Some("mirror")), "goal mirror · error: a\ngoal mirror · hint: b\n");
        assert_eq!(add_prefix("idle\n", Some(time), None), "2026-11-21T09:30:00Z idle\n");
        assert_eq!(add_prefix("", Some(time), Some("mirror")), "");
        let of_several = "workspace lab · goal mirror · error: a\nworkspace lab · goal mirror · hint: b\n";
        assert_eq!(add_subject(text, Some("lab"), Some("mirror")), of_several);
        assert_eq!(add_subject("idle\n", Some("lab"), None), "workspace lab · idle\n");
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
