use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::auditor::{Ended, Start};
use super::fill::Past;
use super::log::{Log, Turn};
use super::record::Entry;
use super::stats::{Trigger, Window};
use super::summary;
use super::words::{
    BEGUN, Begun, CLOSED, CONFIRMED, Confirmed, FOUND_DEAD, LOST, Lost, OPENED, REPORT, REWOUND,
    Rewound, Session, Shift,
};
use crate::bus::{Bound, Heard, Message};
use crate::crash;
use crate::store::{Process, Reader, Seen};
use crate::time::Clock;

/// How much of the log is read before anything is written, in bytes, so that what is written need not
/// be read for a report. More is left until one is due.
const NEAR: u64 = 16 * 1024;

/// What an auditor has heard and not yet written, and what it needs to write it.
pub(super) struct Desk {
    clock: Arc<dyn Clock>,
    length: Duration,
    /// Itself: the number of the record by which it opened, and its process.
    me: Session,
    past: Past,
    events: Vec<Message>,
    acts: Vec<Message>,
    lost: u64,
    ended: Ended,
    /// Whether the dead were looked for.
    settled: bool,
    /// Whether the events at hand have waited once for what is missing before them.
    held: bool,
}

impl Desk {
    /// Writes down that somebody watches.
    pub(super) fn open(start: &Start, log: &mut Log) -> io::Result<Self> {
        let process = Process::current();
        let mut me = Session { n: 0, process };
        let now = start.clock.now();
        let begun = (log.ledger().n == 0).then(|| begun(&start.state));
        log.add(|turn| {
            if turn.unread() <= NEAR {
                // If that fails, so will what is due.
                let _ = turn.window();
            }
            if turn.ledger().n == 0 {
                turn.add(Entry::new(now, BEGUN).about(&begun.unwrap_or(Begun { end: None })));
            }
            me.n = turn.ledger().n + 1;
            let mut open = turn.ledger().open.clone();
            open.push(me.clone());
            turn.add(Entry::new(now, OPENED).about(&shift(turn, &me, me.n, open)));
        })?;
        Ok(Self {
            clock: Arc::clone(&start.clock),
            length: start.window,
            past: Past::new(start.state.clone(), me.n),
            me,
            events: Vec::new(),
            acts: Vec::new(),
            lost: 0,
            ended: Ended::default(),
            settled: false,
            held: false,
        })
    }

    /// Takes what was heard.
    pub(super) fn hear(&mut self, heard: Vec<Heard>) {
        for one in heard {
            match one {
                Heard::Message(message) if message.bound().is_some() => self.events.push(message),
                Heard::Message(message) => self.acts.push(message),
                Heard::Lost(count) => self.lost += count,
            }
        }
        self.events.sort_by_key(Message::bound);
    }

    /// Opens what will be read when all has ended: as long as the store is open, that is cheap,
    /// and nobody waits for it.
    pub(super) fn get_ready(&mut self) {
        self.past.get_ready();
    }

    /// Whether events wait for what is missing before them.
    pub(super) fn holds(&self) -> bool {
        self.held
    }

    /// Writes what was heard. What follows a gap waits once: another process may fill it.
    pub(super) fn write(&mut self, log: &mut Log) {
        let force = std::mem::take(&mut self.held);
        let written = self.attempt(log, |desk, turn| desk.put(turn, force));
        self.note(written);
        if log.spans(self.length) {
            let length = self.length;
            let written = log.add(|turn| {
                self.report(turn, Trigger::Periodic, |window| window.is_over(length));
            });
            self.note(written);
        }
    }

    /// Writes something. What was heard and could not be written, on a full disk say, is lost: it is
    /// read in the database, and the log says why once it can be written again.
    fn attempt(
        &mut self,
        log: &mut Log,
        write: impl FnOnce(&mut Self, &mut Turn<'_>),
    ) -> io::Result<()> {
        let heard = |desk: &Self| (desk.events.len() + desk.acts.len()) as u64;
        let (had, lost, told) = (heard(self), self.lost, self.ended.lost);
        let written = log.add(|turn| write(self, turn));
        if written.is_err() {
            self.lost = lost + had.saturating_sub(heard(self));
            self.ended.lost = told;
        }
        written
    }

    /// Writes what is left, a report on it, and that this was all. Who could not write all that it
    /// heard does not say so: whoever comes next finds it dead, and reads what is missing.
    pub(super) fn close(mut self, log: &mut Log) -> Ended {
        let written = self.attempt(log, |desk, turn| {
            desk.put(turn, true);
            desk.settle(turn, None);
        });
        let failed = written.is_err();
        self.note(written);
        if failed {
            return self.ended;
        }
        crash::point("audit.before");
        let now = self.clock.now();
        let written = log.add(|turn| {
            self.report(turn, Trigger::End, Window::is_worth_telling);
            let mut open = turn.ledger().open.clone();
            open.retain(|session| session.n != self.me.n);
            let mut shift = shift(turn, &self.me, self.me.n, open);
            shift.lost = self.ended.lost;
            turn.add(Entry::new(now, CLOSED).about(&shift));
        });
        crash::point("audit.after");
        self.note(written);
        self.ended
    }

    /// Adds a report, if the window is one to report on.
    fn report(&mut self, turn: &mut Turn<'_>, trigger: Trigger, due: impl Fn(&Window) -> bool) {
        match turn.window() {
            Ok(window) if due(window) => {
                let report = window.report(trigger, Some(self.me.n));
                turn.add(Entry::new(self.clock.now(), REPORT).about(&report));
            }
            Ok(_) => {}
            Err(error) => self.note(Err(error)),
        }
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.ended.trouble = Some(error.to_string());
        }
    }

