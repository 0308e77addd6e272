//! Markers of texts that instruct a model instead of informing it.
//!
//! A text is matched as words: case, spacing, punctuation and invisible characters do not count.
//! **Invariant:** findings in base64 are reported once; nothing is decoded twice.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use crate::gate::guardrail::{
    detector::DetectorMatch,
    hidden::{is_selector, is_tag, tagged},
};

static SHAPES: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    let shapes = MARKERS.iter().map(|marker| {
        let shape = if marker.is_raw || !marker.pattern.is_ascii() {
            marker.pattern.to_owned()
        } else {
            format!(r"(?-u:\b)(?:{})(?-u:\b)", marker.pattern)
        };
        Regex::new(&shape).ok()
    });
    shapes.collect()
});

/// Finds markers, also in base64.
pub(in crate::gate::guardrail) fn search(text: &str, found: &mut Vec<DetectorMatch>) {
    found.extend(in_text(text));
    for (at, inner) in texts(text) {
        if let Some((intent, _)) = in_text(&inner).first() {
            found.push((intent, at));
        }
    }
}

fn in_text(text: &str) -> Vec<(&'static str, Range<usize>)> {
    let words = NormalizedText::of(text);
    let mut found = Vec::new();
    for (marker, shape) in MARKERS.iter().zip(SHAPES.iter()) {
        let Some(shape) = shape else { continue };
        if marker.is_raw {
            let seen = shape.find_iter(text);
            found.extend(seen.map(|seen| (marker.intent, seen.range())));
        } else {
            let seen = shape.find_iter(&words.text);
            let places = seen.filter_map(|seen| words.place(&seen.range()));
            found.extend(places.map(|place| (marker.intent, place)));
        }
    }
    found
}

/// A phrase addressed to a model and not to a reader.
pub struct InjectionMarker {
    /// The intent of the phrase.
    pub intent: &'static str,
    /// The phrase: a regular expression over words in lower case with single spaces between; or
    /// over the unchanged text.
    pub pattern: &'static str,
    /// True if it is matched against the unchanged text.
    pub is_raw: bool,
}

const fn words(intent: &'static str, pattern: &'static str) -> InjectionMarker {
    InjectionMarker { intent, pattern, is_raw: false }
}

const fn raw(intent: &'static str, pattern: &'static str) -> InjectionMarker {
    InjectionMarker { intent, pattern, is_raw: true }
}

const OVERRIDE: &str = "to override instructions";
const ROLE: &str = "to change the role";
const LEAK: &str = "to have instructions told";
const SECRECY: &str = "to keep something from the user";
const TEMPLATE: &str = "to forge a part of the conversation";

pub const MARKERS: &[InjectionMarker] = &[
    words(
        OVERRIDE,
        "(?:ignore|disregard|forget|override|bypass|do not follow|don t follow|do not obey|stop following) (?:(?:all|any|every|the|your|my|our|of|these|those|and) ){0,4}(?:previous|prior|above|preceding|earlier|foregoing|original|initial|existing|system)(?: (?:and|or|system|safety|user|developer|given)){0,2} (?:instructions?|prompts?|directions?|directives?|guidelines?|commands?|orders?)",
    ),
    words(
        OVERRIDE,
        "(?:ignore|disregard|forget) (?:all|any|your) (?:of )?(?:(?:the|your) )?(?:(?:previous|prior|above|safety|earlier) )?(?:rules|instructions|guidelines|programming|training)",
    ),
    words(
        OVERRIDE,
        "(?:ignore|disregard|forget) (?:everything|anything|all) (?:above|before this|you were told|you have been told|you know|that came before)",
    ),
    words(
        OVERRIDE,
        "your (?:new|real|true|actual) (?:instructions|task|goal|objective|purpose) (?:is|are) (?:to|now|as follows)",
    ),
    words(
        OVERRIDE,
        "(?:new|updated|real) system (?:prompt|instructions|message) (?:begins?|starts?|follows?)|(?:end of|end) system prompt|begin system prompt",
    ),
    words(
        OVERRIDE,
        "ignorier(?:e|en sie) (?:(?:alle|die|deine|ihre) ){0,2}(?:vorherigen|bisherigen|obigen|vorangegangenen|früheren) (?:anweisungen|instruktionen|befehle|regeln)",
    ),
    words(OVERRIDE, "ignor(?:a|e|ar) (?:todas )?(?:las )?instrucciones (?:anteriores|previas)"),
    words(
        OVERRIDE,
        "ignor(?:e|ez|er) (?:toutes )?(?:les )?(?:instructions|consignes) (?:précédentes|antérieures|ci dessus)",
    ),
    words(OVERRIDE, "ignora(?:re)? (?:tutte )?(?:le )?istruzioni precedenti"),
    words(OVERRIDE, "ignor(?:e|ar) (?:todas )?(?:as )?instruções (?:anteriores|prévias)"),
    words(OVERRIDE, "игнорируй(?:те)? (?:все )?(?:предыдущие|прошлые) (?:инструкции|указания)"),
    words(
        OVERRIDE,
        "(?:忽略|无视)(?:所有|全部)?(?:之前|以上|上述|前面|先前)(?:的)?(?:所有|全部)?(?:的)?(?:指令|指示|提示)",
    ),
    words(OVERRIDE, "(?:これまで|以前|上記|前)の(?:すべての|全ての)?(?:指示|命令)を(?:すべて|全て)?無視"),
    words(
        ROLE,
        "you are (?:now|from now on) (?:(?:an?|in|the) ){0,2}(?:dan|jailbroken|unrestricted|unfiltered|uncensored|developer mode|god mode)",
    ),
    words(ROLE, "(?:enter|enable|activate|switch to) (?:dan|god|jailbreak) mode"),
    words(
        ROLE,
        "you can do anything now|do anything now mode|act as (?:an? )?(?:unrestricted|unfiltered|uncensored|jailbroken)",
    ),
    words(
        ROLE,
        "(?:without|with no|no) (?:ethical|moral|safety) (?:restrictions|guidelines|filters|limits) (?:apply|whatsoever|or)",
    ),
    words(
        LEAK,
        "(?:reveal|print|show|repeat|output|disclose|leak|display|tell me|give me) (?:me )?(?:(?:your|the|all|entire|full|complete|hidden|exact|of) ){1,4}(?:system prompt|system message|initial prompt|initial instructions|system instructions|developer message)",
    ),
    words(LEAK, "repeat (?:all (?:of )?)?the (?:words|text) above"),
    words(
        SECRECY,
        "(?:do not|don t|never) (?:tell|inform|mention|reveal|alert|notify)(?: (?:this|it|that|any of this|about this|anything)){0,2}(?: (?:to|about this to))? (?:the|your) (?:user|human|operator)",
    ),
    words(SECRECY, "attention (?:all )?(?:ai|llm) (?:assistants?|models?|agents?)"),
    raw(
        TEMPLATE,
        r"(?i)<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text|end_of_text|end_of_turn)\|>",
    ),
    raw(TEMPLATE, r"\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>"),
    raw(TEMPLATE, r"(?i)</?(?:system_prompt|system-prompt|system-reminder|system_instructions)>"),
];

