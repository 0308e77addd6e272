//! The requests for plans, printed.

use std::str::FromStr;

use serde_json::{Value, json};

use crate::Ui;
use wf_app::{CliExitCode, CommandError, authoring::PlanningRequests};
use wf_core::agent::authoring::PlanningRecord;
use wf_report::record::{planning_list, planning_text};

/// A request for a plan, as a user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestNumber {
    Last,
    Number(u32),
}

impl FromStr for RequestNumber {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "last" {
            return Ok(Self::Last);
        }
        text.parse().map(Self::Number).map_err(|_| "expected the number of a request, or `last`")
    }
}

/// Prints the requests for plans, or the calls of one.
pub fn print_requests(
    ui: &Ui,
    number: Option<RequestNumber>,
    json: bool,
) -> Result<CliExitCode, CommandError> {
    let requests = PlanningRequests::of_workspace(&ui.host);
    let number = match number {
        None => {
            print_list(ui, &requests, json)?;
            return Ok(CliExitCode::Ok);
        }
        Some(RequestNumber::Last) => requests.last()?.ok_or_else(none)?,
        Some(RequestNumber::Number(number)) => number,
    };
    let missing = || {
        let error = CommandError::new(CliExitCode::Usage, format!("there is no request {number} for a plan"));
        error.hint("for a list: wf plan --log")
    };
    let record = requests.read(number)?.ok_or_else(missing)?;
    if json {
        ui.print_json(&format!("{:#}\n", document(number, &record)))?;
    } else {
        ui.print(&planning_text(number, &record, &requests.bodies(number)))?;
    }
    Ok(CliExitCode::Ok)
}

fn print_list(ui: &Ui, requests: &PlanningRequests, json: bool) -> Result<(), CommandError> {
    let records = requests.all()?;
    if json {
        let list: Vec<Value> = records.iter().map(|(number, record)| document(*number, record)).collect();
        return ui.print_json(&format!("{:#}\n", json!({"v": 1, "requests": list})));
    }
    if records.is_empty() {
        return Err(none());
    }
    ui.print(&planning_list(&records))
}

fn document(number: u32, record: &PlanningRecord) -> Value {
    let mut document = json!({"v": 1, "number": number});
    if let (Some(document), Ok(Value::Object(record))) =
        (document.as_object_mut(), serde_json::to_value(record))
    {
        document.extend(record);
    }
    document
}

fn none() -> CommandError {
    let error = CommandError::new(CliExitCode::Usage, "no plan was asked for in this workspace");
    error.hint("wf plan \"sort the invoices by month\"")
}
