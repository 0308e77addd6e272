//! The cells of the screen. All texts of others are made visible before they are drawn.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Paragraph, Wrap},
};

use super::screen::{ScreenSize, WatchPane, WatchScreen};
use wf_app::views::{LogLines, WatchedRequest, WatchedRun, WatchedStep};
use wf_base::{
    units::{elapsed, moment, plural},
    untrusted::untrusted,
};

/// The keys, with what they do.
const KEYS: [(&str, &str); 10] = [
    ("↑ ↓ j k", "select a step, or scroll the output"),
    ("enter l", "the output of the selected step"),
    ("s esc", "the steps"),
    ("g", "the graph of the plan"),
    ("f", "only what failed, and everything again"),
    ("a", "what waits for an answer"),
    ("c", "cancel the run"),
    ("o", "the page of the run in a browser"),
    ("q", "leave; the run goes on"),
    ("?", "these keys"),
];

/// The keys in the foot of the screen, the ones that are needed most first.
const FOOT: [&str; 10] = [
    "q quit",
    "? help",
    "↑↓ select",
    "enter output",
    "a answer",
    "c cancel",
    "f failed",
    "g graph",
    "s steps",
    "o page",
];

/// The cells in which the progress is drawn.
const BAR_CELLS: usize = 20;

/// The content of the screen.
#[derive(Clone, Copy)]
pub struct WatchContent<'a> {
    pub run: &'a WatchedRun,
    /// The output of the selected task; `None`: it has none.
    pub log: Option<&'a LogLines>,
    /// True if the terminal shows colours.
    pub has_colours: bool,
}

impl WatchContent<'_> {
    /// Returns the style of a word for a state.
    fn style(&self, word: &str) -> Style {
        let colour = match word {
            "verified" | "succeeded" => Color::Green,
            "failed" | "abandoned" => Color::Red,
            "running" | "verifying" => Color::Cyan,
            "waiting" | "cancelled" | "interrupted" => Color::Yellow,
            _ => return dim(),
        };
        if self.has_colours { Style::new().fg(colour) } else { Style::new().add_modifier(Modifier::BOLD) }
    }
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// Returns the shape for a state, so that it is seen without colours.
fn glyph(word: &str) -> &'static str {
    match word {
        "verified" | "succeeded" => "✓",
        "failed" | "abandoned" => "✕",
        "running" | "verifying" => "◌",
        "waiting" => "‖",
        "interrupted" => "!",
        "reported" | "plausible" => "◐",
        "pending" => "○",
        "skipped" => "–",
        "cancelled" => "⊘",
        _ => "·",
    }
}

/// Returns a text of others on one line, with marks in place of what would hide or act.
fn shown(text: &str) -> String {
    untrusted(text).to_string()
}

/// Draws the screen.
pub fn draw(frame: &mut Frame<'_>, screen: &WatchScreen, content: WatchContent<'_>) {
    let area = frame.area();
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(2), Constraint::Min(0), Constraint::Length(1)]).areas(area);
    frame.render_widget(Paragraph::new(head_lines(content)), head);
    let size = ScreenSize { columns: area.width, rows: area.height };
    match screen.pane {
        WatchPane::Steps if size.is_wide() => {
            let [left, right] = Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)])
                .spacing(2)
                .areas(body);
            draw_steps(frame, screen, content, left);
            draw_log(frame, screen, content, right);
        }
        WatchPane::Steps => draw_steps(frame, screen, content, body),
        WatchPane::Log => draw_log(frame, screen, content, body),
        WatchPane::Graph => frame.render_widget(wrapped(graph_lines(content)), body),
        WatchPane::Requests => frame.render_widget(wrapped(request_lines(content.run)), body),
        WatchPane::Help => frame.render_widget(wrapped(help_lines()), body),
    }
    frame.render_widget(Paragraph::new(foot_line(screen, usize::from(foot.width))), foot);
}

