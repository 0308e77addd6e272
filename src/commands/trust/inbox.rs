use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    views::{InboxView, Notice, RequestView, SuggestionRecord, inbox_view, state_reader},
};
use wf_base::{
    units::first_line,
    untrusted::{NAME, untrusted},
};
use wf_report::{ColumnAlign, TextTable};

#[derive(Args, Debug)]
#[command(after_help = "\
Lists the approvals and questions of runs that nobody has answered, suggestions, secrets that a
setup waits for, and what else needs attention, each with the command that deals with it.")]
pub struct InboxArgs {
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Lists the matters for people.
pub fn run(ui: &Ui, args: &InboxArgs) -> Result<CliExitCode, CommandError> {
    let reader = state_reader(ui)?;
    let inbox = inbox_view(ui, reader.as_ref())?;
    if args.json {
        ui.print_json(&document(&inbox))?;
        return Ok(CliExitCode::Ok);
    }
    let rows = rows(&inbox);
    if rows.is_empty() {
        ui.print_info("nothing waits for you\n");
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::new(&["kind", "subject", "to answer"].map(|name| (name, ColumnAlign::Left)));
    for InboxRow { kind, subject, command } in rows {
        let plain = anstyle::Style::new();
        table.row(vec![(kind, plain), (untrusted(&subject).to_string(), plain), (command, NAME)]);
    }
    ui.print(&table.render())?;
    Ok(CliExitCode::Ok)
}

fn document(inbox: &InboxView) -> String {
    let mut document = serde_json::to_value(inbox).unwrap_or_default();
    if let Some(fields) = document.as_object_mut() {
        fields.insert("v".into(), 1.into());
    }
    format!("{document:#}\n")
}

/// A row of the list.
struct InboxRow {
    kind: String,
    subject: String,
    /// The command for it.
    command: String,
}

fn rows(inbox: &InboxView) -> Vec<InboxRow> {
    let requests = inbox.requests.iter().map(InboxRow::of_request);
    let suggestions = inbox.suggestions.iter().map(InboxRow::of_suggestion);
    let secrets = inbox.secrets.iter().map(|prompt| InboxRow {
        kind: "secret".into(),
        subject: format!("{} of connection {}", prompt.ref_id, prompt.connection),
        command: "wf serve".into(),
    });
    requests.chain(suggestions).chain(secrets).chain(inbox.notices.iter().map(InboxRow::of_notice)).collect()
}

impl InboxRow {
    fn of_request(request: &RequestView) -> Self {
        let (kind, verb, rest) = if request.is_question {
            ("question", "answer", " --text TEXT")
        } else {
            ("approval", "approve", "")
        };
        let RequestView { name, plan, .. } = request;
        let top = request.top.short();
        let is_answered = request.answers >= request.ask.required.unwrap_or(1) as usize;
        let state = if is_answered { " · answered, the run has not gone on" } else { "" };
        Self {
            kind: kind.into(),
            subject: format!("{name} of {plan}: {}{state}", first_line(&request.ask.message)),
            command: if is_answered {
                format!("wf resume {top}")
            } else {
                format!("wf {verb} {top} {name}{rest}")
            },
        }
    }

    fn of_suggestion(record: &SuggestionRecord) -> Self {
        Self {
            kind: "suggestion".into(),
            subject: format!("{} · by {}", first_line(&record.suggestion.title), record.plan),
            command: format!("wf suggestion accept {}", record.number),
        }
    }

    fn of_notice(notice: &Notice) -> Self {
        let Notice { subject, text, command, .. } = notice;
        Self { kind: (*subject).into(), subject: text.clone(), command: command.clone() }
    }
}
