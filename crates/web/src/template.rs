//! The templates of pages. Every text they print is escaped, and a character that would hide in it is a visible
//! mark: pages show plans, messages and output others wrote.

use std::borrow::Cow;

use axum::{
    http::{
        StatusCode,
        header::{CONTENT_TYPE, ETAG, HeaderName},
    },
    response::{IntoResponse, Response},
};
use minijinja::{
    Environment, HtmlEscape, Output, State, UndefinedBehavior, Value, context, escape_formatter, value::Serde,
};
use serde::Serialize;

use crate::{
    assets,
    respond::{RefusalReason, plain},
    state_mark::{badge, mark},
    visit::PageFrame,
    workspaces::WorkspaceLink,
};
use wf_base::{
    digest::Sha256Digest,
    time::Moment,
    units::{elapsed, moment},
    untrusted::untrusted,
};

/// The templates, by name.
pub(crate) const TEMPLATES: [(&str, &str); 46] = [
    ("base.html", include_str!("templates/shared/base.html")),
    ("parts.html", include_str!("templates/shared/parts.html")),
    ("log.html", include_str!("templates/shared/log.html")),
    ("icons.html", include_str!("templates/shared/icons.html")),
    ("now.html", include_str!("templates/shared/now.html")),
    ("home.html", include_str!("templates/home.html")),
    ("workspace.html", include_str!("templates/workspace.html")),
    ("workspaces.html", include_str!("templates/workspaces.html")),
    ("search.html", include_str!("templates/search.html")),
    ("more.html", include_str!("templates/more.html")),
    ("request.html", include_str!("templates/request.html")),
    ("enrol.html", include_str!("templates/enrol.html")),
    ("key.html", include_str!("templates/key.html")),
    ("me.html", include_str!("templates/me.html")),
    ("runs.html", include_str!("templates/runs.html")),
    ("selected.html", include_str!("templates/selected.html")),
    ("run.html", include_str!("templates/run.html")),
    ("run_pictures.html", include_str!("templates/run/pictures.html")),
    ("run_steps.html", include_str!("templates/run/steps.html")),
    ("run_logs.html", include_str!("templates/run/logs.html")),
    ("run_calls.html", include_str!("templates/run/calls.html")),
    ("run_files.html", include_str!("templates/run/files.html")),
    ("run_about.html", include_str!("templates/run/about.html")),
    ("file.html", include_str!("templates/run/file.html")),
    ("diff.html", include_str!("templates/diff.html")),
    ("step.html", include_str!("templates/step.html")),
    ("output.html", include_str!("templates/output.html")),
    ("exchange.html", include_str!("templates/run/exchange.html")),
    ("plans.html", include_str!("templates/plans.html")),
    ("plan.html", include_str!("templates/plan.html")),
    ("plan_source.html", include_str!("templates/plan_source.html")),
    ("plan_start.html", include_str!("templates/plan_start.html")),
    ("goals.html", include_str!("templates/goals.html")),
    ("goal.html", include_str!("templates/goal.html")),
    ("schedule.html", include_str!("templates/schedule.html")),
    ("activity.html", include_str!("templates/activity.html")),
    ("memory.html", include_str!("templates/memory.html")),
    ("memory_item.html", include_str!("templates/memory_item.html")),
    ("skills.html", include_str!("templates/skills.html")),
    ("skill.html", include_str!("templates/skill.html")),
    ("connections.html", include_str!("templates/connections.html")),
    ("secrets.html", include_str!("templates/secrets.html")),
    ("audit.html", include_str!("templates/audit.html")),
    ("audit_record.html", include_str!("templates/audit_record.html")),
    ("audit_verify.html", include_str!("templates/audit_verify.html")),
    ("refusal.html", include_str!("templates/shared/refusal.html")),
];

/// The place of a site among those of its server.
#[derive(Clone, Debug, Default)]
pub(crate) struct PagePlace {
    /// The beginning of its addresses; empty: those of the server.
    pub base: String,
    /// True if it shows all workspaces of the server.
    pub is_entrance: bool,
    /// All of them; empty if there is only one.
    pub workspaces: Vec<WorkspaceLink>,
}

