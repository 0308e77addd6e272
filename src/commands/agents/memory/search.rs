use anstyle::Style;
use clap::Args;
use serde_json::json;

use super::rows::{document, line};
use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    memory::{MemoryReader, NoteSearch},
};
use wf_base::{
    name::SessionName,
    untrusted::{DIM, NAME, WARN},
};
use wf_core::memory::RankedNote;
use wf_report::{ColumnAlign, TextTable};

/// Search notes, best first
#[derive(Args, Debug)]
#[command(after_help = "\
A note of a session is found in that session, and in others once it is shared: it was promoted, or
is a failure or a preference. A note is found if it has one of the words, in any form (`mirrors`
finds `mirror`), or as a tag. With --explain, each note has the terms of its quality:
  0.35·similarity + 0.25·trust/100 + 0.25·freshness + 0.15·verified
and a preference that follows from decisions of people its strength.
Examples:
  wf memory search mirror sunday
  wf memory search --kind preference           all preferences, newest first
  wf memory search timeout --raw               the raw lane")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct MemorySearchArgs {
    /// Words to search for [default: every note]
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Only notes of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only notes with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only notes of this session
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    session: Option<SessionName>,
    /// Search the notes of all sessions
    #[arg(long)]
    all: bool,
    /// Search the raw lane instead
    #[arg(long)]
    raw: bool,
    /// Maximum number of notes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Show the terms of each quality
    #[arg(long)]
    explain: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Searches notes.
pub(super) fn run(ui: &Ui, args: &MemorySearchArgs) -> Result<CliExitCode, CommandError> {
    let search = NoteSearch {
        words: args.words.join(" "),
        kind: args.kind.clone(),
        tag: args.tag.clone(),
        session: args.session.clone(),
        all_sessions: args.all,
        raw: args.raw,
    };
    let notes = MemoryReader::open(&ui.host)?.search(&search, ui.host.now())?;
    let shown = notes.get(..args.limit).unwrap_or(&notes);
    if args.json {
        ui.print_json(&document(&json!({ "v": 1, "found": notes.len(), "notes": shown })))?;
    } else if notes.is_empty() {
        ui.print_info("no matching notes\n");
    } else {
        ui.print(&table(shown, args.explain))?;
        let left = notes.len() - shown.len();
        if left > 0 {
            ui.print_info(&format!("{left} more; --limit shows them\n"));
        }
    }
    Ok(CliExitCode::Ok)
}

fn table(notes: &[RankedNote], explain: bool) -> String {
    let (left, right) = (|name| (name, ColumnAlign::Left), |name| (name, ColumnAlign::Right));
    let mut columns = vec![left("id"), right("quality")];
    if explain {
        columns.extend([right("similarity"), right("trust"), right("freshness"), right("verified")]);
    }
    // Only what people decided has a strength.
    let strengths = explain && notes.iter().any(|note| note.note.strength.is_some());
    if strengths {
        columns.push(right("strength"));
    }
    columns.extend([left("kind"), left("trust")]);
    let in_sessions = notes.iter().any(|note| note.note.session.is_some());
    if in_sessions {
        columns.push(left("session"));
    }
    columns.push(left("text"));
    let mut table = TextTable::new(&columns);
    let number = |number: f64| (format!("{number:.2}"), DIM);
    for RankedNote { note, rank } in notes {
        let mut row = vec![(note.id.short(), NAME), number(rank.quality)];
        if explain {
            row.extend([rank.similarity, rank.trust, rank.freshness, rank.verified].map(number));
        }
        if strengths {
            let strength = note.strength.as_ref();
            let strength = strength.map(|own| format!("{:.2}", f64::from(own.percent) / 100.0));
            row.push((strength.unwrap_or_default(), DIM));
        }
        let outside = if note.external { " (external)" } else { "" };
        let style = if note.external { WARN } else { Style::new() };
        row.push((line(&note.kind), Style::new()));
        row.push((format!("{}{outside}", note.trust), style));
        if in_sessions {
            let shared = if note.is_shared() && note.session.is_some() { " (shared)" } else { "" };
            let session = note.session.as_ref().map_or("", SessionName::as_str);
            row.push((format!("{session}{shared}"), DIM));
        }
        row.push((line(&note.text), Style::new()));
        table.row(row);
    }
    table.render()
}
