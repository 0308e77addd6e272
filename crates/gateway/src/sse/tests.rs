use proptest::prelude::*;

use super::{SseError, SseEvent, SseParser};

fn parse(chunks: &[&[u8]]) -> (Vec<SseEvent>, Result<(), SseError>) {
    let mut parser = SseParser::new(64);
    let mut events = Vec::new();
    for chunk in chunks {
        if let Err(error) = parser.push(chunk, &mut events) {
            return (events, Err(error));
        }
    }
    (events, Ok(()))
}

fn check(text: &[u8], expected: &[(&str, &str)]) {
    let (events, end) = parse(&[text]);
    assert_eq!(end, Ok(()));
    let found: Vec<_> = events.iter().map(|one| (one.event.as_str(), one.data.as_str())).collect();
    assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(text));
}

#[test]
fn fields_comments_and_line_ends() {
    check(b"data: a\n\n", &[("", "a")]);
    check(b"event: x\r\ndata: a\r\ndata:b\r\n\r\n", &[("x", "a\nb")]);
    check(b"data: a\r\rdata:  b\r\r", &[("", "a"), ("", " b")]);
    check(b": comment\n\ndata\n\nid: 1\nretry: 5\nother\n\n", &[("", "")]);
    check(b"\xef\xbb\xbfdata: a\n\n", &[("", "a")]);
    check(b"data: a: b\n\nevent: lost\n\ndata: c\n\n", &[("", "a: b"), ("", "c")]);
    check(b"data: cut", &[]);
    check(b"data: cut\n", &[]);
}

#[test]
fn what_is_too_large_or_no_text_ends_the_stream() {
    let long = [b"data: ".as_slice(), &[b'x'; 70]].concat();
    assert_eq!(parse(&[&long]).1, Err(SseError::TooLarge { limit: 64 }));
    let lines = b"data: 0123456789012345678901234567890123\n".repeat(3);
    assert_eq!(parse(&[&lines]).1, Err(SseError::TooLarge { limit: 64 }));
    let (events, end) = parse(&[b"data: a\n\ndata: \xff\n\n"]);
    assert_eq!((events.len(), end), (1, Err(SseError::Utf8)));
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"event:".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b": note".to_vec()),
        Just("\u{feff}".as_bytes().to_vec()),
        Just("grün €𝄞".as_bytes().to_vec()),
        Just(vec![0xe2]),
        proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(
        text in pieces(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        prop_assert_eq!(parse(&chunks), parse(&[&text]));
        let single: Vec<&[u8]> = text.chunks(1).collect();
        prop_assert_eq!(parse(&single), parse(&[&text]));
    }
}
