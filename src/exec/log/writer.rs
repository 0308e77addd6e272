use std::fs;
use std::io;
use std::path::Path;

use super::{Stream, Target, cursor::Cursor, lines::Lines, segment::Segment, target};
use crate::exec::ends::Last;
use crate::exec::supervise::Sink;
use crate::exec::{Ends, OnOutput, Unable};
use crate::mask;

/// Writes the log of one attempt and shows it to whoever watches.
pub struct Writer {
    streams: [Channel; 2],
    disk: Disk,
    on_output: Option<OnOutput>,
    last: Last,
}

/// What a log kept.
#[derive(Debug)]
pub struct Written {
    /// How many bytes, if it could be kept.
    pub logged: Result<u64, Unable>,
    /// The end of both streams, masked.
    pub ends: Ends,
}

/// One stream on its way: first masked, then cut at line ends.
struct Channel {
    stream: Stream,
    mask: mask::Stream,
    lines: Lines,
}

/// The files: a head, then two ends in turn, of which the older is dropped when the newer is
/// full.
struct Disk {
    target: Target,
    head: Option<Segment>,
    newer: Option<Segment>,
    older: u64,
    dropped: u64,
    broken: Option<io::Error>,
}

impl Writer {
    /// Nothing is written, or made, yet.
    pub fn new(target: Target, on_output: Option<OnOutput>) -> Self {
        let channel = |stream| Channel {
            stream,
            mask: target.mask.stream(),
            lines: Lines::default(),
        };
        Self {
            streams: [channel(Stream::Out), channel(Stream::Err)],
            disk: Disk::new(target),
            on_output,
            last: Last::default(),
        }
    }

    /// The streams, and where what comes out of them goes.
    fn split(&mut self) -> (&mut [Channel; 2], Takers<'_>) {
        let takers = Takers {
            disk: &mut self.disk,
            on_output: &mut self.on_output,
            last: &mut self.last,
        };
        (&mut self.streams, takers)
    }

    /// Writes what is left and puts the parts together.
    pub fn finish(mut self) -> Written {
        let (streams, mut to) = self.split();
        for Channel {
            stream,
            mask,
            lines,
        } in streams
        {
            let mut give = |bytes: &[u8]| to.give(*stream, bytes);
            lines.push(&mask.finish(), &mut give);
            lines.flush(&mut give);
        }
        Written {
            logged: self.disk.close(),
            ends: self.last.ends(),
        }
    }
}

/// Where masked bytes go.
struct Takers<'w> {
    disk: &'w mut Disk,
    on_output: &'w mut Option<OnOutput>,
    last: &'w mut Last,
}

impl Takers<'_> {
    fn give(&mut self, stream: Stream, bytes: &[u8]) {
        self.disk.write(stream, bytes);
        self.last.take(stream, bytes);
        if let Some(show) = self.on_output {
            show(stream, bytes);
        }
    }
}

impl Sink for Writer {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let (streams, mut to) = self.split();
        let channel = streams.iter_mut().find(|known| known.stream == stream);
        let mut give = |bytes: &[u8]| to.give(stream, bytes);
        match channel {
            Some(Channel { mask, lines, .. }) => lines.push(&mask.feed(bytes), &mut give),
            None => give(bytes),
        }
    }

    fn holds(&self) -> bool {
        self.disk.is_unsettled() || self.streams.iter().any(|channel| channel.lines.holds())
    }

    fn quiet(&mut self) {
        let (streams, mut to) = self.split();
        for Channel { stream, lines, .. } in streams {
            lines.flush(&mut |bytes| to.give(*stream, bytes));
        }
        self.disk.settle();
    }
}

impl Disk {
    fn new(target: Target) -> Self {
        Self {
            target,
            head: None,
            newer: None,
            older: 0,
            dropped: 0,
            broken: None,
        }
    }

    /// After the first failure nothing more is written; the end tells.
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        if self.broken.is_none() {
            self.broken = self.try_write(stream, bytes).err();
        }
    }

    fn segments(&mut self) -> impl Iterator<Item = &mut Segment> {
        self.head.iter_mut().chain(&mut self.newer)
    }

    fn is_unsettled(&self) -> bool {
        self.broken.is_none()
            && self
                .head
                .iter()
                .chain(&self.newer)
                .any(Segment::is_unsettled)
    }

    fn settle(&mut self) {
        let settled = self.segments().try_for_each(Segment::settle);
        if let Err(error) = settled {
            self.broken.get_or_insert(error);
        }
    }

    fn try_write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let at = self.target.clock.now();
        let half = self.target.limit / 2;
        let head = open(&mut self.head, &self.target.path, half)?;
        let room = half.saturating_sub(head.length());
        let (first, mut rest) = bytes.split_at(bytes.len().min(to_usize(room)));
        if !first.is_empty() {
            head.append(stream, at, first)?;
        }
        // Rounded up, so that a log that just fits is kept whole.
        let quarter = (self.target.limit - half).div_ceil(2).max(1);
        let [older, newer] = target::ends(&self.target.path);
        // What would be written only to be dropped again is not written.
        let skipped = rest.len().saturating_sub(to_usize(2 * quarter));
        self.dropped += skipped as u64;
        rest = rest.split_at(skipped).1;
        if !rest.is_empty() && self.newer.is_none() {
            // It is full, and those who follow it are to see all of it.
            head.settle()?;
        }
        while !rest.is_empty() {
            let end = open(&mut self.newer, &newer, quarter)?;
            let room = quarter.saturating_sub(end.length());
            let (now, later) = rest.split_at(rest.len().min(to_usize(room)));
            end.append(stream, at, now)?;
            rest = later;
            if !rest.is_empty() {
                end.settle()?;
                self.dropped += std::mem::replace(&mut self.older, end.length());
                self.newer = None;
                fs::rename(&newer, &older)?;
                fs::rename(target::index(&newer), target::index(&older))?;
            }
        }
        Ok(())
    }

    fn close(mut self) -> Result<u64, Unable> {
        self.settle();
        let joined = match self.broken.take() {
            Some(error) => Err(error),
            None => self.join(),
        };
        joined.map_err(|error| {
            let path = self.target.path.display();
            Unable::environmental(format!("cannot keep the log in {path}: {error}"))
        })
    }

    /// Puts the end behind the head.
    fn join(&mut self) -> io::Result<u64> {
        let Some(head) = &mut self.head else {
            return Ok(0);
        };
        if self.newer.take().is_none() {
            return Ok(head.length());
        }
        if self.dropped > 0 {
            let note = left_out(&format!("{} bytes", self.dropped));
            head.append(Stream::Note, self.target.clock.now(), note.as_bytes())?;
        }
        let ends = target::ends(&self.target.path);
        for end in ends.iter().skip(usize::from(self.older == 0)) {
            if let Some(mut cursor) = Cursor::open(end)? {
                while let Some(chunk) = cursor.any()? {
                    head.append(chunk.stream, chunk.at, &chunk.bytes)?;
                }
                fs::remove_file(end)?;
                fs::remove_file(target::index(end))?;
            }
        }
        head.settle()?;
        Ok(head.length())
    }
}

/// The note where something is missing.
pub(super) fn left_out(what: &str) -> String {
    format!("\n… {what} left out …\n")
}

fn open<'a>(slot: &'a mut Option<Segment>, path: &Path, limit: u64) -> io::Result<&'a mut Segment> {
    match slot {
        Some(open) => Ok(open),
        None => Ok(slot.insert(Segment::create(path, limit)?)),
    }
}

fn to_usize(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