impl PagePlace {
    /// Writes the base into a template: a text with a slash at its beginning is an address, except for the files of all sites,
    /// the end of an element, and what continues an address.
    fn based(&self, source: &'static str) -> Cow<'static, str> {
        if self.base.is_empty() {
            return source.into();
        }
        let mut parts = source.split("\"/");
        let mut based = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let is_shared = assets::ASSETS.iter().any(|asset| {
                let rest = part.strip_prefix(asset.path.trim_start_matches('/'));
                rest.is_some_and(|rest| rest.starts_with('"'))
            });
            let is_end = part.starts_with('>') || based.trim_end().ends_with('~');
            let base = if is_shared || is_end { "" } else { &self.base };
            based.extend(["\"", base, "/", part]);
        }
        based.into()
    }

    /// Returns a picture or prose with the base in its links. Its texts are escaped, so no text is mistaken for one.
    fn drawn(&self, html: &str) -> Value {
        let link = "<a href=\"";
        Value::from_safe_string(html.replace(&format!("{link}/"), &format!("{link}{}/", self.base)))
    }
}

/// The templates of a site, parsed.
pub(crate) struct PageTemplates(Environment<'static>);

impl PageTemplates {
    /// Parses the templates for a site at a place.
    pub fn at(place: &PagePlace) -> Self {
        let mut environment = Environment::new();
        // A key that no view has is a mistake of a template, and would look like an empty value.
        environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        environment.set_formatter(print);
        environment.add_filter("badge", badge);
        environment.add_filter("mark", mark);
        environment.add_filter("when", when);
        environment.add_filter("due", due);
        environment.add_filter("took", took);
        environment.add_filter("line_time", line_time);
        environment.add_filter("file_name", |path: &str| file_name(path).to_owned());
        environment.add_filter("first_line", |text: &str| text.lines().next().unwrap_or_default().to_owned());
        environment.add_filter("last_lines", last_lines);
        environment.add_filter("short", short);
        environment.add_filter("text", text);
        environment.add_filter("brief", brief);
        environment.add_filter("coded", coded);
        environment.add_filter("measured", measured);
        environment.add_filter("dollars", dollars);
        environment.add_filter("price", price);
        let drawn_at = place.clone();
        environment.add_filter("drawn", move |html: String| drawn_at.drawn(&html));
        environment.add_filter("editable", editable);
        environment.add_filter("hundredths", hundredths);
        environment.add_filter("encoded", encoded);
        environment.add_global("build", build());
        // A name of a workspace means nothing in HTML.
        environment.add_global("base", Value::from_safe_string(place.base.clone()));
        environment.add_global("entrance", Value::from_safe_string("/".to_owned()));
        environment.add_global("is_entrance", place.is_entrance);
        environment.add_global("workspaces", Value::from(Serde(&place.workspaces)));
        for (name, source) in TEMPLATES {
            // Tests render each of them.
            let _ = environment.add_template_owned(name, place.based(source));
        }
        Self(environment)
    }

    /// Returns a page, made from a view that was read when all views had a version. Its tag changes with what it shows,
    /// and not with the version.
    pub fn page<T: Serialize>(&self, log: &str, template: &str, view: &T, frame: &PageFrame) -> Response {
        let values = context! { view => Value::from(Serde(view)), frame => Value::from(Serde(frame)) };
        let html = match self.html(template, values) {
            Ok(html) => html,
            Err(error) => return unmade(template, &error),
        };
        let digest = page_digest(&html);
        // The digest of a version has no characters with a meaning in HTML.
        let versioned = format!("data-log=\"{log}\" data-page=\"{digest}\"");
        let html = html.replacen("data-log=\"\"", &versioned, 1);
        (StatusCode::OK, html_headers(), [(ETAG, format!("\"{digest}\""))], html).into_response()
    }

    /// Returns a page saying why another one is not shown. One for a browser not allowed to look has no other links.
    pub fn refusal(&self, status: StatusCode, title: &str, message: &str) -> Response {
        let is_let_in = status != StatusCode::UNAUTHORIZED;
        // It may be sent before anything is read: it has the navigation, and no numbers.
        let frame = is_let_in
            .then(|| context! { workspace => "", access => "", login => "", waiting => 0, running => 0 });
        let mut page = self.render(status, "refusal.html", context! { title, message, frame });
        page.extensions_mut().insert(RefusalReason::of_page(status, title, message));
        page
    }

    /// Renders a template.
    pub fn html(&self, template: &str, values: Value) -> Result<String, minijinja::Error> {
        self.0.get_template(template)?.render(values)
    }

    /// Adds a template of a test.
    #[cfg(test)]
    pub fn add(&mut self, name: &'static str, source: &'static str) {
        self.0.add_template(name, source).unwrap();
    }

    fn render(&self, status: StatusCode, template: &str, values: Value) -> Response {
        match self.html(template, values) {
            Ok(html) => (status, html_headers(), html).into_response(),
            Err(error) => unmade(template, &error),
        }
    }
}

/// The parameters of a run that its line has, and the longest value of one, in characters.
const BRIEF_PARAMS: usize = 2;
const BRIEF_VALUE: usize = 40;

/// The beginning of the field with the key of a form.
const KEY_FIELD: &str = "name=\"key\" value=\"";

/// Returns the digest of a page. The key of a form is another one in each page, and changes nothing that it shows.
fn page_digest(html: &str) -> String {
    let Some((before, rest)) = html.split_once(KEY_FIELD) else {
        return Sha256Digest::of_bytes(html.as_bytes()).short();
    };
    let after = rest.split_once('"').map_or("", |(_, after)| after);
    Sha256Digest::of_parts([before.as_bytes(), after.as_bytes()]).short()
}

fn html_headers() -> [(HeaderName, &'static str); 1] {
    [(CONTENT_TYPE, "text/html; charset=utf-8")]
}

/// Says that a template does not fit its view.
fn unmade(template: &str, error: &minijinja::Error) -> Response {
    let reason = format!("a bug in wf: the page {template} cannot be made: {error}\n");
    plain(StatusCode::INTERNAL_SERVER_ERROR, &reason)
}

/// Returns a digest of all that a browser keeps of a page: another one means that the server was updated.
pub(crate) fn build() -> String {
    let sources = TEMPLATES.iter().map(|(_, source)| source.as_bytes());
    let scripts = assets::ASSETS.iter().map(|asset| asset.text.as_bytes());
    Sha256Digest::of_parts(sources.chain(scripts)).short()
}

/// Prints a value: escaped, and with marks in place of what would hide.
fn print(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), minijinja::Error> {
    match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(untrusted(text).block())),
        _ if value.is_none() => Ok(()),
        _ => escape_formatter(out, state, value),
    }
}

