//! A session as a checkpoint: the work done in it, the waiting, and the next steps.
//!
//! It is a view of the log. Another process reading it knows where the work stands.

use std::fmt::Write as _;

use serde::Serialize;

use crate::record::RunLifecycle;
use wf_base::{
    name::{Name, RunId},
    time::Moment,
    units::{fit, moment},
    untrusted::{BOLD, DIM, NAME, WARN, paint, untrusted},
};
use wf_core::{
    agent::ConversationSummary,
    machine::RunOutcome,
    memory::MemoryNote,
    session::{SessionRecord, SessionState},
};
use wf_model::JsonObject;

/// The width at which a text is cut on a line, in characters.
const WIDTH: usize = 90;

/// The checkpoint of a session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionCheckpoint {
    /// The version of the document.
    pub v: u32,
    #[serde(flatten)]
    pub session: SessionRecord,
    /// The time when something last happened in it.
    pub last_active: Moment,
    /// Its outermost runs, newest first.
    pub runs: Vec<SessionRun>,
    /// The open requests of its runs.
    pub requests: Vec<SessionRequest>,
    /// The values its steps gave, the latest first.
    pub answers: Vec<SessionAnswer>,
    pub conversations: Vec<ConversationSummary>,
    /// The files its steps left or merged, by path.
    pub files: Vec<SessionFile>,
    pub notes: Vec<MemoryNote>,
    /// The reasons why it does not go on.
    pub blockers: Vec<String>,
    /// The commands that take it further, in order.
    pub next: Vec<String>,
}

/// A run of a session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionRun {
    pub run: RunId,
    /// The id of its plan.
    pub plan: String,
    pub state: RunLifecycle,
    /// The time when it began.
    pub created: Moment,
    /// The reason for its outcome; empty for success.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The run it repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunId>,
}

/// An open request of a run.
#[derive(Clone, Debug, Serialize)]
pub struct SessionRequest {
    /// The outermost run.
    pub run: RunId,
    /// The name of the request among those of the run.
    pub name: String,
    pub message: String,
    /// True if it is a question, which is answered with text.
    pub is_question: bool,
    pub expires: Moment,
}

/// The values a step gave.
#[derive(Clone, Debug, Serialize)]
pub struct SessionAnswer {
    pub run: RunId,
    pub step: Name,
    pub at: Moment,
    pub outputs: JsonObject,
}

/// A file left by a step, or merged from its worktree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SessionFile {
    /// The path, relative to the workspace.
    pub path: String,
    /// The run that left it last.
    pub run: RunId,
    pub step: Name,
}

impl SessionCheckpoint {
    /// Derives the obstacles of the session, and its next steps.
    #[must_use]
    pub fn with_outlook(mut self) -> Self {
        let name = &self.session.name;
        if self.session.state == SessionState::Suspended {
            self.blockers.push("the session is suspended".into());
            self.next.push(format!("wf session resume {name}"));
        }
        for request in &self.requests {
            let (short, purpose) =
                (request.run.short(), if request.is_question { "an answer" } else { "approval" });
            self.blockers.push(format!("run {short} waits for {purpose}: {}", request.message));
            let step = if request.name == "run" { String::new() } else { format!(" {}", request.name) };
            let verb = if request.is_question { "answer" } else { "approve" };
            let text = if request.is_question { " --text TEXT" } else { "" };
            self.next.push(format!("wf {verb} {short}{step}{text}"));
        }
        for run in &self.runs {
            let short = run.run.short();
            let is_repeated = self.runs.iter().any(|other| other.retry_of.as_ref() == Some(&run.run));
            match run.state {
                RunLifecycle::Waiting | RunLifecycle::Interrupted => {
                    self.next.push(format!("wf resume {short}"));
                }
                RunLifecycle::Running => self.blockers.push(format!("run {short} is under way")),
                RunLifecycle::Ended(outcome) if outcome != RunOutcome::Succeeded && !is_repeated => {
                    self.blockers.push(format!("run {short} {}: {}", run.state.as_str(), run.reason));
                    self.next.push(format!("wf retry {short}"));
                }
                RunLifecycle::Ended(_) => {}
            }
        }
        if self.session.state.is_over() {
            self.next.clear();
        }
        self
    }

