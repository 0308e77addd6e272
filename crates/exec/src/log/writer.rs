//! The writing of a log: masked, bounded, and passed on to an observer.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use wf_base::redact::SecretMask;
use wf_model::EngineFailure;

use super::{
    LogStream, LogTarget,
    cursor::LogCursor,
    lines::LineBuffer,
    runtime_masks::{MaskChain, NewMasks, RuntimeMasks},
    segment::LogSegment,
    target,
};
use crate::{
    OnOutput,
    processes::{
        supervise::OutputSink,
        tails::{StreamTails, TailCollector},
    },
    work_error::WorkError,
};

/// Writes the log of one attempt and passes its output to an observer.
pub struct LogWriter {
    channels: [LogChannel; 2],
    files: LogFiles,
    on_output: Option<OnOutput>,
    tail: TailCollector,
    /// The values the attempt wants to be masked, if it can say so.
    masks: Option<RuntimeMasks>,
}

/// The summary of a log.
#[derive(Debug)]
pub struct LogSummary {
    /// The number of bytes, if they could be written.
    pub logged: Result<u64, WorkError>,
    /// The tails of both streams, masked.
    pub tails: StreamTails,
}

/// One stream on its way: masked, then split into lines.
struct LogChannel {
    stream: LogStream,
    mask: MaskChain,
    lines: LineBuffer,
}

/// The files: a head, then two alternating ends; the older one is dropped when the newer one is
/// full.
struct LogFiles {
    target: LogTarget,
    head_segment: Option<LogSegment>,
    newer_segment: Option<LogSegment>,
    older: u64,
    dropped: u64,
    broken: Option<io::Error>,
}

impl LogWriter {
    /// Creates a writer; no file is created yet.
    pub fn new(target: LogTarget, on_output: Option<OnOutput>) -> Self {
        let channel =
            |stream| LogChannel { stream, mask: MaskChain::new(&target.mask), lines: LineBuffer::default() };
        Self {
            channels: [channel(LogStream::Out), channel(LogStream::Err)],
            files: LogFiles::new(target),
            on_output,
            tail: TailCollector::default(),
            masks: None,
        }
    }

    /// Masks, too, the values the attempt writes to its output file to be masked, from then on.
    #[must_use]
    pub fn with_masks_of(self, output: PathBuf) -> Self {
        Self { masks: Some(RuntimeMasks::new(output)), ..self }
    }

    /// Returns the mask of the values the attempt wrote to be masked, once it has ended.
    pub fn runtime_mask(&mut self) -> SecretMask {
        self.look_for_masks(true);
        self.masks.as_ref().map(RuntimeMasks::mask).unwrap_or_default()
    }

    fn look_for_masks(&mut self, takes_all: bool) {
        let Some(NewMasks { mask, weak }) = self.masks.as_mut().and_then(|wanted| wanted.look(takes_all))
        else {
            return;
        };
        for channel in &mut self.channels {
            channel.mask.extend(&mask);
        }
        if weak > 0 {
            let note = "… a value after `mask=` is too short or too common, and stays visible …\n";
            self.split().1.write_masked(LogStream::Note, note.as_bytes());
        }
    }

    /// Returns the streams and the destinations of their output.
    fn split(&mut self) -> (&mut [LogChannel; 2], LogDestinations<'_>) {
        let takers =
            LogDestinations { files: &mut self.files, on_output: &mut self.on_output, tail: &mut self.tail };
        (&mut self.channels, takers)
    }

    /// Writes bytes that did not come from a process, and lets readers see them.
    pub fn write(&mut self, stream: LogStream, bytes: &[u8]) {
        self.on_bytes(stream, bytes);
        self.on_idle();
    }

    /// Writes the remaining bytes and joins the parts.
    pub fn finish(mut self) -> LogSummary {
        let (streams, mut to) = self.split();
        for LogChannel { stream, mask, lines } in streams {
            let mut give = |bytes: &[u8]| to.write_masked(*stream, bytes);
            lines.push(&mask.finish(), &mut give);
            lines.flush(&mut give);
        }
        LogSummary { logged: self.files.close(), tails: self.tail.ends() }
    }
}

/// The destinations of masked bytes.
struct LogDestinations<'w> {
    files: &'w mut LogFiles,
    on_output: &'w mut Option<OnOutput>,
    tail: &'w mut TailCollector,
}

impl LogDestinations<'_> {
    fn write_masked(&mut self, stream: LogStream, bytes: &[u8]) {
        self.files.write(stream, bytes);
        self.tail.add_bytes(stream, bytes);
        if let Some(show) = self.on_output {
            show(stream, bytes);
        }
    }
}

impl OutputSink for LogWriter {
    fn on_bytes(&mut self, stream: LogStream, bytes: &[u8]) {
        self.look_for_masks(false);
        let (streams, mut to) = self.split();
        let channel = streams.iter_mut().find(|known| known.stream == stream);
        let mut give = |bytes: &[u8]| to.write_masked(stream, bytes);
        match channel {
            Some(LogChannel { mask, lines, .. }) => lines.push(&mask.feed(bytes), &mut give),
            None => give(bytes),
        }
    }