fn wrapped(lines: Vec<Line<'static>>) -> Paragraph<'static> {
    Paragraph::new(lines).wrap(Wrap { trim: false })
}

fn head_lines(content: WatchContent<'_>) -> Vec<Line<'static>> {
    let run = content.run;
    let word = run.life.as_str();
    let title = shown(run.title.as_deref().unwrap_or(&run.plan));
    let short = run.run.get(..8).unwrap_or(&run.run);
    let took = run.took.map(|took| format!(" · {}", elapsed(took))).unwrap_or_default();
    let mut about = format!(" · run {short}{took}");
    if !run.spent.is_empty() {
        about += &format!(" · {}", run.spent);
    }
    let first = Line::from(vec![
        Span::styled(format!("{} {word}", glyph(word)), content.style(word)),
        Span::styled(format!("  {title}"), Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(about),
    ]);
    vec![first, progress_line(run)]
}

/// Returns how far the run has come, and why it ended.
fn progress_line(run: &WatchedRun) -> Line<'static> {
    let count = |word: &str| run.states.get(word).copied().unwrap_or_default();
    let done = count("succeeded") + count("failed") + count("skipped") + count("cancelled");
    let total = run.states.values().sum::<usize>() + run.unbegun;
    let filled = (done * BAR_CELLS).checked_div(total).unwrap_or_default();
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR_CELLS - filled));
    let mut words = format!(" {done} of {total}");
    for word in ["failed", "running", "verifying", "waiting", "skipped", "cancelled"] {
        if count(word) > 0 {
            words += &format!(" · {} {word}", count(word));
        }
    }
    if !run.reason.is_empty() {
        words += &format!(" · {}", shown(run.reason.lines().next().unwrap_or_default()));
    } else if !run.requests.is_empty() {
        words += " · press a to answer";
    }
    Line::from(vec![Span::raw(bar), Span::raw(words)])
}

fn draw_steps(frame: &mut Frame<'_>, screen: &WatchScreen, content: WatchContent<'_>, area: Rect) {
    let run = content.run;
    if run.steps.is_empty() {
        let none =
            if screen.only_failed { "Nothing failed. f shows everything." } else { "No step has begun." };
        frame.render_widget(Paragraph::new(Span::styled(none, dim())), area);
        return;
    }
    let rows = run.steps.iter().enumerate().map(|(at, step)| {
        let is_selected = run.first + at == screen.cursor;
        let line = step_line(content, step, is_selected);
        if is_selected { line.style(Style::new().add_modifier(Modifier::REVERSED)) } else { line }
    });
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), area);
}