/// Returns an instant, for people and for programs.
fn when(value: &str) -> Value {
    let Ok(at) = Moment::parse(value) else {
        return Value::from(value);
    };
    Value::from_safe_string(format!("<time datetime=\"{at}\">{} UTC</time>", moment(at)))
}

/// Returns an instant that shows exactly when it is to whoever points at it, also with keys.
fn due(value: &str) -> Value {
    let time = when(value).to_string();
    Value::from_safe_string(time.replacen("<time ", "<time tabindex=\"0\" ", 1))
}

/// Returns the time between two instants, without milliseconds where nobody worked.
fn took(from: &str, to: &str, idle_ms: Option<u64>) -> String {
    match (Moment::parse(from), Moment::parse(to)) {
        (Ok(from), Ok(to)) => {
            let idle = std::time::Duration::from_millis(idle_ms.unwrap_or(0));
            elapsed(to.since(from).saturating_sub(idle))
        }
        _ => String::new(),
    }
}

/// Returns the time of a line of an output, of a clock or since a start: `09:30:12.3`, `00:12.3`. Nothing if it is not known.
fn line_time(at: Option<&str>, times: &str, started: Option<&str>) -> String {
    let parsed = |text: Option<&str>| text.and_then(|text| Moment::parse(text).ok());
    let tenth = |millis: u128| millis / 100 % 10;
    match (times, parsed(at), parsed(started)) {
        ("clock", Some(at), _) => {
            let clock = moment(at).split(' ').next_back().unwrap_or_default().to_owned();
            format!("{clock}.{}", tenth(u128::from(at.millis().unsigned_abs())))
        }
        ("elapsed", Some(at), Some(started)) => {
            let time = at.since(started);
            let (minutes, seconds) = (time.as_secs() / 60, time.as_secs() % 60);
            let hours = if minutes < 60 { String::new() } else { format!("{}:", minutes / 60) };
            format!("{hours}{:02}:{seconds:02}.{}", minutes % 60, tenth(time.as_millis()))
        }
        _ => String::new(),
    }
}

