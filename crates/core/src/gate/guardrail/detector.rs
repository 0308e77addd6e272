use std::ops::Range;

use super::{card, email, hidden, iban, injection, secrets};

/// A detector of one kind of content.
pub struct Detector {
    /// The name, as gates use it.
    pub name: &'static str,
    /// The description of its findings, for the user.
    pub finds: &'static str,
    /// The description of its exceptions, for the user.
    pub exceptions: &'static str,
    search: fn(&str, &mut Vec<DetectorMatch>),
}

/// A finding in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectorFinding {
    /// The name of the detector.
    pub detector: &'static str,
    /// The kind of content.
    pub kind: &'static str,
    /// The range in bytes, on character boundaries.
    pub range: Range<usize>,
}

pub(super) type DetectorMatch = (&'static str, Range<usize>);

pub const DETECTORS: &[Detector] = &[
    Detector {
        name: "secrets",
        finds: "private keys, the tokens of the table below, passwords in URLs, and random values \
                assigned to a name that contains one of the words below",
        exceptions: "public keys, placeholders, references to variables, identifiers and paths",
        search: secrets::search,
    },
    Detector {
        name: "email",
        finds: "e-mail addresses",
        exceptions: "names reserved for examples, remote repositories, file names",
        search: email::search,
    },
    Detector {
        name: "card",
        finds: "payment card numbers: a prefix and length of the table below, with a valid check \
                digit",
        exceptions: "numbers inside longer words and numbers, and those grouped differently than on \
                 cards",
        search: card::search,
    },
    Detector {
        name: "iban",
        finds: "bank account numbers: a country and its length of the table below, with valid \
                check digits",
        exceptions: "numbers inside longer words",
        search: iban::search,
    },
    Detector {
        name: "hidden_unicode",
        finds: "invisible characters that programs and models read: bidirectional controls, \
                zero-width spaces and joiners, tags, fillers, runs of variation selectors",
        exceptions: "joiners of emoji and of scripts that need them, flags, single variation selectors \
                 after their base character, directional marks next to right-to-left text, soft \
                 hyphens in words, a byte order mark at the start",
        search: hidden::search,
    },
    Detector {
        name: "injection",
        finds: "the markers of the table below, regardless of case and spacing, also in HTML \
                comments, invisible tags and base64",
        exceptions: "everything phrased differently: passing this list does not prove that a text is \
                 safe",
        search: injection::search,
    },
];

pub fn is_detector(name: &str) -> bool {
    DETECTORS.iter().any(|detector| detector.name == name)
}

/// Returns the findings of detectors in a text, by position. Different detectors may overlap.
pub fn find(detectors: &[String], text: &str) -> Vec<DetectorFinding> {
    let mut findings = Vec::new();
    let active = DETECTORS.iter().filter(|detector| detectors.iter().any(|name| name == detector.name));
    for detector in active {
        let mut found = Vec::new();
        (detector.search)(text, &mut found);
        found.sort_by(|(_, a), (_, b)| (a.start, b.end).cmp(&(b.start, a.end)));
        // A range found twice is one finding.
        found.dedup_by(|(_, next), (_, last)| {
            let overlaps = next.start < last.end;
            if overlaps {
                last.end = last.end.max(next.end);
            }
            overlaps
        });
        findings.extend(found.into_iter().map(|(kind, at)| DetectorFinding {
            detector: detector.name,
            kind,
            range: at,
        }));
    }
    findings.sort_by(|a, b| (a.range.start, b.range.end).cmp(&(b.range.start, a.range.end)));
    findings
}
