//! The expansion of a repeated step, once its items are known.

use serde_json::Value;

use crate::machine::{
    state::{
        self, Run, TaskIx,
        fold::{reused::ReusableResult, task_end::TaskCompletion},
        halting::NOT_CHOSEN,
        scope::TaskScope,
        timers,
    },
    tasks::finish,
    words::{EventKind, StepItem, StepState},
};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_model::{JsonObject, StepRepetition};

/// Queues a step, or the items that it is repeated over.
pub(in crate::machine) fn unfold(run: &mut Run, task: TaskIx, fan: &StepRepetition) {
    let values = match fan {
        StepRepetition::Once => {
            timers::set_queue_timer(run, task);
            return run.enqueue(task);
        }
        StepRepetition::List(values) => values.clone(),
        StepRepetition::Matrix(rows) => return expand(run, task, cells(rows)),
        StepRepetition::Each(expr) => {
            let view = TaskScope { plan: run.plan(), state: run.state(), task: Some(task) };
            match expr.eval(&view) {
                Ok(Value::Array(values)) => values,
                Ok(other) => {
                    let reason = format!("`for_each: {}` evaluates to {other}, not a list", expr.source());
                    return finish::finish(run, task, TaskCompletion::unstartable(reason));
                }
                Err(error) => {
                    return finish::finish(run, task, TaskCompletion::unstartable(error.to_string()));
                }
            }
        }
    };
    let Some(path) = &run.plan().step(task.ix()).key else {
        return expand(run, task, keyed(values, readable));
    };
    match path.keys(&values) {
        Ok(keys) => {
            let items = keys.into_iter().zip(values).map(|(key, value)| StepItem { key, value });
            expand(run, task, items.collect());
        }
        Err(error) => {
            let reason = format!("`key: {}`: {error}; {}", path.source(), error.remedy());
            finish::finish(run, task, TaskCompletion::unstartable(reason));
        }
    }
}

/// Queues the items of a step.
fn expand(run: &mut Run, task: TaskIx, items: Vec<StepItem>) {
    let step = run.plan().step(task.ix()).id.clone();
    run.emit(EventKind::StepExpanded { step, items });
    let count = run.state().step_record(task.step).items().map_or(0, |many| many.records.len());
    for item in 0..u32::try_from(count).unwrap_or(u32::MAX) {
        let item = Some(item);
        timers::set_queue_timer(run, TaskIx { item, ..task });
    }
    reuse_items(run, task.step);
    deselect_items(run, task.step);
    finish::end_repeated_step(run, task.step);
}

/// Ends the items of a step whose results are reused. The result of an item that has another value now is dropped.
fn reuse_items(run: &mut Run, step: u32) {
    let Some(many) = run.state().step_record(step).items() else {
        return;
    };
    let known = (0_u32..).zip(&many.items).filter_map(|(number, item)| {
        let earlier = run.state().earlier_result(step, item)?;
        let changed_key = (!earlier.is_of(item)).then(|| item.key.clone());
        Some((TaskIx { step, item: Some(number) }, earlier.clone(), changed_key))
    });
    let known: Vec<(TaskIx, ReusableResult, Option<String>)> = known.collect();
    for (task, earlier, changed_key) in known {
        match changed_key {
            None => reuse_item(run, task, earlier),
            Some(key) => drop_result(run, task, key, earlier.from),
        }
    }
}

fn reuse_item(run: &mut Run, task: TaskIx, result: ReusableResult) {
    let reason = match &result.from {
        Some(from) => format!("reused from run {}", from.short()),
        None => "reused from the previous round".to_owned(),
    };
    run.emit(EventKind::StepEnded {
        task_id: state::task_id(run.plan(), task),
        state: StepState::Succeeded,
        standing: result.standing,
        reason,
        failure_class: None,
        allowed_to_fail: false,
        cache_key: None,
        outputs: result.outputs,
        reused_from: result.from,
    });
}