/// Returns the name of a file, without the folders above it.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the last lines of a text.
fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

/// Returns the first digits of the id of a run.
fn short(id: &str) -> String {
    id.get(..8).unwrap_or(id).to_owned()
}

/// Returns a text as it is, and any other value as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| serde_json::to_string(value).unwrap_or_default(), str::to_owned)
}

/// Returns the first parameters of a run in a few words: `month=2026-11 · dry=true`.
fn brief(params: &Value) -> String {
    let names: Vec<Value> = params.try_iter().into_iter().flatten().collect();
    let shown = names.iter().take(BRIEF_PARAMS).map(|name| {
        let value = params.get_item(name).map(|value| text(&value)).unwrap_or_default();
        let is_cut = value.chars().nth(BRIEF_VALUE).is_some();
        let value: String = value.chars().take(BRIEF_VALUE).collect();
        format!("{name}={value}{}", if is_cut { "…" } else { "" })
    });
    let rest = (names.len() > BRIEF_PARAMS).then(|| format!("{} more", names.len() - BRIEF_PARAMS));
    shown.chain(rest).collect::<Vec<_>>().join(" · ")
}

/// Returns a sentence with its names, which stand between grave accents, as code.
fn coded(text: &str) -> Value {
    let text = untrusted(text).block();
    let parts = text.split('`').enumerate().map(|(at, part)| match (HtmlEscape(part), at % 2) {
        (part, 0) => part.to_string(),
        (part, _) => format!("<code>{part}</code>"),
    });
    Value::from_safe_string(parts.collect())
}

/// Returns the value of a field of a run, with its unit.
fn measured(value: &Value, field: &str) -> String {
    match (field, u64::try_from(value.clone())) {
        ("duration_ms", Ok(millis)) => elapsed(std::time::Duration::from_millis(millis)),
        ("cost_micro_usd", Ok(micros)) => dollars(micros),
        _ => text(value),
    }
}

