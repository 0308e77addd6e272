use std::time::Duration;

use serde::{Deserialize, Serialize};
use wf_base::{
    keywords,
    name::{EnvName, Name, PlanId},
};

use crate::{
    schedule::GoalSchedule,
    summary::{RecordView, SummaryBuilder, exact_duration, shell_words},
};

/// The schedule of a goal and the reaction to its state. The checks of the goal and its repair
/// steps are its [`Plan`](super::Plan).
///
/// **Invariant:** `on_failure` is [`OnUnmet::SpawnPlan`] exactly when the plan of the goal has
/// steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The id of the goal, and of its plan; unique in the workspace.
    pub id: PlanId,
    /// A one-line title.
    pub title: Option<String>,
    /// The file of the goal, relative to the workspace.
    pub path: String,
    pub timing: GoalSchedule,
    /// The handling of scheduled times when no engine was running.
    pub missed: MissedTimesPolicy,
    /// The delay within which a scheduled time still counts as on time.
    pub window: Duration,
    /// The handling of a scheduled time coming during a reconciliation.
    pub overlap: GoalOverlapPolicy,
    /// The number of failed reconciliations in a row after which the goal pauses; `None`: it never
    /// pauses by itself. Never 0.
    pub auto_pause_after: Option<u32>,
    /// The backend where its runs go; `None`: they stay on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Name>,
    /// The reaction if the checks find that the state is not as desired.
    pub on_failure: OnUnmet,
    /// True if it has no checks: its steps run at each scheduled time, and nothing judges the result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_job: bool,
    /// The approval a repair needs.
    pub approval: GoalApproval,
    /// The notifications that are sent.
    pub notify: Vec<NotificationRule>,
}

// Its schedule, consequences and notifications. The id and the title are shown with its plan.
view! { goal: Goal in Graph {
    own timing = RecordView::view,
    plain window = format!("{}: a run that would start later counts as missed", exact_duration(*window));
        *window == Goal::WINDOW,
    below missed,
    plain overlap = overlap_text(*overlap); *overlap == GoalOverlapPolicy::default(),
    most auto_pause_after in Effort = pause_text(*auto_pause_after); auto_pause_after.is_none(),
    plain backend in Reach =
        backend.as_ref().map_or_else(|| "this machine".into(), |name| format!("the backend {name}"));
        backend.is_none(),
    whole on_failure = show_consequence,
    grant notify in Reach = &notify.iter().map(notification_text).collect::<Vec<_>>(),
} aside id, title, path, is_job, approval }

fn pause_text(count: Option<u32>) -> (String, f64) {
    count.map_or_else(
        || ("never: it is not paused automatically".into(), f64::INFINITY),
        |count| (format!("{count} failed reconciliations in a row"), f64::from(count)),
    )
}

/// The effect of a failed check, and the approval it needs.
fn show_consequence(goal: &Goal, summary: &mut SummaryBuilder) {
    let text = match goal.on_failure {
        OnUnmet::Report => ("report: a notification is sent, and nothing is repaired", 0.0),
        OnUnmet::SpawnPlan if goal.is_job => {
            ("its plan runs at each scheduled time, unattended; no check says what it achieved", 2.0)
        }
        OnUnmet::SpawnPlan => ("spawn_plan: its repair steps run, unattended", 1.0),
    };
    let key = if goal.is_job { "run" } else { "on_failure" };
    lines!(summary in Decision { most (key) = text });
    let approval = match goal.approval {
        GoalApproval::Standing => (format!("standing: a {} uses a standing approval", goal.noun()), 0.0),
        GoalApproval::None => (format!("none: a {} needs no approval", goal.noun()), 1.0),
    };
    let approval = (goal.on_failure == OnUnmet::SpawnPlan).then_some(approval);
    lines!(summary in Decision { most "approval" = approval });
}

