//! The names of parameters and fields: each shares a word with its type, so that a reader need not look up one for the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::production;

/// Types whose name says how something is kept, or in which unit: the name beside it says what it is.
const WRAPPERS: [(&str, &str); 6] = [
    ("Spanned", "a value and its place in a file"),
    ("OrderedEntries", "a map of YAML in the order of its keys"),
    ("Money", "a unit"),
    ("Artifact", "a recorded file: evidence, an output"),
    ("YamlNode", "a node by its place in a tree: its root, a parent"),
    ("MappingFields", "an argument that a macro names"),
];

/// The most times that a name may stand beside a type with which it shares no word.
const OFTEN: usize = 8;

/// The most of all names in thousandths that may share no word with their type. It may only fall.
const APART: usize = 60;

/// The words of a name, in lower case: those between underscores, or those that begin with a capital letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// True if a name and a type share a word, or the beginning of one.
fn share_a_word(name: &str, type_name: &str) -> bool {
    let start = |word: &str| word.chars().take(4).collect::<String>();
    let type_words = words(type_name);
    let is_shared = |word: &String| {
        type_words.iter().any(|own| start(own) == start(word) || own.starts_with(word.as_str()))
    };
    words(name).iter().any(is_shared)
}

#[test]
fn a_name_shares_a_word_with_its_type() {
    let type_name = regex::Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait) (\w+)").unwrap();
    let pair = regex::Regex::new(
        r"\b([a-z_]\w*): (?:&(?:'\w+ )?(?:mut )?|Option<|Box<|Arc<|dyn |impl |Vec<|\[)*([A-Z]\w+)",
    )
    .unwrap();
    let sources = production();
    let own: BTreeSet<&str> = sources
        .iter()
        .flat_map(|(_, text)| type_name.captures_iter(text))
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    let (mut all, mut apart) = (0, BTreeMap::<String, usize>::new());
    for (_, text) in &sources {
        for found in pair.captures_iter(text) {
            let (name, type_name) = (&found[1], &found[2]);
            // Names beside words of the house that are as common as those of the standard library.
            if !own.contains(type_name)
                || ["Name", "Moment", "Sha256Digest", "Span", "RunId", "PlanId"].contains(&type_name)
            {
                continue;
            }
            all += 1;
            if !share_a_word(name, type_name) && !WRAPPERS.iter().any(|(wrapper, _)| *wrapper == type_name) {
                *apart.entry(format!("{name}: {type_name}")).or_default() += 1;
            }
        }
    }
    let sum: usize = apart.values().sum();
    let often: Vec<_> = apart.iter().filter(|(_, count)| **count >= OFTEN).collect();
    assert!(often.is_empty(), "a name that shares a word with the type would say more: {often:?}");
    assert!(sum * 1000 <= all * APART, "{sum} of {all} names share no word with their type");
}
