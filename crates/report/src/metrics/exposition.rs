use std::fmt::{Display, Write as _};

/// The format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsFormat {
    /// The text format of Prometheus, 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0: counters are named without `_total`, and there is an end marker.
    OpenMetrics,
}

impl MetricsFormat {
    /// Returns OpenMetrics for a client one of whose headers `Accept` has it, else the format all clients read.
    pub fn accepted<'a>(headers: impl IntoIterator<Item = &'a str>) -> Self {
        let is_accepted = headers.into_iter().any(|accept| accept.contains("application/openmetrics-text"));
        if is_accepted { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// Returns its name in a header.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A text with metrics, as it is put together.
#[derive(Debug)]
pub struct Exposition {
    text: String,
    format: MetricsFormat,
}

impl Exposition {
    /// Begins a text.
    pub fn new(format: MetricsFormat) -> Self {
        Self { text: String::new(), format }
    }

    /// Begins a family that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str) {
        self.family(name, "gauge", help);
    }

    /// Begins a family that only grows; the names of its samples end in `_total`.
    pub fn counter(&mut self, name: &str, help: &str) {
        match self.format {
            MetricsFormat::Prometheus => self.family(&format!("{name}_total"), "counter", help),
            MetricsFormat::OpenMetrics => self.family(name, "counter", help),
        }
    }

    /// Begins a family of values in buckets.
    pub fn histogram(&mut self, name: &str, help: &str) {
        self.family(name, "histogram", help);
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// Adds a sample: its name, its labels, and its value.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    /// Returns the whole text.
    pub fn end(mut self) -> String {
        if self.format == MetricsFormat::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// Escapes a label value for both formats.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