/// Returns an amount of money.
fn dollars(micros: u64) -> String {
    format!("${}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// Returns an amount of money in cents, which shows the exact one to whoever points at it.
fn price(micros: u64) -> Value {
    let cents = match micros {
        1..10_000 => "&lt;$0.01".to_owned(),
        _ => format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
    };
    Value::from_safe_string(format!("<span title=\"{}\">{cents}</span>", dollars(micros)))
}

/// Returns a text for a field, escaped and otherwise as it is: the text coming back must be the text left by the person.
fn editable(text: &str) -> Value {
    Value::from_safe_string(HtmlEscape(text).to_string())
}

/// Returns a number with two digits after the point.
fn hundredths(number: f64) -> String {
    format!("{number:.2}")
}

/// Returns a text as a part of an address: every byte that could mean something there is written as a number.
pub(crate) fn encoded(text: &str) -> String {
    let mut address = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address += &format!("%{byte:02X}");
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::{
        PagePlace, PageTemplates, TEMPLATES, coded, encoded, line_time, page_digest, price, took, when,
    };

    #[test]
    fn every_template_is_one() {
        let templates = PageTemplates::at(&PagePlace::default());
        for (name, _) in TEMPLATES {
            assert!(templates.0.get_template(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn an_address_in_a_template_is_below_the_base() {
        let place = PagePlace { base: "/w/shop".into(), ..PagePlace::default() };
        assert_eq!(place.based("<a href=\"/runs\">"), "<a href=\"/w/shop/runs\">");
        let (source, based) =
            ("{% set s = \"/runs/\" ~ id ~ \"/a\" %}", "{% set s = \"/w/shop/runs/\" ~ id ~ \"/a\" %}");
        assert_eq!(place.based(source), based);
        for kept in ["<path d=\"x\"/>", "src=\"/page.js\"", "href=\"/style.css\"", "href=\"?q=/\"", "a /b"] {
            assert_eq!(place.based(kept), kept);
        }
        assert_eq!(place.based("src=\"/page.jsx\""), "src=\"/w/shop/page.jsx\"");
        let picture = "<a href=\"/runs/1\"><text>&lt;a href=&quot;/x</text></a><a href=\"#all\">";
        let drawn = place.drawn(picture).to_string();
        assert_eq!(drawn, picture.replacen("/runs", "/w/shop/runs", 1));
        assert_eq!(PagePlace::default().drawn(picture).to_string(), picture);
    }

    #[test]
    fn nothing_that_others_wrote_is_markup_or_hides() {
        let mut templates = PageTemplates::at(&PagePlace::default());
        templates
            .0
            .add_template("sample.html", "<b title=\"{{ one }}\">{{ one }}</b>{{ nothing }}{{ n }}")
            .unwrap();
        let values = minijinja::context! { one => "<i>\"&'\u{202e}\u{1b}[2J\n", nothing => (), n => 3 };
        let html = templates.0.get_template("sample.html").unwrap().render(values).unwrap();
        assert!(!html.contains("<i>") && !html.contains('\u{202e}') && !html.contains('\u{1b}'), "{html}");
        assert!(html.contains("&lt;i&gt;") && html.ends_with("</b>3"), "{html}");
    }

    #[test]
    fn a_name_in_a_sentence_is_code() {
        assert_eq!(coded("`a<b` runs").to_string(), "<code>a&lt;b</code> runs");
        assert_eq!(coded("<b>\u{202e}").to_string(), "&lt;b&gt;⟨U+202E⟩");
    }

    #[test]
    fn an_amount_is_rounded_and_exact_for_whoever_points_at_it() {
        let shown = |micros: u64| price(micros).to_string();
        assert_eq!(shown(1_234), "<span title=\"$0.001234\">&lt;$0.01</span>");
        assert_eq!(shown(1_239_999), "<span title=\"$1.239999\">$1.23</span>");
        assert!(shown(0).ends_with(">$0.00</span>") && shown(10_000).ends_with(">$0.01</span>"));
    }

    #[test]
    fn a_part_of_an_address_means_nothing_else() {
        assert_eq!(encoded("a b&q=ü/%"), "a%20b%26q%3D%C3%BC%2F%25");
    }

    #[test]
    fn the_key_of_a_form_changes_no_page() {
        let page = |key: &str, text: &str| format!("<form><input name=\"key\" value=\"{key}\">{text}</form>");
        assert_eq!(page_digest(&page("1", "a")), page_digest(&page("2", "a")));
        assert_ne!(page_digest(&page("1", "a")), page_digest(&page("1", "b")));
    }

    #[test]
    fn times_are_shown_to_the_second() {
        assert_eq!(
            when("2026-11-21T09:30:00.250Z").to_string(),
            "<time datetime=\"2026-11-21T09:30:00.250Z\">2026-11-21 09:30:00 UTC</time>"
        );
        assert_eq!(took("2026-11-21T09:30:00Z", "2026-11-21T09:31:05Z", Some(1_000)), "1m 04s");
        assert_eq!(took("", "2026-11-21T09:31:05Z", None), "");
        let line = |times: &str, at| line_time(at, times, Some("2026-11-21T09:30:00Z"));
        assert_eq!(line("clock", Some("2026-11-21T09:30:12.349Z")), "09:30:12.3");
        assert_eq!(line("elapsed", Some("2026-11-21T09:30:12.349Z")), "00:12.3");
        assert_eq!(line("elapsed", Some("2026-11-21T11:31:02Z")), "2:01:02.0");
        assert_eq!((line("hidden", Some("2026-11-21T11:31:02Z")), line("clock", None)), Default::default());
    }
}
