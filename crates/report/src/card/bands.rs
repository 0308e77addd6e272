use serde::Serialize;
use serde_json::Value;

/// The lowest confidence of the first band, and of the second (Silas, 5.2.4).
const HIGH: f64 = 0.85;
const MEDIUM: f64 = 0.5;

/// The keys that name an entry, the most telling first.
const TITLES: [&str; 6] = ["title", "name", "subject", "file", "path", "id"];

/// The most columns of a table of entries.
const MAX_COLUMNS: usize = 7;

/// Entries of a list to select from that are equally sure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntryBand {
    /// The name of the band; absent: no entry of the list says how sure it is.
    pub name: Option<&'static str>,
    /// The keys of its entries, which make a table of it: what names an entry first, how sure it is last. Empty: some entry is no
    /// record, or they have too many keys.
    pub columns: Vec<String>,
    /// Its entries, in the order of the list.
    pub entries: Vec<BandEntry>,
}

/// An entry of a list to select from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BandEntry {
    /// Its position in the list, from 1.
    pub position: u32,
    pub value: Value,
    /// True if it says that it is unusual (`anomaly: true`).
    pub is_anomaly: bool,
    /// True if it is chosen before a person chooses: it is sure and not unusual, or no entry of the list says how sure it is.
    pub is_chosen: bool,
}

/// Divides a list by the `confidence` of its entries, the surest first. An entry of a list of such entries with none is
/// `novel`. Without any `confidence`, there is one band.
pub fn entry_bands(list: &[Value]) -> Vec<EntryBand> {
    let is_banded = list.iter().any(|value| confidence(value).is_some());
    let band_of = |value: &Value| match confidence(value) {
        _ if !is_banded => None,
        Some(sure) if sure >= HIGH => Some("high confidence"),
        Some(sure) if sure >= MEDIUM => Some("medium confidence"),
        Some(_) => Some("low confidence"),
        None => Some("novel"),
    };
    let names =
        [None, Some("high confidence"), Some("medium confidence"), Some("low confidence"), Some("novel")];
    let bands = names.into_iter().map(|name| {
        let entries = (1..).zip(list).filter(|(_, value)| band_of(value) == name);
        let entries: Vec<BandEntry> =
            entries.map(|(position, value)| BandEntry::of(position, value, is_banded)).collect();
        EntryBand { name, columns: columns(&entries), entries }
    });
    bands.filter(|band| !band.entries.is_empty()).collect()
}

/// Returns the columns of a table of entries. `anomaly` has none: it is shown as a mark.
fn columns(entries: &[BandEntry]) -> Vec<String> {
    let Some(records) = entries.iter().map(|entry| entry.value.as_object()).collect::<Option<Vec<_>>>()
    else {
        return Vec::new();
    };
    let mut columns: Vec<String> = Vec::new();
    for key in records.into_iter().flat_map(serde_json::Map::keys) {
        if key != "anomaly" && !columns.contains(key) {
            columns.push(key.clone());
        }
    }
    let place = |key: &String| TITLES.iter().position(|title| title == key).unwrap_or(TITLES.len());
    columns.sort_by_key(|key| (key == "confidence", place(key)));
    if columns.len() > MAX_COLUMNS { Vec::new() } else { columns }
}

/// Returns the positions of the entries chosen before a person chooses, in their order; `None`: all.
pub fn chosen_positions(list: &[Value]) -> Option<Vec<u32>> {
    let entries = entry_bands(list).into_iter().flat_map(|band| band.entries);
    let mut chosen: Vec<u32> = entries.filter(|entry| entry.is_chosen).map(|entry| entry.position).collect();
    chosen.sort_unstable();
    (chosen.len() < list.len()).then_some(chosen)
}

impl BandEntry {
    fn of(position: u32, value: &Value, is_banded: bool) -> Self {
        let is_anomaly = value.get("anomaly").and_then(Value::as_bool).unwrap_or_default();
        let is_sure = !is_banded || confidence(value).is_some_and(|sure| sure >= HIGH);
        Self { position, value: value.clone(), is_anomaly, is_chosen: is_sure && !is_anomaly }
    }
}

fn confidence(value: &Value) -> Option<f64> {
    value.get("confidence").and_then(Value::as_f64)
}
