use std::{path::Path, sync::Arc};

use axum::http::StatusCode;
use minijinja::context;
use serde_json::{Value, json};

use super::{KeyLookups, resolve, shapes, sparse_shape, traced, with_texts};
use crate::template::{PagePlace, PageTemplates, TEMPLATES};

/// A text that would be markup, end an attribute, hide, or be a template.
const HOSTILE: &str = "\"'><script>alert(1)</script>&\u{202e}\u{1b}[2J{{ 7 * 7 }}`code<b>`";

/// Elements that have an end.
const ELEMENTS: [&str; 13] =
    ["ul", "ol", "li", "dl", "table", "tr", "td", "p", "form", "section", "article", "details", "figure"];

/// The templates without a view: what others are made of, and the page of a refusal.
const WITHOUT_VIEW: [&str; 6] =
    ["base.html", "icons.html", "log.html", "now.html", "parts.html", "refusal.html"];

/// The beginning of the names of the parts of a run's page, which have its view.
const PARTS_OF_RUN: &str = "run_";

fn sample(template: &str) -> Value {
    resolve(&read(template.trim_end_matches(".html")), &read)
}

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/templates/samples/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The frame of each page.
fn frame() -> minijinja::Value {
    context! { workspace => HOSTILE, access => "look", waiting => 2, running => 1 }
}

/// Renders a page, and checks what is true of each.
fn render(templates: &PageTemplates, template: &str, view: &Value, lookups: &Arc<KeyLookups>) -> String {
    let values = context! { view => traced(view, "view", lookups), frame => frame() };
    let html = templates.html(template, values);
    let html = html.unwrap_or_else(|error| panic!("{template}: {error:#}\n{view:#}"));
    for element in ELEMENTS {
        let begins =
            html.matches(&format!("<{element}>")).count() + html.matches(&format!("<{element} ")).count();
        let ends = html.matches(&format!("</{element}>")).count();
        assert_eq!(begins, ends, "{template}: <{element}>\n{view:#}\n{html}");
    }
    html
}

/// Removes the values of fields from a page: what is sent has its characters as they are.
fn without_values(html: &str) -> String {
    let parts = html.split(" value=\"").enumerate();
    let kept = parts.map(|(at, part)| match part.split_once('"') {
        Some((_, rest)) if at > 0 => rest,
        _ => part,
    });
    kept.collect()
}

/// Removes the texts of fields of several lines in the same way.
fn without_drafts(html: &str) -> String {
    let parts = html.split("<textarea").enumerate();
    let kept = parts.map(|(at, part)| match part.split_once("</textarea>") {
        Some((_, rest)) if at > 0 => rest,
        _ => part,
    });
    kept.collect()
}

#[test]
fn every_template_renders_every_shape_of_its_view() {
    let templates = PageTemplates::at(&PagePlace::default());
    for (template, _) in
        TEMPLATES.iter().filter(|(name, _)| !WITHOUT_VIEW.contains(name) && !name.starts_with(PARTS_OF_RUN))
    {
        let (sample, lookups) = (sample(template), Arc::new(KeyLookups::default()));
        let all = shapes(&sample);
        for view in all.iter().chain([&sparse_shape(&sample)]) {
            render(&templates, template, view, &lookups);
        }
        for view in &all {
            let html = render(&templates, template, &with_texts(view, HOSTILE), &lookups);
            // A field that is edited has the text as it is, escaped.
            let shown = without_values(&without_drafts(&html));
            for bad in ["<script>alert", "\u{202e}", "\u{1b}", "49", "<b>"] {
                assert!(!shown.contains(bad), "{template} shows {bad:?}:\n{shown}");
            }
            assert!(!html.contains("<script>alert"), "{template}:\n{html}");
        }
        render(&templates, template, &with_texts(&all[0], &"long ".repeat(5_000)), &lookups);
        assert_eq!(lookups.unknown(), [""; 0], "keys that {template} reads and no view has");
    }
}

#[test]
fn a_refusal_shows_its_reason_and_no_markup() {
    let templates = PageTemplates::at(&PagePlace::default());
    for frame in [Some(frame()), None] {
        for text in [HOSTILE, "", "reason"] {
            let html = templates
                .html("refusal.html", context! { title => text, message => text, frame => frame.clone() })
                .unwrap();
            assert!(!html.contains("<script>alert") && html.contains("<h1>"), "{html}");
        }
    }
    let page = templates.refusal(StatusCode::NOT_FOUND, "There is no such page", "");
    assert_eq!(page.status(), StatusCode::NOT_FOUND);
}

#[test]
fn a_key_that_no_view_has_is_found() {
    let lookups = Arc::new(KeyLookups::default());
    let mut templates = PageTemplates::at(&PagePlace::default());
    templates.add(
        "sample.html",
        "{% for one in view.all %}{% if one.tytle %}x{% endif %}{{ one.id }}{% endfor %}",
    );
    for view in shapes(&json!({"all": [{"id": "a", "title~": "b"}]})) {
        render(&templates, "sample.html", &view, &lookups);
    }
    assert_eq!(lookups.unknown(), ["view.all[].tytle"]);
}

#[test]
fn shapes_differ_in_one_place() {
    let sample = json!({"a?": 1, "b~": {"one of": ["x", "y"]}, "c": [{"d?": 2}], "e": {"just": [3, 4]}});
    let found: Vec<String> = shapes(&sample).iter().map(Value::to_string).collect();
    let expected = [
        r#"{"a":1,"b":"x","c":[{"d":2},{"d":null}],"e":[3,4]}"#,
        r#"{"a":null,"b":"x","c":[{"d":2}],"e":[3,4]}"#,
        r#"{"a":1,"b":"y","c":[{"d":2}],"e":[3,4]}"#,
        r#"{"a":1,"c":[{"d":2}],"e":[3,4]}"#,
        r#"{"a":1,"b":"x","c":[],"e":[3,4]}"#,
    ];
    assert_eq!(found, expected);
    assert_eq!(sparse_shape(&sample).to_string(), r#"{"a":null,"c":[],"e":[3,4]}"#);
}
