use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{GoalOutcome, ReconciliationHealth, consecutive_failures, health_notification};
use wf_base::{
    name::{EnvName, PlanId, RunId},
    time::Moment,
};
use wf_model::{Goal, GoalEvent, NotificationDelivery, NotificationRule, WebhookUrl};

/// The consequences of the end of a reconciliation besides its result.
#[derive(Debug, Default)]
pub struct FollowUps {
    /// The reason why the goal pauses now, if it does.
    pub pause: Option<String>,
    /// The notifications to send.
    pub notices: Vec<Value>,
}

/// A reconciliation as notifications name it.
#[derive(Clone, Copy, Debug)]
pub struct NotifiedReconciliation<'a> {
    /// Its check run.
    pub look: &'a RunId,
    pub repair: Option<&'a RunId>,
    /// Its scheduled time.
    pub slot: Option<Moment>,
    /// True if the scheduled time before it was blocked.
    pub was_blocked: bool,
}

/// Returns the consequences of the end of a reconciliation. `before` are the ends of earlier ones, newest first; failures
/// before the goal was last resumed do not count.
pub fn follow_ups(
    goal: &Goal,
    before: &[(Moment, ReconciliationHealth)],
    resumed: Option<Moment>,
    cycle: NotifiedReconciliation<'_>,
    outcome: &GoalOutcome,
    at: Moment,
) -> FollowUps {
    let mut healths = before.iter().map(|(_, health)| *health);
    let last = healths.find(|health| *health != ReconciliationHealth::Cancelled);
    // Who was told that the goal is blocked is told that it is well.
    let last = if cycle.was_blocked { Some(ReconciliationHealth::Waiting) } else { last };
    let in_a_row = consecutive_failures(before.iter().copied(), resumed);
    let mut follows = FollowUps::default();
    if let Some(news) = health_notification(last, outcome.health) {
        follows.notices.extend(notifications(goal, news, &outcome.reason, Some(cycle), at));
    }
    if let Some(most) = goal.auto_pause_after
        && outcome.health.is_failure()
        && in_a_row + 1 >= most as usize
    {
        let reason = format!("{most} reconciliations failed in a row");
        follows.notices.extend(notifications(goal, GoalEvent::Paused, &reason, Some(cycle), at));
        follows.pause = Some(reason);
    }
    follows
}

/// The notifications that scheduled times were missed.
pub fn missed_notifications(goal: &Goal, missed: u64, at: Moment) -> Vec<Value> {
    let reason = match missed {
        0 => return Vec::new(),
        1 => "1 slot was missed".to_owned(),
        count => format!("{count} slots were missed"),
    };
    notifications(goal, GoalEvent::Missed, &reason, None, at)
}

/// Returns the notifications to send: one for each recipient, subscribed to the event or to all of its kind.
pub fn notifications(
    goal: &Goal,
    event: GoalEvent,
    reason: &str,
    reconciliation: Option<NotifiedReconciliation<'_>>,
    at: Moment,
) -> Vec<Value> {
    // What waits for people is not as desired either, and no repair has restored it.
    let is_failure = event == GoalEvent::Waiting;
    let wants = |notify: &&NotificationRule| {
        event.is_for_all()
            || notify.on.contains(&event)
            || is_failure && notify.on.contains(&GoalEvent::Failed)
    };
    let runs = reconciliation.into_iter().flat_map(|cycle| [Some(cycle.look), cycle.repair]);
    let message = NotificationMessage {
        goal: goal.id.clone(),
        title: goal.title.clone(),
        path: goal.path.clone(),
        news: event.as_str().to_owned(),
        reason: reason.to_owned(),
        slot: reconciliation.and_then(|cycle| cycle.slot),
        at,
        runs: runs.flatten().cloned().collect(),
    };
    let order = |notify: &NotificationRule| {
        let order =
            NotificationOrder { by: NotificationRecipient::from(&notify.by), message: message.clone() };
        serde_json::to_value(order).unwrap_or_default()
    };
    goal.notify.iter().filter(wants).map(order).collect()
}

/// A notification that is owed to a recipient, as it is recorded until it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationOrder {
    pub by: NotificationRecipient,
    pub message: NotificationMessage,
}

/// The news of a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationMessage {
    pub goal: PlanId,
    pub title: Option<String>,
    /// The file of the goal.
    pub path: String,
    /// The word for the event.
    pub news: String,
    pub reason: String,
    /// The scheduled time of the reconciliation that it comes from.
    pub slot: Option<Moment>,
    pub at: Moment,
    /// The runs that it comes from, the check run first.
    pub runs: Vec<RunId>,
}

/// The recipient of a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotificationRecipient {
    /// A program with its arguments.
    Exec(Vec<String>),
    /// An address, with the secret that the request is signed with.
    Webhook { url: RecipientUrl, secret: Option<EnvName> },
}

/// The source of the address of a recipient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipientUrl {
    Text(String),
    /// A secret of the plan.
    Secret(EnvName),
}

impl From<&NotificationDelivery> for NotificationRecipient {
    fn from(by: &NotificationDelivery) -> Self {
        match by {
            NotificationDelivery::Exec(argv) => Self::Exec(argv.clone()),
            NotificationDelivery::Webhook { url, secret } => {
                let url = match url {
                    WebhookUrl::Text(text) => RecipientUrl::Text(text.clone()),
                    WebhookUrl::Secret(name) => RecipientUrl::Secret(name.clone()),
                };
                Self::Webhook { url, secret: secret.clone() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NotificationMessage, NotificationOrder, NotificationRecipient, RecipientUrl};
    use serde_json::json;
    use wf_base::{name::RunId, time::Moment};

    #[test]
    fn an_order_is_recorded_as_it_always_was() {
        let message = NotificationMessage {
            goal: "mirror".parse().unwrap(),
            title: None,
            path: "goals/mirror.md".into(),
            news: "failed".into(),
            reason: "a check fails".into(),
            slot: None,
            at: Moment::from_millis(0),
            runs: vec![RunId::from_stored("1a2b")],
        };
        let url = RecipientUrl::Secret("HOOK".parse().unwrap());
        for (by, recorded) in [
            (NotificationRecipient::Exec(vec!["say".into()]), json!({"exec": ["say"]})),
            (
                NotificationRecipient::Webhook { url, secret: None },
                json!({"webhook": {"url": {"secret": "HOOK"}, "secret": null}}),
            ),
        ] {
            let order = NotificationOrder { by, message: message.clone() };
            let text = json!({"by": recorded, "message": {
                "goal": "mirror", "title": null, "path": "goals/mirror.md", "news": "failed",
                "reason": "a check fails", "slot": null, "at": "1970-01-01T00:00:00.000Z", "runs": ["1a2b"],
            }});
            assert_eq!(serde_json::to_value(&order).unwrap().to_string(), text.to_string());
            assert_eq!(serde_json::from_value::<NotificationOrder>(text).unwrap(), order);
        }
    }
}