fn overlap_text(overlap: GoalOverlapPolicy) -> &'static str {
    match overlap {
        GoalOverlapPolicy::Skip => "skip: a slot that is due during a reconciliation is skipped",
        GoalOverlapPolicy::QueueOne => {
            "queue_one: the last slot that is due during a reconciliation is queued"
        }
        GoalOverlapPolicy::QueueAll => "queue_all: all slots that are due during a reconciliation are queued",
        GoalOverlapPolicy::Replace => "replace: a slot that is due cancels the running reconciliation",
        GoalOverlapPolicy::Allow => "allow: reconciliations may run concurrently",
    }
}

/// The handling of scheduled times that were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissedTimesPolicy {
    /// The missed times to catch up on.
    pub run: MissedTimesChoice,
    /// The time to look back for missed times.
    pub window: Duration,
    /// The maximum number to catch up on; the earliest of the rest stay missed. Never 0.
    pub cap: u32,
}

view! { missed: MissedTimesPolicy in Effort {
    most run = match run {
        MissedTimesChoice::None => ("none: missed runs are dropped", 0.0),
        MissedTimesChoice::Latest => ("latest: the last missed run is made up for", 1.0),
        MissedTimesChoice::All => ("all: every missed run is made up for", 2.0),
    }; *run == MissedTimesPolicy::default().run,
    most window; *window == MissedTimesPolicy::default().window,
    most cap; *cap == MissedTimesPolicy::default().cap,
} }

keywords! {
    listed
    /// The missed scheduled times to catch up on.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum MissedTimesChoice {
        /// None of them.
        None = "none",
        /// The last one.
        #[default]
        Latest = "latest",
        /// All of them, in order.
        All = "all",
    }
}

keywords! {
    listed
    /// The handling of a scheduled time coming during a reconciliation of the same goal.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum GoalOverlapPolicy {
        /// It is skipped.
        #[default]
        Skip = "skip",
        /// It waits for the end of the reconciliation; of several that wait, the last one begins.
        QueueOne = "queue_one",
        /// It waits for the end of the reconciliation, in line with all earlier ones.
        QueueAll = "queue_all",
        /// The reconciliation is cancelled, and the new one begins.
        Replace = "replace",
        /// It begins in parallel to the reconciliation.
        Allow = "allow",
    }
}

keywords! {
    listed
    /// The reaction if the checks find that the state is not as desired.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum OnUnmet {
        /// It is reported.
        #[default]
        Report = "report",
        /// It is repaired: the plan of the goal runs with its steps.
        SpawnPlan = "spawn_plan",
    }
}

keywords! {
    listed
    /// The approval a repair needs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum GoalApproval {
        /// A standing approval: signed once, used by each repair.
        #[default]
        Standing = "standing",
        /// None: a repair runs as a plan started by a user does.
        None = "none",
    }
}

/// A notification rule for when a goal goes from one condition to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationRule {
    /// The events to notify of; each at most once.
    pub on: Vec<GoalEvent>,
    pub by: NotificationDelivery,
}

fn notification_text(notify: &NotificationRule) -> String {
    let NotificationRule { on, by } = notify;
    let on: Vec<&str> = on.iter().copied().map(GoalEvent::as_str).collect();
    let by = match by {
        NotificationDelivery::Exec(argv) => {
            format!("runs {}", shell_words(argv))
        }
        NotificationDelivery::Webhook { url, secret } => {
            let to = match url {
                WebhookUrl::Text(url) => url.clone(),
                WebhookUrl::Secret(name) => format!("the address in the secret {name}"),
            };
            let signed = match secret {
                Some(name) => format!("signed with the secret {name}"),
                None => "not signed".into(),
            };
            format!("posts to {to}, {signed}")
        }
    };
    format!("{}: {by}", on.join(", "))
}

/// The delivery of a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotificationDelivery {
    /// By a program with its arguments, without a shell; it reads the notification from stdin.
    Exec(Vec<String>),
    /// By an HTTP request to an address.
    Webhook {
        /// The address.
        url: WebhookUrl,
        /// The secret of the plan the request is signed with; `None`: it is not signed.
        secret: Option<EnvName>,
    },
}