    pub fn render(&self) -> String {
        let SessionRecord { name, state, reason, created, is_current, .. } = &self.session;
        let current = if *is_current { " · current" } else { "" };
        let mut text = format!("{} · {state}{current}\n", paint(BOLD, name.as_str()));
        let mut field = |name: &str, value: &str| {
            if !value.is_empty() {
                let _ = writeln!(text, "  {} {value}", paint(DIM, &format!("{name:<12}")));
            }
        };
        field("reason", &line(reason));
        field("created", &moment(*created));
        field("last active", &moment(self.last_active));
        let run = |run: &SessionRun| {
            let state = paint(run.state.style(), &format!("{:<11}", run.state.as_str()));
            format!("{}  {state}  {}", paint(NAME, run.run.short()), run.plan)
        };
        section(&mut text, "runs", self.runs.iter().map(run));
        section(&mut text, "blockers", self.blockers.iter().map(|blocker| paint(WARN, &line(blocker))));
        let answer = |answer: &SessionAnswer| {
            let outputs = serde_json::to_string(&answer.outputs).unwrap_or_default();
            format!("{}  {}  {}", paint(NAME, answer.run.short()), answer.step, line(&outputs))
        };
        section(&mut text, "answers", self.answers.iter().map(answer));
        let summary = |conversation: &ConversationSummary| {
            format!("{}  {}", paint(NAME, conversation.name.as_str()), line(&conversation.answer))
        };
        section(&mut text, "conversations", self.conversations.iter().map(summary));
        let file = |file: &SessionFile| format!("{}  {}", paint(NAME, file.run.short()), line(&file.path));
        section(&mut text, "files", self.files.iter().map(file));
        let note = |note: &MemoryNote| {
            let shared = if note.is_shared() { " (shared)" } else { "" };
            format!("{}  {}{shared}  {}", paint(NAME, &note.id.short()), line(&note.kind), line(&note.text))
        };
        section(&mut text, "notes", self.notes.iter().map(note));
        section(&mut text, "next", self.next.iter().cloned());
        text
    }
}

/// Adds a section, unless it is empty.
fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.map(|line| format!("  {line}\n")).collect();
    if !lines.is_empty() {
        let _ = write!(text, "\n{}\n{lines}", paint(DIM, title));
    }
}

/// A text on one line, safe to display.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    fit(&untrusted(&words.join(" ")).to_string(), WIDTH)
}

#[cfg(test)]
mod tests {
    use super::{SessionCheckpoint, SessionRequest, SessionRun};
    use crate::record::RunLifecycle;
    use wf_base::{
        name::{RunId, SessionName},
        time::Moment,
    };
    use wf_core::{
        machine::RunOutcome,
        session::{SessionChange, SessionRecord},
    };

    const NOW: Moment = Moment::from_millis(0);

    fn run(number: u8, state: RunLifecycle, retry_of: Option<u8>) -> SessionRun {
        SessionRun {
            run: RunId::from_bytes([number; 16]),
            plan: "p".into(),
            state,
            created: NOW,
            reason: "step `a` failed".into(),
            retry_of: retry_of.map(|number| RunId::from_bytes([number; 16])),
        }
    }

    fn checkpoint(session: SessionRecord) -> SessionCheckpoint {
        let failed = RunLifecycle::Ended(RunOutcome::Failed);
        let request = SessionRequest {
            run: RunId::from_bytes([4; 16]),
            name: "ask".into(),
            message: "Which one?".into(),
            is_question: true,
            expires: NOW,
        };
        SessionCheckpoint {
            v: 1,
            session,
            last_active: NOW,
            runs: vec![
                run(4, RunLifecycle::Waiting, None),
                run(3, failed, Some(1)),
                run(2, RunLifecycle::Ended(RunOutcome::Succeeded), None),
                run(1, failed, None),
            ],
            requests: vec![request],
            answers: Vec::new(),
            conversations: Vec::new(),
            files: Vec::new(),
            notes: Vec::new(),
            blockers: Vec::new(),
            next: Vec::new(),
        }
    }

    #[test]
    fn what_takes_a_session_further_follows_from_its_runs() {
        let session = SessionRecord::begin(SessionName::parse("a").unwrap(), NOW);
        let suspend = SessionChange::Suspend { interrupts: false, reason: String::new() };
        let aside = checkpoint(session.change(suspend, NOW).unwrap()).with_outlook();
        let expected = [
            "wf session resume a",
            "wf answer 04040404 ask --text TEXT",
            "wf resume 04040404",
            // The run that it repeats needs no further retry.
            "wf retry 03030303",
        ];
        assert_eq!(aside.next, expected);
        let expected = [
            "the session is suspended",
            "run 04040404 waits for an answer: Which one?",
            "run 03030303 failed: step `a` failed",
        ];
        assert_eq!(aside.blockers, expected);
        let over = checkpoint(session.change(SessionChange::Complete, NOW).unwrap()).with_outlook();
        assert!(over.next.is_empty());
    }
}
