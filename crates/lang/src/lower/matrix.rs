use serde_json::Value;

use crate::{ast::MatrixSpec, decode::OrderedEntries};
use wf_base::name::Name;
use wf_model::JsonObject;

/// The combinations of a matrix, the last axis fastest. `exclude` takes out those equal
/// to one of its entries; an entry of `include` adds its values to those equal to it, or
/// else is a combination of its own.
pub(super) fn combinations(matrix: &MatrixSpec) -> Vec<JsonObject> {
    let mut combinations = product(matrix);
    combinations.retain(|combination| !matrix.exclude.iter().any(|part| agrees(combination, part.iter())));
    let plain = combinations.len();
    for added in &matrix.include {
        include(&mut combinations, plain, matrix, added);
    }
    combinations
}

fn product(matrix: &MatrixSpec) -> Vec<JsonObject> {
    if matrix.axes.is_empty() {
        return Vec::new();
    }
    let mut combinations = vec![JsonObject::new()];
    for (axis, values) in &matrix.axes {
        let extend = |combination: &JsonObject| {
            let extended = combination.clone();
            let with = move |value: &Value| {
                let mut more = extended.clone();
                more.insert(axis.value.to_string(), value.clone());
                more
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(extend).collect();
    }
    combinations
}

type MatrixPair = (wf_base::source::Spanned<Name>, Value);

fn agrees<'p>(combination: &JsonObject, mut part: impl Iterator<Item = &'p MatrixPair>) -> bool {
    part.all(|(name, value)| combination.get(name.value.as_str()) == Some(value))
}

/// Adds the values of `include`. Only the `plain` first combinations, those of the axes, take
/// values; combinations made by `include` take none.
fn include(
    combinations: &mut Vec<JsonObject>,
    plain: usize,
    matrix: &MatrixSpec,
    entries: &OrderedEntries<Name, Value>,
) {
    let is_axis = |(name, _): &&MatrixPair| matrix.axes.iter().any(|(axis, _)| axis.value == name.value);
    let mut taken = false;
    for combination in combinations.iter_mut().take(plain) {
        if agrees(combination, entries.iter().filter(is_axis)) {
            taken = true;
            insert(combination, entries);
        }
    }
    if !taken {
        let mut own = JsonObject::new();
        insert(&mut own, entries);
        combinations.push(own);
    }
}

fn insert(combination: &mut JsonObject, entries: &OrderedEntries<Name, Value>) {
    for (name, value) in entries.iter() {
        combination.insert(name.value.to_string(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::combinations;
    use crate::{
        ast::MatrixSpec,
        decode::{DecodeSpec, DiagnosticList, SpecDecoder},
        yaml,
    };
    use wf_base::source::Span;

    fn check(text: &str, expected: &[&str]) {
        let mut mistakes = DiagnosticList::default();
        let tree = yaml::read_yaml(text, Span::new(0, text.len()), &mut mistakes).unwrap();
        let mut decoder = SpecDecoder::new(text, mistakes);
        let matrix = MatrixSpec::decode(&tree, &mut decoder).unwrap();
        assert!(decoder.into_mistakes().is_empty(), "{text}");
        let found: Vec<_> = combinations(&matrix)
            .into_iter()
            .map(|one| serde_json::Value::Object(one).to_string().replace('"', ""))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_last_axis_is_fastest() {
        check("{a: [1, 2], b: [x, y]}", &["{a:1,b:x}", "{a:1,b:y}", "{a:2,b:x}", "{a:2,b:y}"]);
        check("{a: [1, 2], b: []}", &[]);
    }

    #[test]
    fn exclude_takes_out_all_that_agree() {
        check("{a: [1, 2], b: [x, y], exclude: [{a: 1, b: y}, {a: 2}]}", &["{a:1,b:x}"]);
    }

    #[test]
    fn include_adds_to_what_agrees_or_stands_alone() {
        check(
            "{a: [1, 2], include: [{a: 2, c: z}, {d: w}, {a: 3}]}",
            &["{a:1,d:w}", "{a:2,c:z,d:w}", "{a:3}"],
        );
        check("{include: [{a: 1}, {a: 2}]}", &["{a:1}", "{a:2}"]);
    }
}
