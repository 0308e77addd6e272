//! How fast secrets are masked, beside the least it can cost (finding line ends, copying) and
//! beside the automaton of all forms alone. All are measured in the same run, in turns, so that
//! a busy machine disturbs the ratios little.
//!
//! Run with `cargo bench --bench mask`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark reads the clock and prints"
)]

use std::{hint::black_box, time::Instant};

use aho_corasick::AhoCorasick;
use wf_base::redact::SecretMask;

/// How often each is measured; the fastest counts, since others use the machine too.
const ROUNDS: usize = 7;

/// What a pipe gives at once.
const CHUNK: usize = 64 * 1024;

/// How much text.
const SIZE: usize = 64 * 1024 * 1024;

fn main() {
    let mut random = Random(42);
    let texts = [("log lines", log_lines(&mut random)), ("base64", digits(&mut random))];
    println!(
        "{:<10} {:>8} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "text", "secrets", "forms", "mask", "built in", "automaton", "built in", "memchr", "copy"
    );
    for (name, text) in &texts {
        for count in [0, 1, 10, 100] {
            let secrets: Vec<String> = (0..count).map(|at| secret(at, &mut random)).collect();
            row(name, text, &secrets);
        }
    }
    leaky(&mut random);
}

/// Measures one text with some secrets.
fn row(name: &str, text: &[u8], secrets: &[String]) {
    let all = || secrets.iter().map(String::as_str);
    let (mask, built) = timed(|| SecretMask::new(all()));
    let forms = wf_base::redact::forms(all());
    let (automaton, took) = timed(|| AhoCorasick::new(&forms).expect("they fit"));
    let mut best = [0.0_f64; 4];
    for _ in 0..ROUNDS {
        let speeds = [
            speed(text, || masked(&mask, text)),
            speed(text, || text.chunks(CHUNK).map(|chunk| automaton.find_iter(chunk).count()).sum()),
            speed(text, || memchr::memchr_iter(b'\n', text).count()),
            speed(text, || text.chunks(CHUNK).map(|chunk| black_box(chunk.to_vec()).len()).sum()),
        ];
        best.iter_mut().zip(speeds).for_each(|(best, speed)| *best = best.max(speed));
    }
    let [mask, automaton, lines, copy] = best;
    println!(
        "{name:<10} {:>8} {:>7} {mask:>5.0}MB/s {built:>7.1}ms {automaton:>5.0}MB/s {took:>7.1}ms {lines:>5.0}MB/s {copy:>5.0}MB/s",
        secrets.len(),
        forms.len()
    );
}

/// Text in which each line is or nearly is a secret.
fn leaky(random: &mut Random) {
    let secrets: Vec<String> = (0..10).map(|at| secret(at, random)).collect();
    let mask = SecretMask::new(secrets.iter().map(String::as_str));
    let mut text = String::new();
    while text.len() < SIZE / 8 {
        for secret in &secrets {
            text += secret;
            text.push('\n');
            text += secret.get(..secret.len() - 1).unwrap_or_default();
            text.push('\n');
        }
    }
    let speed = (0..ROUNDS).map(|_| speed(text.as_bytes(), || masked(&mask, text.as_bytes())));
    println!("nothing but secrets: {:.0} MB/s", speed.fold(0.0, f64::max));
}

fn masked(mask: &SecretMask, text: &[u8]) -> usize {
    let mut stream = mask.stream();
    let shown: usize = text.chunks(CHUNK).map(|chunk| black_box(stream.feed(chunk)).len()).sum();
    shown + stream.finish().len()
}

/// In megabytes a second.
fn speed(text: &[u8], mut scan: impl FnMut() -> usize) -> f64 {
    let (_, millis) = timed(|| black_box(scan()));
    text.len() as f64 / 1000.0 / millis
}

fn timed<T>(what: impl FnOnce() -> T) -> (T, f64) {
    let began = Instant::now();
    let made = what();
    (made, began.elapsed().as_secs_f64() * 1000.0)
}

/// What a build prints: times, levels, paths, words, numbers and now and then a digest.
fn log_lines(random: &mut Random) -> Vec<u8> {
    let words = [
        "compiling",
        "finished",
        "warning",
        "error",
        "unused variable",
        "linking",
        "crates/engine/src/dispatch.rs",
        "target/release/deps",
        "downloaded",
        "passed",
        "in",
        "the",
        "test result: ok.",
        "running",
        "GET /api/v1/orders",
        "200 OK",
        "connection from",
        "127.0.0.1",
        "retrying",
        "user=admin",
        "level=info",
    ];
    let mut text = Vec::with_capacity(SIZE + 1000);
    while text.len() < SIZE {
        let time = random.below(86_400);
        text.extend(
            format!("2026-11-21T{:02}:{:02}:{:02}Z ", time / 3600, time / 60 % 60, time % 60).bytes(),
        );
        for _ in 0..random.below(9) + 3 {
            let word = words.get(random.below(words.len())).copied().unwrap_or_default();
            text.extend(word.bytes().chain([b' ']));
        }
        if random.below(8) == 0 {
            text.extend(format!("sha256:{:016x}{:016x}", random.next(), random.next()).bytes());
        }
        text.extend(format!("{}\n", random.below(10_000)).bytes());
    }
    text
}

/// Lines of base64, which look much like forms of secrets.
fn digits(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::with_capacity(SIZE + 100);
    while text.len() < SIZE {
        text.extend(token(76, random).bytes().chain([b'\n']));
    }
    text
}

/// Tokens, passwords with special characters, JSON and now and then a key.
fn secret(at: usize, random: &mut Random) -> String {
    match at % 10 {
        3 => format!("{}'&$ {}", token(6, random), token(9, random)),
        5 => format!(r#"{{"user": "{}", "password": "{}"}}"#, token(8, random), token(20, random)),
        9 => {
            let lines: Vec<String> = (0..26).map(|_| token(64, random)).collect();
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"))
        }
        _ => token(40, random),
    }
}

fn token(length: usize, random: &mut Random) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |_| DIGITS.get(random.below(64)).copied().map_or('?', char::from);
    (0..length).map(digit).collect()
}

/// The same numbers every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or(0)
    }
}
