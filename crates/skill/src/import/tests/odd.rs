use proptest::prelude::*;

use super::{adapt, ask, detect, read, with};

/// A value as an author writes it: texts with special characters, lists, mappings.
fn value() -> impl Strategy<Value = serde_json::Value> {
    let text = "([ -~\n\t]|---|: |é|技|\u{feff}|\u{85}|\u{2028}|\u{7}|\u{202e}|\\\\|\"|'|#|\\.\\.\\.){0,40}";
    let leaf =
        prop_oneof![text.prop_map(serde_json::Value::from), Just(true.into()), Just(serde_json::Value::Null)];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(serde_json::Value::from),
            prop::collection::btree_map("[ -~é\n]{0,12}", inner, 0..3)
                .prop_map(|map| map.into_iter().collect::<serde_json::Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_said_becomes_valid(
        fields in prop::collection::vec((prop_oneof![
            Just("license"), Just("compatibility"), Just("metadata"), Just("allowed-tools"), Just("tools"),
            Just("when_to_use"), Just("triggers"), Just("requires"), Just("tags"), Just("other"), Just("<<x"),
        ], value()), 0..6),
        body in "([ -~\n\r]|---\n|é){0,60}") {
        // JSON is YAML, with one notation for every text.
        let mut text = "---\nname: it\ndescription: Does it.\n".to_owned();
        let mut said = std::collections::BTreeSet::new();
        for (key, value) in &fields {
            if said.insert(*key) {
                let json = value.to_string().replace('\u{7f}', "\\u007f");
                text += &format!("{key}: {json}\n");
            }
        }
        text = format!("{text}---\n{body}");
        let made = with(&[("SKILL.md", &text)], &ask());
        let made = made.unwrap_or_else(|bad| panic!("{bad}\n{text}"));
        read(&made);
        prop_assert!(made.0.text("SKILL.md").unwrap().ends_with(&body));
        // Imported again, it stays as it is.
        let again = adapt(&made.0, &ask(), &detect).unwrap();
        prop_assert_eq!(&again.0, &made.0);
    }

    #[test]
    fn no_text_makes_it_panic(text in "(---\n|name: |description: |[ -~\n]|- |\\{|\\}|\\[|\u{feff}|é){0,60}") {
        if let Ok(made) = with(&[("SKILL.md", &text)], &ask()) {
            read(&made);
        }
    }
}
