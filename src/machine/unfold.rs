//! Over what a step is repeated, once that is known.

use std::sync::Arc;

use serde_json::Value;

use super::advance::NOT_CHOSEN;
use super::end::Final;
use super::scope::View;
use super::state::{self, Offer, Spot};
use super::{Fact, Item, Machine, StepState};
use crate::digest::Digest;
use crate::model::{Fan, Object};

impl Machine {
    /// Puts a step, or the items it is repeated over, into the queue.
    pub(super) fn unfold(&mut self, spot: Spot, fan: &Fan) {
        let values = match fan {
            Fan::Once => {
                self.queue_timer(spot);
                let plan = Arc::clone(&self.plan);
                return self.state.enqueue(&plan, spot);
            }
            Fan::List(values) => values.clone(),
            Fan::Matrix(rows) => return self.expand(spot, cells(rows)),
            Fan::Each(expr) => {
                let view = View {
                    plan: &self.plan,
                    state: &self.state,
                    spot: Some(spot),
                };
                match expr.eval(&view) {
                    Ok(Value::Array(values)) => values,
                    Ok(other) => {
                        let why =
                            format!("`for_each: {}` gives {other}, not a list", expr.source());
                        return self.unable(spot, &why);
                    }
                    Err(error) => return self.unable(spot, &error.to_string()),
                }
            }
        };
        self.expand(spot, keyed(values, readable));
    }

    /// Puts the items of a step into the queue.
    fn expand(&mut self, spot: Spot, items: Vec<Item>) {
        let step = self.plan.step(spot.ix()).id.clone();
        self.emit(Fact::StepExpanded { step, items });
        let count = self
            .state
            .slot(spot.step)
            .many
            .as_ref()
            .map_or(0, |many| many.slots.len());
        for item in 0..u32::try_from(count).unwrap_or(u32::MAX) {
            let item = Some(item);
            self.queue_timer(Spot { item, ..spot });
        }
        self.take_offers(spot.step);
        self.leave_out(spot.step);
        self.settle(spot.step);
    }

    /// Ends the items of a step whose results were taken over from an earlier run.
    fn take_offers(&mut self, step: u32) {
        let Some(many) = &self.state.slot(step).many else {
            return;
        };
        let keys = (0_u32..).zip(many.items.iter().map(|item| item.key.clone()));
        let taken: Vec<(u32, Offer)> = keys
            .filter_map(|(item, key)| Some((item, self.state.offers.get(&(step, key))?.clone())))
            .collect();
        for (item, offer) in taken {
            let item = Some(item);
            let why = match &offer.from {
                Some(from) => format!("kept from run {}", from.short()),
                None => "kept from the round before".to_owned(),
            };
            self.emit(Fact::StepEnded {
                place: state::place(&self.plan, Spot { step, item }),
                state: StepState::Succeeded,
                standing: offer.standing,
                why,
                class: None,
                tolerated: false,
                cached: None,
                outputs: offer.outputs,
                from: offer.from,
            });
        }
    }

    /// Ends the items of a step that somebody chose to leave out.
    fn leave_out(&mut self, step: u32) {
        let Some(many) = &self.state.slot(step).many else {
            return;
        };
        let places = (0_u32..).zip(many.items.iter().zip(&many.slots));
        let left: Vec<u32> = places
            .filter(|(_, (item, slot))| slot.ended.is_none() && self.state.is_left(step, &item.key))
            .map(|(item, _)| item)
            .collect();
        for item in left {
            let item = Some(item);
            self.finish(Spot { step, item }, Final::skipped(NOT_CHOSEN));
        }
    }
}

/// The cells of a matrix, each with its values as its key.
fn cells(rows: &[Object]) -> Vec<Item> {
    let values = rows.iter().cloned().map(Value::Object).collect();
    keyed(values, |cell| joined(cell.as_object()?))
}

/// Gives each item a key that stays the same when the list changes around it; repeated values
/// are numbered.
fn keyed(values: Vec<Value>, key: impl Fn(&Value) -> Option<String>) -> Vec<Item> {
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    let mut items = Vec::with_capacity(values.len());
    for value in values {
        let base = key(&value)
            .filter(|key| (1..=64).contains(&key.len()))
            .unwrap_or_else(|| Digest::of(value.to_string().as_bytes()).short());
        let times = seen.entry(base.clone()).or_default();
        *times += 1;
        let key = if *times == 1 {
            base
        } else {
            format!("{base}~{times}")
        };
        items.push(Item { key, value });
    }
    items
}

/// A key that people can read: a plain value as it is, an object of plain values as `a=1,b=2`.
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

/// The values of a cell, in the order of its axes: `linux,3.12`.
fn joined(cell: &Object) -> Option<String> {
    let values: Option<Vec<String>> = cell.values().map(plain).collect();
    values.map(|values| values.join(","))
}

/// A plain value as it is written.
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