fn step_line(content: WatchContent<'_>, step: &WatchedStep, is_selected: bool) -> Line<'static> {
    let mark = if is_selected { "›" } else { " " };
    let took = step.took.map(elapsed).unwrap_or_default();
    let mut spans = vec![
        Span::raw(mark),
        Span::styled(format!("{} {:<10}", glyph(step.word), step.word), content.style(step.word)),
        Span::styled(format!("{took:>8}  "), dim()),
        Span::raw(shown(&step.name)),
    ];
    if step.attempts > 1 {
        spans.push(Span::styled(format!(" #{}", step.attempts), dim()));
    }
    if let Some(reason) = step.reason.lines().next() {
        spans.push(Span::styled(format!("  {}", shown(reason)), dim()));
    }
    Line::from(spans)
}

fn draw_log(frame: &mut Frame<'_>, screen: &WatchScreen, content: WatchContent<'_>, area: Rect) {
    let Some(step) = screen.selected(content.run) else {
        return;
    };
    let name = shown(&step.name);
    let Some(log) = content.log.filter(|log| log.total > 0) else {
        let none = match &step.task_id {
            None => "has not begun".to_owned(),
            Some(_) if step.attempts == 0 => "has no attempt of its own".to_owned(),
            Some(_) => match &step.nested {
                Some(run) => format!("is run {0}: wf watch {0}", run.short()),
                None => "has written nothing".to_owned(),
            },
        };
        frame.render_widget(Paragraph::new(Span::styled(format!("{name} {none}."), dim())), area);
        return;
    };
    let rows = usize::from(area.height).saturating_sub(1);
    let last_lines = log.lines.iter().skip(log.lines.len().saturating_sub(rows));
    let last = log.first + (log.lines.len() as u64).saturating_sub(1);
    let end = if last < log.total {
        format!("to line {last} of {}", log.total)
    } else {
        plural(usize::try_from(log.total).unwrap_or(usize::MAX), "line")
    };
    let mut lines = vec![Line::from(Span::styled(format!("{name} #{} · {end}", step.attempts), dim()))];
    lines.extend(last_lines.map(|line| {
        let parts = line.parts.iter().map(|part| {
            let style = if content.has_colours { part_style(&part.style) } else { Style::new() };
            Span::styled(part.text.replace('\t', "    "), style)
        });
        Line::from(parts.collect::<Vec<_>>())
    }));
    frame.render_widget(Paragraph::new(lines), area);
}

/// Returns the style of a part of a line, by the names that pages use.
fn part_style(names: &str) -> Style {
    names.split(' ').fold(Style::new(), |style, name| match name.split_once('-') {
        None => match name {
            "bold" => style.add_modifier(Modifier::BOLD),
            "italic" => style.add_modifier(Modifier::ITALIC),
            "underline" => style.add_modifier(Modifier::UNDERLINED),
            _ => style,
        },
        Some(("fg", colour)) => colour_of(colour).map_or(style, |colour| style.fg(colour)),
        Some(("bg", colour)) => colour_of(colour).map_or(style, |colour| style.bg(colour)),
        Some(_) => style,
    })
}

fn colour_of(name: &str) -> Option<Color> {
    let names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
    let (base, offset) = name.strip_prefix("bright-").map_or((name, 0), |base| (base, 8));
    let at = names.iter().position(|known| *known == base)?;
    Some(Color::Indexed(u8::try_from(at).ok()? + offset))
}

fn graph_lines(content: WatchContent<'_>) -> Vec<Line<'static>> {
    let layers = &content.run.layers;
    if layers.is_empty() {
        return vec![Line::from(
            "The plan is not drawn: it is too large, or is not valid any more. s shows the steps.",
        )];
    }
    let mut lines = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        if at > 0 {
            lines.push(Line::from(Span::styled("│", dim())));
        }
        let steps = layer.iter().flat_map(|step| {
            let word = Span::styled(format!("{} ", glyph(step.word)), content.style(step.word));
            [word, Span::raw(format!("{}   ", shown(&step.name)))]
        });
        lines.push(Line::from(steps.collect::<Vec<_>>()));
    }
    lines
}

fn request_lines(run: &WatchedRun) -> Vec<Line<'static>> {
    let short = run.run.get(..8).unwrap_or(&run.run);
    let lines = run.requests.iter().flat_map(|request| {
        let WatchedRequest { name, message, is_question, expires } = request;
        let wants = if *is_question { "an answer" } else { "approval" };
        let yes = if *is_question {
            format!("wf answer {short} {} --text TEXT", shown(name))
        } else {
            format!("wf approve {short} {}", shown(name))
        };
        let head = format!("{} waits for {wants}: {}", shown(name), shown(message));
        [
            Line::from(Span::styled(head, Style::new().add_modifier(Modifier::BOLD))),
            Line::from(format!("  {yes}")),
            Line::from(format!("  wf deny {short} {} --reason WHY", shown(name))),
            Line::from(Span::styled(format!("  expires {} UTC", moment(*expires)), dim())),
            Line::default(),
        ]
    });
    lines.collect()
}

fn help_lines() -> Vec<Line<'static>> {
    let lines = KEYS.iter().map(|(keys, about)| {
        Line::from(vec![
            Span::styled(format!("{keys:<9}"), Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(*about),
        ])
    });
    lines.collect()
}

fn foot_line(screen: &WatchScreen, columns: usize) -> Line<'static> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    if screen.asks_cancel {
        return Line::from(Span::styled(
            "Cancel the run? Its steps get SIGTERM, and its finally steps run. y n",
            bold,
        ));
    }
    if !screen.message.is_empty() {
        return Line::from(Span::styled(shown(&screen.message), bold));
    }
    let mut keys = String::new();
    for key in FOOT {
        let longer = if keys.is_empty() { key.to_owned() } else { format!("{keys} · {key}") };
        if longer.chars().count() > columns {
            break;
        }
        keys = longer;
    }
    Line::from(Span::styled(keys, dim()))
}
