use serde_json::{Value, json};
use wf_base::untrusted::shell_word;

/// Returns the pending approvals of a run and of those nested in it, from the document of `wf show --json`. Each has
/// the commands by which a person answers it.
pub(crate) fn pending_approvals(document: &Value) -> Vec<Value> {
    let run = document.pointer("/run/id").and_then(Value::as_str).unwrap_or_default();
    let plan = document.pointer("/run/plan");
    let open = open_questions(document, "");
    let is_alone = open.len() == 1;
    let shown = open.iter().map(|(name, ask)| {
        let step = if is_alone { String::new() } else { format!(" {}", shell_word(name)) };
        json!({
            "run": run,
            "plan": plan,
            "step": name,
            "message": ask.get("message"),
            "since": ask.get("since"),
            "expires": ask.get("expires"),
            "to_approve": if is_question(ask) {
                format!("wf answer {run}{step} --text TEXT")
            } else {
                format!("wf approve {run}{step}")
            },
            "to_deny": format!("wf deny {run}{step} --reason WHY"),
        })
    });
    shown.collect()
}

/// True if a request is the question of an agent, or about one that is stuck.
fn is_question(ask: &Value) -> bool {
    ask.get("stuck").is_some() || ask.pointer("/tool_call/is_question") == Some(&Value::Bool(true))
}

/// Returns a remark on pending approvals for a model, if there are any.
pub(crate) fn pending_note(pending: &[Value]) -> Option<String> {
    let lines = pending.iter().map(|line| {
        let word = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
        let (step, message) = (word("step"), word("message"));
        format!("`{step}`: {message}\n  {}\n  {}\n", word("to_approve"), word("to_deny"))
    });
    let listed: String = lines.collect();
    let intro = "The run waits for an approval, which only a person can give or refuse, on a command line:\n";
    (!listed.is_empty()).then(|| format!("{intro}{listed}"))
}

/// Returns the open questions of a run, by the names the command line knows.
fn open_questions<'a>(document: &'a Value, above: &str) -> Vec<(String, &'a Value)> {
    let list = |key: &str| document.get(key).and_then(Value::as_array).into_iter().flatten();
    let own = list("questions").filter(|open_question| open_question.get("given").is_none_or(Value::is_null));
    let own = own.filter_map(|question| question.get("ask")).map(|ask| {
        let name = match ask.get("step").and_then(Value::as_str) {
            None if above.is_empty() => "run".to_owned(),
            None => above.trim_end_matches('/').to_owned(),
            Some(step) => format!("{above}{}", task_name(document, step, ask.get("item"))),
        };
        (name, ask)
    });
    let mut open: Vec<_> = own.collect();
    for nested in list("nested") {
        let attempt = nested.get("attempt").and_then(Value::as_str).unwrap_or_default();
        let place = attempt.rsplit_once('#').map_or(attempt, |(place, _)| place);
        open.extend(
            nested
                .get("record")
                .into_iter()
                .flat_map(|record| open_questions(record, &format!("{above}{place}/"))),
        );
    }
    open
}

/// Returns the name of a task: items are called by their keys where they have some.
fn task_name(document: &Value, step: &str, item: Option<&Value>) -> String {
    let Some(item) = item.filter(|item| !item.is_null()) else {
        return step.to_owned();
    };
    let rows = document.get("steps").and_then(Value::as_array).into_iter().flatten();
    let own = |row: &&Value| row.get("step") == Some(&step.into()) && row.get("item") == Some(item);
    match rows.into_iter().find(own).and_then(|row| row.get("item_key")).and_then(Value::as_str) {
        Some(key) => format!("{step}[{key}]"),
        None => format!("{step}[{item}]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{pending_approvals, pending_note};

    fn record() -> Value {
        json!({
            "run": {"id": "1a2b", "plan": "ship"},
            "steps": [{"step": "each", "item": 2, "item_key": "eu"}],
            "questions": [
                {"ask": {"step": "ok", "message": "Ship it?", "expires": "later"}, "given": null},
                {"ask": {"step": "old", "message": "?"}, "given": {"decision": "denied"}},
                {"ask": {"step": "each", "item": 2, "message": "?"}},
                {"ask": {"message": "Go on?"}},
            ],
            "nested": [{"attempt": "outer[us east]#1", "record": {
                "questions": [{"ask": {"step": "in", "message": "?"}, "given": null}],
            }}],
        })
    }

    #[test]
    fn each_open_question_has_the_command_that_answers_it() {
        let pending = pending_approvals(&record());
        let commands: Vec<&str> = pending.iter().filter_map(|one| one["to_approve"].as_str()).collect();
        assert_eq!(
            commands,
            [
                "wf approve 1a2b ok",
                "wf approve 1a2b 'each[eu]'",
                "wf approve 1a2b run",
                "wf approve 1a2b 'outer[us east]/in'",
            ]
        );
        assert_eq!(pending[0]["message"], "Ship it?");
        assert!(pending_note(&pending).unwrap().contains("only a person"));
    }

    #[test]
    fn a_run_that_asks_nothing_has_none() {
        let pending = pending_approvals(&json!({"run": {"id": "1"}, "questions": [], "nested": []}));
        assert_eq!((pending.len(), pending_note(&pending)), (0, None));
    }
}
