//! The list of runs: filtered and sorted by its address, with one act on several of them.

use axum::{extract::Form, http::StatusCode, response::Response};
use serde::Serialize;

use crate::{query::PageQuery, template::encoded, visit::Visit};
use wf_app::{
    CliExitCode,
    run_acts::several::{MAX_SELECTED, PickedRun, RunAct, SelectedRun, act_on_runs, selected_runs},
    views::{RunLine, RunPage, RunQuery, recorded_plans, run_page},
};
use wf_base::keyword::Keyword as _;

/// The fields of an address, or of a form, in their order: one may be there several times.
type Fields = Vec<(String, String)>;

/// The states of the filter.
const STATES: [&str; 7] =
    ["running", "waiting", "interrupted", "succeeded", "failed", "cancelled", "abandoned"];

/// The columns that sort the list: the word of the usual order first, which is the one that a press asks for.
const COLUMNS: [[&str; 2]; 3] = [["plan", "-plan"], ["-started", "started"], ["-duration", "duration"]];

/// The most plans proposed in the field for one.
const MAX_PROPOSALS: usize = 100;

/// The list of runs.
#[derive(Serialize)]
struct RunsView {
    runs: Vec<RunLine>,
    query: RunQuery,
    /// The states, each with whether it is chosen.
    states: Vec<StateBox>,
    /// The plans with runs.
    plans: Vec<String>,
    /// The columns to sort the list by.
    columns: Vec<SortColumn>,
    /// True if the list is filtered or sorted in another way than the usual one.
    is_chosen: bool,
    hidden_checks: u64,
    /// The address of the same list with the checks of goals.
    with_checks: String,
    newer: Option<String>,
    older: Option<String>,
    /// The reason why the query lists nothing.
    problem: Option<String>,
}

/// A state in the filter.
#[derive(Serialize)]
struct StateBox {
    word: &'static str,
    is_chosen: bool,
}

/// A column to sort the list by.
#[derive(Serialize)]
struct SortColumn {
    name: &'static str,
    /// The address of the list sorted by it; the other way round if it is.
    page: String,
    /// The word for its present order, as assistive programs know it.
    order: Option<&'static str>,
}

/// Returns the query of an address, with what its number of a page cannot mean.
fn query_of(fields: &Fields) -> (RunQuery, Option<String>) {
    let (mut query, mut problem) = (RunQuery::default(), None);
    for (name, value) in fields {
        match name.as_str() {
            "plan" => query.plan.clone_from(value),
            "state" => {
                let words = value.split(',').filter(|word| !word.is_empty());
                query.states.extend(words.map(str::to_owned));
            }
            "trigger" => query.trigger.clone_from(value),
            // As addresses of earlier versions have it.
            "checks" if value == "all" => query.trigger.clone_from(value),
            "q" => query.text.clone_from(value),
            "since" => query.since.clone_from(value),
            "until" => query.until.clone_from(value),
            "sort" => query.sort.clone_from(value),
            "page" if value.is_empty() => {}
            "page" => match value.parse() {
                Ok(page) => query.page = page,
                Err(_) => problem = Some("`page` is the number of a page, from 0: leave it out".to_owned()),
            },
            _ => {}
        }
    }
    (query, problem)
}

/// Returns the address of a query: the same one for the same list.
fn address_of(query: &RunQuery) -> String {
    let states = query.states.join(",");
    let page = if query.page == 0 { String::new() } else { query.page.to_string() };
    let fields = [
        ("plan", &query.plan),
        ("state", &states),
        ("trigger", &query.trigger),
        ("q", &query.text),
        ("since", &query.since),
        ("until", &query.until),
        ("sort", &query.sort),
        ("page", &page),
    ];
    let parts = fields.iter().filter(|(_, value)| !value.is_empty());
    let parts: Vec<String> = parts.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if parts.is_empty() { "/runs".to_owned() } else { format!("/runs?{}", parts.join("&")) }
}

