//! The inbox of a workspace: the requests, suggestions, secrets and notices waiting for people.

use serde::Serialize;

use super::{RequestView, StateReader, SuggestionRecord, open_requests, open_suggestions};
use crate::{
    Caller, CommandError,
    connections::{SecretPrompt, waiting_secrets},
    goals::{GoalFinding, check_goals_scheduled, ending_approvals},
    state::{
        call_findings::RecordedCalls,
        doctor::{DoctorStatus, find_interrupted_runs},
        queue::{QueueEntry, QueueState, QueueSubject, queue_entries},
    },
};
use wf_base::{remedy::UserAction, time::Moment};

/// The inbox of a workspace: all that waits for people.
#[derive(Debug, Serialize)]
pub struct InboxView {
    /// The open requests, the one expiring first before the others.
    pub requests: Vec<RequestView>,
    /// The undecided suggestions.
    pub suggestions: Vec<SuggestionRecord>,
    /// The secrets awaited by setups of connections.
    pub secrets: Vec<SecretPrompt>,
    /// The notices of other things needing attention.
    pub notices: Vec<Notice>,
}

/// Returns the inbox of a workspace, with its state, if there is one.
pub fn inbox_view(caller: &dyn Caller, reader: Option<&StateReader>) -> Result<InboxView, CommandError> {
    let requests = reader.map_or_else(|| Ok(Vec::new()), open_requests)?;
    let suggestions = reader.map_or_else(|| Ok(Vec::new()), open_suggestions)?;
    let notices = notices(caller, reader, &requests)?;
    Ok(InboxView { requests, suggestions, secrets: waiting_secrets(caller), notices })
}

/// Something that needs attention and is no request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The word for its subject.
    pub subject: &'static str,
    /// The state of things, and the reason.
    pub text: String,
    /// The command that helps.
    pub command: String,
    /// The page with more.
    pub page: Option<String>,
}

/// The words of a face for acts.
type ActionWords<'a> = &'a dyn Fn(&UserAction) -> String;

/// Returns what needs attention in a workspace, besides the open requests; with its state, if there is one.
pub fn notices(
    caller: &dyn Caller,
    reader: Option<&StateReader>,
    requests: &[RequestView],
) -> Result<Vec<Notice>, CommandError> {
    let (now, words) = (caller.host().now(), &|action: &UserAction| caller.action_words(action));
    let mut notices: Vec<Notice> =
        check_goals_scheduled(caller).into_iter().filter_map(|finding| goal_notice(words, finding)).collect();
    notices.extend(standing_approval_notices(caller));
    let reader = reader.map(StateReader::store);
    let breakers = reader.map(RecordedCalls::of_state).unwrap_or_default().open_breakers(now);
    notices.extend(breakers.into_iter().map(|finding| Notice {
        subject: "breaker",
        text: finding.found,
        command: caller.action_words(&UserAction::Examine),
        page: Some("/connections".into()),
    }));
    if let Some(reader) = reader {
        notices.extend(find_interrupted_runs(reader).iter().map(|run| Notice {
            subject: "interrupted",
            text: format!("no process works on {}, run {}", run.plan, run.id.short()),
            command: caller.action_words(&UserAction::ResumeRun(run.id.clone())),
            page: Some(format!("/runs/{}", run.id)),
        }));
        notices.extend(queue_entries(reader)?.iter().filter_map(|entry| dead_letter_notice(words, entry)));
    }
    notices.extend(requests.iter().filter_map(|request| expiry_notice(caller, request, now)));
    Ok(notices)
}

/// Returns the notice of a finding about goals, if it is none of health.
fn goal_notice(words: ActionWords<'_>, goal_finding: GoalFinding) -> Option<Notice> {
    let GoalFinding { finding, action } = goal_finding;
    (finding.health != DoctorStatus::Good).then(|| Notice {
        subject: finding.name,
        text: finding.found,
        command: words(&action),
        page: Some("/goals".into()),
    })
}

/// Returns the notice of an abandoned entry of the queue. Failed goals are shown as such.
fn dead_letter_notice(words: ActionWords<'_>, entry: &QueueEntry) -> Option<Notice> {
    let QueueSubject::Notification { goal, tries, .. } = &entry.subject else {
        return None;
    };
    (entry.state == QueueState::Dead).then(|| Notice {
        subject: "notification",
        text: format!("a notification about `{goal}` was given up after {tries} tries: {}", entry.reason),
        command: words(&UserAction::Requeue(entry.id.clone())),
        page: Some(format!("/goals/{goal}")),
    })
}

/// Returns the notice of a request whose time is over, while its run is not worked on.
fn expiry_notice(caller: &dyn Caller, request: &RequestView, now: Moment) -> Option<Notice> {
    (request.ask.expires <= now).then(|| Notice {
        subject: "expired",
        text: format!("the request `{}` of {} expired without an answer", request.name, request.plan),
        command: caller.action_words(&UserAction::ResumeRun(request.top.clone())),
        page: Some(format!("/runs/{}", request.top)),
    })
}

/// Returns a notice for each goal whose standing approval has ended, or ends soon.
fn standing_approval_notices(caller: &dyn Caller) -> impl Iterator<Item = Notice> {
    ending_approvals(caller).into_iter().map(|ending| Notice {
        subject: "approval",
        text: format!("`{}`: {}", ending.goal, ending.reason),
        command: caller.action_words(&UserAction::ApprovePlan(ending.path.clone())),
        page: Some(format!("/goals/{}", ending.goal)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::doctor::DoctorFinding;
    use wf_base::name::PlanId;

    #[test]
    fn only_what_is_not_good_is_noticed() {
        let finding = |health| GoalFinding {
            finding: DoctorFinding::new("daemon", health, "so".into()),
            action: UserAction::StartDaemon,
        };
        let words = |action: &UserAction| format!("{action:?}");
        assert_eq!(goal_notice(&words, finding(DoctorStatus::Good)), None);
        let daemon = goal_notice(&words, finding(DoctorStatus::Weak)).unwrap();
        assert_eq!((daemon.subject, daemon.text.as_str()), ("daemon", "so"));
        assert_eq!(daemon.command, "StartDaemon");
    }

    #[test]
    fn a_notification_is_noticed_once_it_was_given_up() {
        let entry = |state| QueueEntry {
            id: "notification-7".into(),
            state,
            subject: QueueSubject::Notification {
                notification: 7,
                goal: PlanId::parse("mirror").unwrap(),
                tries: 5,
            },
            since: Moment::default(),
            reason: "refused".into(),
        };
        let words = |action: &UserAction| format!("{action:?}");
        assert_eq!(dead_letter_notice(&words, &entry(QueueState::Waiting)), None);
        let dead = dead_letter_notice(&words, &entry(QueueState::Dead)).unwrap();
        assert_eq!(dead.text, "a notification about `mirror` was given up after 5 tries: refused");
        assert_eq!(dead.command, "Requeue(\"notification-7\")");
    }
}