/// The source of the address of a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WebhookUrl {
    /// In the file.
    Text(String),
    /// In a secret of the plan: anything with the address may post to it.
    Secret(EnvName),
}

keywords! {
    listed
    /// An event of a goal that is notified. It is sent when it begins, not as long as it lasts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum GoalEvent {
        /// The state is not as desired, and no repair has made it so.
        Failed = "failed",
        /// A repair has made the state as desired.
        Repaired = "repaired",
        /// The state is as desired again, and no repair of this goal did it.
        Healthy = "healthy",
        /// A repair waits for approval.
        Waiting = "waiting",
        /// The goal pauses, as too many reconciliations have failed.
        Paused = "paused",
        /// Scheduled times were missed.
        Missed = "missed",
        /// The goal is not run any more: it is not accepted, or no approval permits it.
        Blocked = "blocked",
        /// Its standing approval soon ends, or is nearly used up.
        Expiring = "expiring",
    }

}

impl GoalEvent {
    /// True if every recipient is notified, regardless of its subscription: a goal not run reports nothing else.
    pub fn is_for_all(self) -> bool {
        matches!(self, Self::Blocked | Self::Expiring)
    }
}

keywords! {
    /// A parameter the plan of a goal has in addition to its own. All are text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum GoalParam {
        /// The output of the checks failed before a repair: a JSON list, `[]` while checking.
        /// Untrusted: it carries text printed by checks.
        FailedChecks = "failed_checks",
        /// The scheduled time of the reconciliation, as RFC 3339; empty if started otherwise.
        Slot = "slot",
        /// The scheduled time before it, as RFC 3339; empty if there is none.
        PrevSlot = "prev_slot",
    }
}

impl Goal {
    /// The default delay within which a scheduled time still counts as on time.
    pub const WINDOW: Duration = Duration::from_mins(1);

    /// Returns the word for a run of its steps: those of a goal without checks repair nothing.
    pub fn noun(&self) -> &'static str {
        if self.is_job { "run" } else { "repair" }
    }

    /// True if each of its runs needs a standing approval, without which nothing of it runs.
    pub fn is_signed_job(&self) -> bool {
        self.is_job && self.approval == GoalApproval::Standing
    }
}

impl Default for MissedTimesPolicy {
    fn default() -> Self {
        Self { run: MissedTimesChoice::default(), window: Duration::from_hours(24), cap: 100 }
    }
}

impl GoalParam {
    pub fn default_value(self) -> &'static str {
        match self {
            Self::FailedChecks => "[]",
            Self::Slot | Self::PrevSlot => "",
        }
    }
}

/// The thresholds for proposing more or less autonomy for a goal (Silas 5.1.6, 5.9).
///
/// **Invariant:** in a configuration that was loaded, `min_samples` and `most_executions` are at
/// least 1, `0 < widen_below < tighten_above <= 1`, `longest` and `window` are not zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutonomyThresholds {
    /// The number of completed repairs required before any proposal.
    pub min_samples: u32,
    /// Below this correction rate, widening is proposed.
    pub widen_below: f64,
    /// Above this correction rate, tightening is proposed. It is more than `widen_below`: between
    /// the two nothing is proposed, so proposals do not oscillate.
    pub tighten_above: f64,
    /// No proposal allows more repairs than this.
    pub most_executions: u32,
    /// No proposal is valid for longer than this.
    pub longest: Duration,
    /// Only repairs within this time window count.
    pub window: Duration,
}

impl Default for AutonomyThresholds {
    fn default() -> Self {
        Self {
            min_samples: 30,
            widen_below: 0.05,
            tighten_above: 0.2,
            most_executions: 100,
            longest: Duration::from_hours(90 * 24),
            window: Duration::from_hours(90 * 24),
        }
    }
}
