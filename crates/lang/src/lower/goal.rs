use std::sync::Arc;

use super::plan::LoweringError;
use crate::{
    LoadedSpec, ast,
    decode::{CompleteSpec, LowerSpec},
};
use wf_model::{Goal, MissedTimesPolicy, NotificationDelivery, NotificationRule, WebhookUrl};

/// The model of a goal's file, without its plan. Only files without errors have one.
pub fn lower_goal(loaded: &LoadedSpec) -> Result<Arc<Goal>, LoweringError> {
    if loaded.has_errors() {
        return Err(LoweringError::Broken);
    }
    let written = loaded.goal().ok_or(LoweringError::Broken)?;
    let source = loaded.sources.first().ok_or(LoweringError::Broken)?;
    let (timing, _) = crate::timing(written, source);
    let id = written.id.as_ref().ok_or(LoweringError::Broken)?;
    Ok(Arc::new(Goal {
        id: id.lower(),
        title: written.title.clone(),
        path: source.path().to_owned(),
        timing: timing.ok_or(LoweringError::Broken)?,
        missed: written.missed.complete(&MissedTimesPolicy::default()),
        window: written.window.lower().unwrap_or(Goal::WINDOW),
        overlap: written.overlap.lower().unwrap_or_default(),
        auto_pause_after: written.auto_pause_after.lower(),
        backend: written.backend.lower(),
        on_failure: written.on_unmet(),
        is_job: written.run.is_some(),
        approval: written.approval.lower().unwrap_or_default(),
        notify: written.notify.iter().filter_map(notify).collect(),
    }))
}

fn notify(written: &ast::NotifySpec) -> Option<NotificationRule> {
    let by = match (&written.exec, &written.webhook) {
        (Some(exec), _) => NotificationDelivery::Exec(exec.lower()),
        (None, Some(hook)) => {
            NotificationDelivery::Webhook { url: address(hook)?, secret: hook.secret.lower() }
        }
        (None, None) => return None,
    };
    Some(NotificationRule { on: written.on.lower(), by })
}

fn address(webhook: &ast::WebhookSpec) -> Option<WebhookUrl> {
    let secret = webhook.url_secret.lower().map(WebhookUrl::Secret);
    secret.or_else(|| webhook.url.lower().map(WebhookUrl::Text))
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::super::tests::defaults;
    use crate::{InMemoryFiles, load, lower, lower_goal};
    use wf_base::{keyword::Keyword, name::Name};
    use wf_model::{
        Goal, GoalApproval, GoalEvent, GoalOverlapPolicy, GoalParam, MissedTimesChoice, MissedTimesPolicy,
        NotificationDelivery, NotificationRule, OnUnmet, Plan, TaintLevel, WebhookUrl,
    };

    fn model(keys: &str) -> (Arc<Goal>, Arc<Plan>) {
        let text = format!(
            "---\nkind: goal\nid: g\nschedule: \"@daily\"\nverify: [{{name: up, run: x}}]\n{keys}\n---\n"
        );
        let files = [("ops/g.md".to_owned(), text.into_bytes())];
        let loaded = load(&InMemoryFiles(files.into()), "ops/g.md");
        assert_eq!(loaded.diagnostics, []);
        (lower_goal(&loaded).unwrap(), lower(&loaded, &defaults()).unwrap())
    }

    #[test]
    fn what_is_not_said_is_the_default() {
        let (goal, plan) = model("");
        assert_eq!(goal.path, "ops/g.md");
        assert_eq!(goal.timing.zone.name(), "UTC");
        assert_eq!(goal.missed, MissedTimesPolicy::default());
        assert_eq!(goal.missed.window, Duration::from_hours(24));
        assert_eq!(goal.window, Duration::from_mins(1));
        assert_eq!(goal.overlap, GoalOverlapPolicy::Skip);
        assert_eq!(goal.auto_pause_after, None);
        assert_eq!(goal.on_failure, OnUnmet::Report);
        assert_eq!(goal.notify, []);
        assert_eq!(goal.id, *plan.id());
        assert!(plan.steps().is_empty() && plan.parts().verify.len() == 1);
    }

    #[test]
    fn what_is_said_arrives() {
        let (goal, plan) = model(
            "missed: {run: all, window: 2h, cap: 3}\nwindow: 4s\noverlap: queue_all\n\
             auto_pause_after: 5\nbackend: farm\non_failure: spawn_plan\napproval: none\n\
             repair: {steps: [{id: a, run: x}]}\nsecrets: {KEY: {from: env, name: K}}\n\
             notify:\n  - {on: [failed], exec: [mail, me]}\n  \
             - {on: [paused], webhook: {url: \"https://a\", secret: KEY}}\n  \
             - {on: [missed], webhook: {url_secret: KEY}}",
        );
        let missed = (goal.missed.run, goal.missed.window, goal.missed.cap);
        assert_eq!(missed, (MissedTimesChoice::All, Duration::from_hours(2), 3));
        assert_eq!(goal.window, Duration::from_secs(4));
        assert_eq!(goal.overlap, GoalOverlapPolicy::QueueAll);
        assert_eq!(goal.auto_pause_after, Some(5));
        assert_eq!(goal.backend.as_ref().map(Name::as_str), Some("farm"));
        assert_eq!(goal.on_failure, OnUnmet::SpawnPlan);
        assert_eq!(goal.approval, GoalApproval::None);
        let key = plan.parts().secrets[0].name.clone();
        let hook = |url, secret| NotificationDelivery::Webhook { url, secret };
        let expected = [
            (GoalEvent::Failed, NotificationDelivery::Exec(vec!["mail".into(), "me".into()])),
            (GoalEvent::Paused, hook(WebhookUrl::Text("https://a".into()), Some(key.clone()))),
            (GoalEvent::Missed, hook(WebhookUrl::Secret(key), None)),
        ];
        let expected = expected.map(|(on, by)| NotificationRule { on: vec![on], by });
        assert_eq!(goal.notify, expected);
        assert_eq!(plan.steps().len(), 1);
        let look = plan.checks_only();
        assert!(look.steps().is_empty() && look.order().is_empty() && look.find("a").is_none());
        assert_eq!(look.parts().verify.len(), 1);
        assert_eq!(look.parts().secrets.len(), 1);
    }

    #[test]
    fn every_goal_has_the_parameters_that_a_cycle_gives() {
        let (_, plan) = model("");
        let found = plan.parts().params.iter().map(|param| {
            let default = param.default.as_ref().and_then(|value| value.as_str());
            (param.name.as_str(), default, param.taint)
        });
        let external = |given: GoalParam| match given {
            GoalParam::FailedChecks => TaintLevel::External,
            _ => TaintLevel::Owner,
        };
        let expected =
            GoalParam::ALL.iter().map(|&one| (one.as_str(), Some(one.default_value()), external(one)));
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}