fn drop_result(run: &mut Run, task: TaskIx, key: String, from: Option<RunId>) {
    if let Some(from) = from {
        run.emit(EventKind::ResultDropped {
            step: run.plan().step(task.ix()).id.clone(),
            item_key: Some(key),
            reason: format!("the item has another value than in run {}", from.short()),
            reused_from: from,
        });
    }
}

/// Ends the items of a step that the user left out.
fn deselect_items(run: &mut Run, step: u32) {
    let Some(many) = run.state().step_record(step).items() else {
        return;
    };
    let places = (0_u32..).zip(many.items.iter().zip(&many.records));
    let left: Vec<u32> = places
        .filter(|(_, (item, record))| record.ended().is_none() && run.state().is_deselected(step, &item.key))
        .map(|(item, _)| item)
        .collect();
    for item in left {
        let item = Some(item);
        finish::finish(run, TaskIx { step, item }, TaskCompletion::skipped(NOT_CHOSEN));
    }
}

/// Returns the cells of a matrix, each with its values as its key.
fn cells(rows: &[JsonObject]) -> Vec<StepItem> {
    let values = rows.iter().cloned().map(Value::Object).collect();
    keyed(values, |cell| joined(cell.as_object()?))
}

/// Gives each item a key that stays the same when the list changes around it; repeated values
/// are numbered.
fn keyed(values: Vec<Value>, key: impl Fn(&Value) -> Option<String>) -> Vec<StepItem> {
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    let mut items = Vec::with_capacity(values.len());
    for value in values {
        let base = key(&value)
            .filter(|key| (1..=64).contains(&key.len()))
            .unwrap_or_else(|| Sha256Digest::of_bytes(value.to_string().as_bytes()).short());
        let times = seen.entry(base.clone()).or_default();
        *times += 1;
        let key = if *times == 1 { base } else { format!("{base}~{times}") };
        items.push(StepItem { key, value });
    }
    items
}

/// Returns a readable key: a plain value as it is, an object of plain values as `a=1,b=2`.
fn readable(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Object(fields) => {
            let pair = |(name, value): (&String, &Value)| match value {
                Value::Object(_) | Value::Array(_) => None,
                plain => Some(format!("{name}={}", readable(plain)?)),
            };
            let pairs: Option<Vec<String>> = fields.iter().map(pair).collect();
            pairs.map(|pairs| pairs.join(","))
        }
        Value::Null | Value::Array(_) => None,
    }
}

/// Joins the values of a cell, in the order of its axes: `linux,3.12`.
fn joined(cell: &JsonObject) -> Option<String> {
    let values: Option<Vec<String>> = cell.values().map(plain).collect();
    values.map(|values| values.join(","))
}

/// Formats a plain value as it is written.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("null".to_owned()),
        Value::Object(_) | Value::Array(_) => None,
        other => readable(other),
    }
}

#[cfg(test)]
mod tests {
    use super::{cells, keyed, readable};
    use serde_json::{Value, json};

    fn keys(cells_of: &Value) -> Vec<String> {
        let rows = cells_of.as_array().unwrap().iter();
        let rows: Vec<_> = rows.map(|row| row.as_object().unwrap().clone()).collect();
        cells(&rows).into_iter().map(|item| item.key).collect()
    }

    #[test]
    fn a_cell_is_called_by_its_values() {
        let rows = json!([
            {"os": "linux", "py": "3.12"},
            {"os": "linux", "py": 3.5, "extra": true},
            {"a": "x"},
            {"b": "x"},
            {"a": null},
        ]);
        let expected = ["linux,3.12", "linux,3.5,true", "x", "x~2", "null"];
        assert_eq!(keys(&rows), expected);
    }

    #[test]
    fn what_cannot_be_read_has_a_digest() {
        let long = "x".repeat(65);
        let found = keys(&json!([{"a": ["x"]}, {"a": long}, {}]));
        assert!(found.iter().all(|key| key.len() == 12), "{found:?}");
        let listed = keyed(vec![json!({"name": "a", "port": 80})], readable);
        assert_eq!(listed[0].key, "name=a,port=80");
    }
}