    fn put(&mut self, turn: &mut Turn<'_>, force: bool) {
        if !self.settled {
            let first = self.events.first().and_then(Message::bound);
            if let Some(first) = first {
                self.settle(turn, Some(first.seq));
            }
        }
        let mut confirmed = Vec::new();
        let mut events = std::mem::take(&mut self.events).into_iter();
        while let Some(message) = events.next() {
            let Some(at) = message.bound() else { continue };
            let reached = turn.ledger().seq;
            if at.seq <= reached && turn.ledger().unconfirmed.get(&at.seq) == Some(&at.hash) {
                confirmed.push(at.seq);
                continue;
            }
            if at.seq > reached + 1 && !force {
                self.held = true;
                self.events = std::iter::once(message).chain(events).collect();
                break;
            }
            self.reach(turn, at);
            turn.add(summary::of_message(&message));
        }
        self.tell(turn, confirmed);
    }

    /// Makes the log reach to just before an event: adds what is missing, or says that the
    /// database went back.
    fn reach(&mut self, turn: &mut Turn<'_>, to: Bound) {
        let from = turn.ledger().seq;
        if to.seq > from {
            self.past.fill(turn, Some(to.seq), false);
        } else {
            let to = to.seq.saturating_sub(1);
            let at = self.clock.now();
            turn.add(Entry::new(at, REWOUND).about(&Rewound { from, to }));
        }
    }

    /// Adds what happened besides events.
    fn tell(&mut self, turn: &mut Turn<'_>, seqs: Vec<u64>) {
        let now = self.clock.now();
        if !seqs.is_empty() {
            turn.add(Entry::new(now, CONFIRMED).about(&Confirmed { seqs }));
        }
        for act in self.acts.drain(..) {
            turn.add(summary::of_message(&act));
        }
        let messages = std::mem::take(&mut self.lost);
        if messages > 0 {
            self.ended.lost += messages;
            let auditor = self.me.n;
            turn.add(Entry::new(now, LOST).about(&Lost { auditor, messages }));
        }
    }

    /// Adds what others left unwritten when they died, up to an event that this one heard of, and
    /// says that they died. Whoever lives writes its own; at the end it is enough that one does:
    /// who ends last looks at all.
    fn settle(&mut self, turn: &mut Turn<'_>, before: Option<u64>) {
        let others = turn.ledger().open.clone().into_iter();
        let (mut dead, mut lives) = (Vec::new(), false);
        for session in others.filter(|session| session.n != self.me.n) {
            if is_dead(&session) {
                dead.push(session);
                continue;
            }
            lives = true;
            if before.is_none() {
                break;
            }
        }
        if before.is_some() || !lives {
            self.past.fill(turn, before, !self.settled);
        }
        self.settled = true;
        for session in dead {
            let mut open = turn.ledger().open.clone();
            open.retain(|other| other.n != session.n);
            let shift = shift(turn, &self.me, session.n, open);
            turn.add(Entry::new(self.clock.now(), FOUND_DEAD).about(&shift));
        }
        if let Some(trouble) = self.past.trouble() {
            self.ended.trouble = Some(trouble);
        }
    }
}

fn is_dead(session: &Session) -> bool {
    matches!(session.process.seen(), Seen::Gone | Seen::OtherBoot)
}

fn shift(turn: &Turn<'_>, me: &Session, auditor: u64, open: Vec<Session>) -> Shift {
    Shift {
        auditor,
        open,
        seq: turn.ledger().seq,
        boot: me.process.boot.clone(),
        lost: 0,
    }
}

/// What is in the database when a log begins.
pub(super) fn begun(state: &Path) -> Begun {
    let end = Reader::open(state)
        .ok()
        .and_then(|reader| reader.end().ok());
    Begun {
        end: end.flatten().map(|end| Bound {
            seq: end.seq,
            hash: end.hash,
        }),
    }
}
