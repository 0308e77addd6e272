use clap::Args;

use crate::Ui;
use wf_app::{CliExitCode, CommandError, memory::add_note, sessions::active_session};
use wf_base::name::SessionName;
use wf_core::memory::{MemoryNote, NoteDraft};

/// The source of a note by a user.
const USER: &str = "user";

/// Add a note
#[derive(Args, Debug)]
#[command(after_help = "\
A note is found again by its words, by people (`wf memory search`) and by agents (their tool
`memory`). `wf memory trust` sets how much it is trusted.

Examples:
  wf memory add 'The mirror is down on Sundays' --kind fact --tag net:curl
  pbpaste | wf memory add - --raw --external")]
pub struct MemoryAddArgs {
    /// Text, or `-` to read it from standard input
    #[arg(value_name = "TEXT")]
    text: String,
    /// Kind, a word of your choice
    #[arg(long, value_name = "KIND", default_value = "general")]
    kind: String,
    /// Tag to find it by
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Session that it belongs to, instead of the current one
    #[arg(long, value_name = "NAME")]
    session: Option<SessionName>,
    /// Keep it for the record: only `wf memory search --raw` finds it
    #[arg(long)]
    raw: bool,
    /// The text was written by others: a page, a message, a file from outside
    #[arg(long)]
    external: bool,
}

/// Adds a note.
pub(super) fn run(ui: &Ui, args: &MemoryAddArgs) -> Result<CliExitCode, CommandError> {
    let usage = |message: String| CommandError::new(CliExitCode::Usage, message);
    let text = match args.text.as_str() {
        "-" => std::io::read_to_string(std::io::stdin())
            .map_err(|error| usage(format!("cannot read standard input: {error}")))?,
        text => text.to_owned(),
    };
    let draft = NoteDraft {
        kind: args.kind.clone(),
        text,
        tags: args.tags.clone(),
        session: active_session(&ui.host.workspace().state, args.session.as_ref())?,
        raw: args.raw,
    };
    let note = MemoryNote::new(draft, USER, args.external, ui.host.now())
        .map_err(|error| usage(error.to_string()).hint("nothing was added"))?;
    let id = note.id;
    let note = if add_note(ui, note)? { "" } else { ", known before" };
    ui.print_line(&format!("note {}{note}", id.short()))?;
    Ok(CliExitCode::Ok)
}