/// The place of an original character, in bytes.
#[derive(Clone, Copy)]
struct CharSpan {
    start: u32,
    end: u32,
}

/// A text as words: lower case, single spaces, no invisible characters.
#[derive(Default)]
struct NormalizedText {
    text: String,
    /// The original character, for each byte.
    spans: Vec<CharSpan>,
}

impl NormalizedText {
    fn of(text: &str) -> Self {
        let mut words =
            Self { text: String::with_capacity(text.len()), spans: Vec::with_capacity(text.len()) };
        let mut in_tags = false;
        for (at, c) in text.char_indices() {
            let place = CharSpan { start: narrow(at), end: narrow(at + c.len_utf8()) };
            if is_tag(c) != in_tags {
                in_tags = !in_tags;
                words.space(place);
            }
            let c = if is_tag(c) { tagged(c) } else { Some(c) };
            match c.map(plain) {
                None => {}
                Some(c) if is_unseen(c) => {}
                Some(c) if c.is_alphanumeric() => {
                    for lower in c.to_lowercase() {
                        words.push(lower, place);
                    }
                }
                Some(_) => words.space(place),
            }
        }
        words
    }

    fn space(&mut self, span: CharSpan) {
        if !self.text.ends_with(' ') && !self.text.is_empty() {
            self.push(' ', span);
        }
    }

    fn push(&mut self, c: char, span: CharSpan) {
        self.text.push(c);
        self.spans.resize(self.text.len(), span);
    }

    /// Returns the original range of a part of the words, in bytes.
    fn place(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let start = self.spans.get(part.start)?.start;
        let end = self.spans.get(part.end.checked_sub(1)?)?.end;
        Some(start as usize..end as usize)
    }
}

fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Maps full-width letters to the plain ones.
fn plain(c: char) -> char {
    match u32::from(c) {
        code @ 0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0).unwrap_or(c),
        _ => c,
    }
}

fn is_unseen(c: char) -> bool {
    is_selector(c)
        || matches!(u32::from(c),
            0xAD | 0x034F | 0x061C | 0x180E | 0x200B..=0x200F | 0x202A..=0x202E
            | 0x2060..=0x206F | 0xFEFF)
}

/// The minimum length of base64 to be decoded, and the maximum decoded, in bytes.
const LEAST: usize = 32;
const MOST: usize = 64 * 1024;

/// Returns the texts in the base64 of a text, with their ranges; the beginning of long ones.
fn texts(text: &str) -> Vec<(Range<usize>, String)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = run(bytes, at);
        let signs = bytes.get(at..end).unwrap_or_default();
        if signs.len() >= LEAST
            && let Some(inner) = decoded(signs.get(..signs.len().min(MOST)).unwrap_or_default())
        {
            found.push((at..end, inner));
        }
        at = end.max(at) + 1;
    }
    found
}

/// Returns the end of a run of base64 characters, which may be broken into long lines.
fn run(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut line = start;
    loop {
        while bytes.get(at).is_some_and(|byte| sign(*byte).is_some()) {
            at += 1;
        }
        let long = at - line >= 60;
        let next = if bytes.get(at) == Some(&b'\r') { at + 1 } else { at };
        let goes_on =
            bytes.get(next) == Some(&b'\n') && bytes.get(next + 1).is_some_and(|byte| sign(*byte).is_some());
        if !(long && goes_on) {
            return at;
        }
        at = next + 1;
        line = at;
    }
}

fn sign(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Decodes base64 or base64url; `None`: it is not text.
fn decoded(signs: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(signs.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0_u32, 0);
    for value in signs.iter().filter_map(|byte| sign(*byte)) {
        bits = (bits << 6 | value) & 0xFF_FFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xFF).ok()?);
        }
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // It may have been cut within a character.
        Err(error) if error.utf8_error().valid_up_to() + 4 > error.as_bytes().len() => {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
        Err(_) => return None,
    };
    let is_odd = |c: &char| c.is_control() && !c.is_whitespace();
    (!text.chars().any(|c| is_odd(&c))).then_some(text)
}