fn column_of([usual, reverse]: [&'static str; 2], query: &RunQuery) -> SortColumn {
    let sort = if query.sort.is_empty() { "-started" } else { query.sort.as_str() };
    let next = if sort == usual { reverse } else { usual };
    let is_descending = sort.starts_with('-');
    let order = if is_descending { "descending" } else { "ascending" };
    SortColumn {
        name: usual.trim_start_matches('-'),
        page: address_of(&RunQuery { sort: next.to_owned(), page: 0, ..query.clone() }),
        order: [usual, reverse].contains(&sort).then_some(order),
    }
}

/// The runs of a workspace.
pub(crate) async fn runs(visit: Visit, PageQuery(fields): PageQuery<Fields>) -> Response {
    visit
        .show("runs.html", move |caller| {
            let (query, mistake) = query_of(&fields);
            let (page, problem) = match run_page(caller, &query) {
                _ if mistake.is_some() => (RunPage::default(), mistake),
                Ok(page) => (page, None),
                Err(error) if error.exit == CliExitCode::Usage => (RunPage::default(), Some(error.message)),
                Err(error) => return Err(error),
            };
            let mut plans = recorded_plans(caller)?;
            plans.truncate(MAX_PROPOSALS);
            let turned = |page: usize| address_of(&RunQuery { page, ..query.clone() });
            let states = STATES
                .iter()
                .map(|word| StateBox { word, is_chosen: query.states.iter().any(|chosen| chosen == word) });
            Ok(Some(RunsView {
                states: states.collect(),
                plans,
                columns: COLUMNS.iter().map(|column| column_of(*column, &query)).collect(),
                is_chosen: query != RunQuery { page: query.page, ..RunQuery::default() },
                hidden_checks: page.hidden_checks,
                with_checks: address_of(&RunQuery { trigger: "all".to_owned(), page: 0, ..query.clone() }),
                newer: query.page.checked_sub(1).map(&turned),
                older: page.has_more.then(|| turned(query.page + 1)),
                problem,
                runs: page.runs,
                query,
            }))
        })
        .await
}

/// The runs selected by a person, with the effect of an act on each.
#[derive(Serialize)]
struct SelectionView {
    /// The word for the act; empty: there is none of this name.
    act: &'static str,
    runs: Vec<SelectedRun>,
    /// The number of those affected by the act.
    count: usize,
    /// True if it is done.
    is_done: bool,
    /// True if this browser may do it.
    may_act: bool,
    /// True if more runs were selected than are acted on at once.
    is_cut: bool,
}

impl SelectionView {
    fn new(act: Option<RunAct>, runs: Vec<SelectedRun>) -> Self {
        let count = runs.iter().filter(|run| run.is_affected).count();
        let act = act.map_or("", RunAct::as_str);
        Self { act, runs, count, is_done: false, may_act: false, is_cut: false }
    }
}

/// Returns the selected runs of an address or a form, each once, up to the first one that is too many.
fn picked_of(fields: &Fields) -> Vec<PickedRun> {
    let mut picked: Vec<PickedRun> = Vec::new();
    for (_, value) in fields.iter().filter(|(name, _)| name == "run") {
        let one = PickedRun::parse(value);
        if !picked.iter().any(|other| other.run == one.run) {
            picked.push(one);
        }
        if picked.len() > MAX_SELECTED {
            break;
        }
    }
    picked
}

/// Asks whether an act is done to the selected runs: it names each, and the effect on it.
pub(crate) async fn selected(visit: Visit, PageQuery(fields): PageQuery<Fields>) -> Response {
    let act = fields.iter().find(|(name, _)| name == "act").and_then(|(_, word)| RunAct::from_word(word));
    let may_act = match act {
        Some(RunAct::Cancel) => visit.may_operate(),
        Some(RunAct::Retry) => visit.may_start(),
        None => false,
    };
    visit
        .show("selected.html", move |caller| {
            let mut picked = picked_of(&fields);
            let is_cut = picked.len() > MAX_SELECTED;
            picked.truncate(MAX_SELECTED);
            let runs = match act {
                Some(act) => selected_runs(caller, act, &picked)?,
                None => Vec::new(),
            };
            Ok(Some(SelectionView { may_act, is_cut, ..SelectionView::new(act, runs) }))
        })
        .await
}

/// Cancels the selected runs, and says the effect on each.
pub(crate) async fn cancel_selected(visit: Visit, Form(fields): Form<Fields>) -> Response {
    act(visit, RunAct::Cancel, fields).await
}

/// Retries the selected runs, and says the effect on each.
pub(crate) async fn retry_selected(visit: Visit, Form(fields): Form<Fields>) -> Response {
    act(visit, RunAct::Retry, fields).await
}

async fn act(visit: Visit, act: RunAct, fields: Fields) -> Response {
    let picked = picked_of(&fields);
    if picked.is_empty() || picked.len() > MAX_SELECTED {
        let message = format!("Select 1 to {MAX_SELECTED} runs in the list.");
        return visit.site.templates.refusal(StatusCode::BAD_REQUEST, "Nothing was done", &message);
    }
    let done = visit.site.execute(move |caller| Ok(act_on_runs(caller, act, &picked))).await;
    visit
        .show("selected.html", move |_| {
            let view = SelectionView::new(Some(act), done?);
            Ok(Some(SelectionView { is_done: true, may_act: true, ..view }))
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::{Fields, address_of, column_of, picked_of, query_of};

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_list_has_one_address() {
        let (query, _) = query_of(&fields(&[
            ("state", "failed"),
            ("state", "cancelled,waiting"),
            ("plan", "release"),
            ("q", "a&b"),
            ("sort", "-duration"),
            ("page", "2"),
            ("other", "x"),
        ]));
        let address = "/runs?plan=release&state=failed%2Ccancelled%2Cwaiting&q=a%26b&sort=-duration&page=2";
        assert_eq!(address_of(&query), address);
        let (query, mistake) = query_of(&fields(&[("plan", ""), ("page", "x")]));
        assert_eq!((address_of(&query), mistake.is_some()), ("/runs".to_owned(), true));
        assert_eq!(address_of(&query_of(&fields(&[("checks", "all")])).0), "/runs?trigger=all");
    }

    #[test]
    fn a_column_turns_its_order_round() {
        let column = |pairs: &[(&str, &str)]| {
            let found = column_of(["-started", "started"], &query_of(&fields(pairs)).0);
            (found.order, found.page)
        };
        assert_eq!(column(&[]), (Some("descending"), "/runs?sort=started".to_owned()));
        assert_eq!(column(&[("sort", "started")]), (Some("ascending"), "/runs?sort=-started".to_owned()));
        assert_eq!(column(&[("sort", "plan"), ("page", "3")]), (None, "/runs?sort=-started".to_owned()));
    }

    #[test]
    fn a_run_is_picked_once() {
        let picked = picked_of(&fields(&[("run", "1a"), ("act", "cancel"), ("run", "1a"), ("run", "2b.1")]));
        let ids: Vec<&str> = picked.iter().map(|one| one.run.as_str()).collect();
        assert_eq!(ids, ["1a", "2b"]);
        assert_eq!(picked.iter().map(|one| one.repeats).collect::<Vec<_>>(), [None, Some(1)]);
    }
}