    fn has_pending(&self) -> bool {
        self.files.is_unsettled() || self.channels.iter().any(|channel| channel.lines.holds())
    }

    fn on_idle(&mut self) {
        let (streams, mut to) = self.split();
        for LogChannel { stream, lines, .. } in streams {
            lines.flush(&mut |bytes| to.write_masked(*stream, bytes));
        }
        self.files.settle();
    }
}

impl LogFiles {
    fn new(target: LogTarget) -> Self {
        Self { target, head_segment: None, newer_segment: None, older: 0, dropped: 0, broken: None }
    }

    /// Stops writing after the first failure, which is reported at the end.
    fn write(&mut self, stream: LogStream, bytes: &[u8]) {
        if self.broken.is_none() {
            self.broken = self.try_write(stream, bytes).err();
        }
    }

    fn segments(&mut self) -> impl Iterator<Item = &mut LogSegment> {
        self.head_segment.iter_mut().chain(&mut self.newer_segment)
    }

    fn is_unsettled(&self) -> bool {
        self.broken.is_none()
            && self.head_segment.iter().chain(&self.newer_segment).any(LogSegment::is_index_behind)
    }

    fn settle(&mut self) {
        let settled = self.segments().try_for_each(LogSegment::flush_index);
        if let Err(error) = settled {
            self.broken.get_or_insert(error);
        }
    }

    fn try_write(&mut self, stream: LogStream, bytes: &[u8]) -> io::Result<()> {
        let at = self.target.clock.now();
        let half = self.target.limit / 2;
        let head = open(&mut self.head_segment, &self.target.path, half)?;
        let room = half.saturating_sub(head.length());
        let (first, mut rest) = bytes.split_at(bytes.len().min(to_usize(room)));
        if !first.is_empty() {
            head.append(stream, at, first)?;
        }
        // Rounded up, so that a log that just fits is kept completely.
        let quarter = (self.target.limit - half).div_ceil(2).max(1);
        let [older, newer] = target::end_paths(&self.target.path);
        // Bytes that would be dropped at once are not written.
        let skipped = rest.len().saturating_sub(to_usize(2 * quarter));
        self.dropped += skipped as u64;
        rest = rest.split_at(skipped).1;
        if !rest.is_empty() && self.newer_segment.is_none() {
            // The head is full, and its followers must see all of it.
            head.flush_index()?;
        }
        while !rest.is_empty() {
            let end = open(&mut self.newer_segment, &newer, quarter)?;
            let room = quarter.saturating_sub(end.length());
            let (now, later) = rest.split_at(rest.len().min(to_usize(room)));
            end.append(stream, at, now)?;
            rest = later;
            if !rest.is_empty() {
                end.flush_index()?;
                self.dropped += std::mem::replace(&mut self.older, end.length());
                self.newer_segment = None;
                fs::rename(&newer, &older)?;
                fs::rename(target::index(&newer), target::index(&older))?;
            }
        }
        Ok(())
    }

    fn close(mut self) -> Result<u64, WorkError> {
        self.settle();
        let joined = match self.broken.take() {
            Some(error) => Err(error),
            None => self.join(),
        };
        joined.map_err(|error| {
            let path = self.target.path.display();
            WorkError::engine(EngineFailure::Setup, format!("cannot write the log to {path}: {error}"))
        })
    }

    /// Appends the end to the head.
    fn join(&mut self) -> io::Result<u64> {
        let Some(head) = &mut self.head_segment else {
            return Ok(0);
        };
        if self.newer_segment.take().is_none() {
            return Ok(head.length());
        }
        if self.dropped > 0 {
            let note = omission_note(&format!("{} bytes", self.dropped));
            head.append(LogStream::Note, self.target.clock.now(), note.as_bytes())?;
        }
        let ends = target::end_paths(&self.target.path);
        for end in ends.iter().skip(usize::from(self.older == 0)) {
            if let Some(mut cursor) = LogCursor::open(end)? {
                while let Some(chunk) = cursor.any()? {
                    head.append(chunk.stream, chunk.at, &chunk.bytes)?;
                }
                fs::remove_file(end)?;
                fs::remove_file(target::index(end))?;
            }
        }
        head.flush_index()?;
        Ok(head.length())
    }
}

/// Returns the note about omitted output.
pub(super) fn omission_note(part: &str) -> String {
    format!("\n… {part} omitted …\n")
}

fn open<'a>(segment: &'a mut Option<LogSegment>, path: &Path, limit: u64) -> io::Result<&'a mut LogSegment> {
    match segment {
        Some(open) => Ok(open),
        None => Ok(segment.insert(LogSegment::create(path, limit)?)),
    }
}

fn to_usize(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
