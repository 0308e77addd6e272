use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::auditor::{Ended, Start};
use super::fill::Past;
use super::log::{Log, Turn};
use super::record::{Entry, Record};
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
    pub(super) fn open(start: &Start, log: &mut Log, window: &mut Window) -> io::Result<Self> {
        let process = Process::current();
        let mut me = Session { n: 0, process };
        let now = start.clock.now();
        let begun = (log.ledger.n == 0).then(|| begun(&start.state));
        log.add(&mut |record| window.add(record), |turn| {
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
    pub(super) fn write(&mut self, log: &mut Log, window: &mut Window) {
        let force = std::mem::take(&mut self.held);
        let written = log.add(&mut |record| window.add(record), |turn| {
            self.put(turn, force);
        });
        self.note(written);
        if window.is_over(self.length) {
            let report = window.report(Trigger::Periodic, Some(self.me.n));
            let entry = Entry::new(self.clock.now(), REPORT).about(&report);
            let written = log.add(&mut |record| window.add(record), |turn| turn.add(entry));
            self.note(written);
        }
    }

    /// Writes what is left, a report on it, and that this was all.
    pub(super) fn close(mut self, log: &mut Log, window: &mut Window) -> Ended {
        let written = log.add(&mut |record| window.add(record), |turn| {
            self.put(turn, true);
            self.settle(turn, None);
        });
        self.note(written);
        let window = RefCell::new(window);
        crash::point("audit.before");
        let mut see = |record: &Record| window.borrow_mut().add(record);
        let now = self.clock.now();
        let written = log.add(&mut see, |turn| {
            if window.borrow().is_worth_telling() {
                let report = window.borrow().report(Trigger::End, Some(self.me.n));
                turn.add(Entry::new(now, REPORT).about(&report));
            }
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
    /// says that they died. Whoever lives writes its own.
    fn settle(&mut self, turn: &mut Turn<'_>, before: Option<u64>) {
        let others: Vec<Session> = turn.ledger().open.clone();
        let others = others.into_iter().filter(|session| session.n != self.me.n);
        let (dead, living): (Vec<Session>, Vec<Session>) = others.partition(is_dead);
        if before.is_some() || living.is_empty() {
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
