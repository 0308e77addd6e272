use std::sync::Arc;

use super::plan::NotLowered;
use crate::model::{Goal, GoalNews, Missed, Notify, NotifyBy, WebhookUrl};
use crate::spec::Loaded;
use crate::spec::ast;

/// The model of the goal that a file is, without its plan. Only files without errors have one.
pub fn lower_goal(loaded: &Loaded) -> Result<Arc<Goal>, NotLowered> {
    if loaded.has_errors() {
        return Err(NotLowered::Broken);
    }
    let written = loaded.goal().ok_or(NotLowered::Broken)?;
    let source = loaded.sources.first().ok_or(NotLowered::Broken)?;
    let (timing, _) = crate::spec::timing(written, source);
    let id = written.id.as_ref().ok_or(NotLowered::Broken)?;
    Ok(Arc::new(Goal {
        id: id.value.clone(),
        title: written.title.clone(),
        path: source.path().to_owned(),
        timing: timing.ok_or(NotLowered::Broken)?,
        missed: missed(written.missed.as_ref()),
        window: (written.window.as_ref()).map_or(Goal::WINDOW, |window| window.value.0),
        overlap: (written.overlap.as_ref()).map_or_else(Default::default, |word| word.value),
        auto_pause_after: written.auto_pause_after.as_ref().map(|count| count.value),
        on_failure: written.on_unmet(),
        approval: (written.approval.as_ref()).map_or_else(Default::default, |word| word.value),
        notify: written.notify.iter().filter_map(notify).collect(),
    }))
}

fn missed(said: Option<&ast::MissedRule>) -> Missed {
    let usual = Missed::default();
    let Some(said) = said else { return usual };
    Missed {
        run: said.run.as_ref().map_or(usual.run, |word| word.value),
        window: said
            .window
            .as_ref()
            .map_or(usual.window, |time| time.value.0),
        cap: said.cap.as_ref().map_or(usual.cap, |cap| cap.value),
    }
}

fn notify(written: &ast::Notify) -> Option<Notify> {
    let on: Vec<GoalNews> = written.on.iter().map(|news| news.value).collect();
    let by = match (&written.exec, &written.webhook) {
        (Some(exec), _) => {
            let argv = exec.value.iter().map(|part| part.value.clone());
            NotifyBy::Exec(argv.collect())
        }
        (None, Some(hook)) => NotifyBy::Webhook {
            url: address(hook)?,
            secret: hook.secret.as_ref().map(|name| name.value.clone()),
        },
        (None, None) => return None,
    };
    Some(Notify { on, by })
}

fn address(hook: &ast::Webhook) -> Option<WebhookUrl> {
    let kept = hook.url_secret.as_ref();
    let kept = kept.map(|name| WebhookUrl::Secret(name.value.clone()));
    kept.or_else(|| Some(WebhookUrl::Text(hook.url.as_ref()?.value.clone())))
}
