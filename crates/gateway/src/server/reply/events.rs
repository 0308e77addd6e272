use serde_json::{Value, json};

/// The text of a stream of events.
#[derive(Debug, Default)]
pub(super) struct EventText {
    text: String,
    count: u64,
}

impl EventText {
    /// Adds an event without a name.
    pub(super) fn data(&mut self, data: &Value) {
        self.text.push_str(&format!("data: {data}\n\n"));
    }

    /// Adds an event whose name is also the `type` of its data.
    pub(super) fn typed(&mut self, kind: &str, data: Value) {
        let mut body = json!({"type": kind});
        if let (Value::Object(body), Value::Object(fields)) = (&mut body, data) {
            body.extend(fields);
        }
        self.text.push_str(&format!("event: {kind}\ndata: {body}\n\n"));
    }

    /// Adds an event that also has its number.
    pub(super) fn numbered(&mut self, kind: &str, mut data: Value) {
        data["sequence_number"] = json!(self.count);
        self.count += 1;
        self.typed(kind, data);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}
