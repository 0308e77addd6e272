use proptest::prelude::*;

use super::{
    ContextCut, ContextLimits, ConversationSize, TokenScale, TurnSize,
    cut::COMPLETE_TURNS,
    size::{MASK_TOKENS, OMISSION_TOKENS},
};
use crate::agent::{Message, ModelReply, ModelRequest, StopReason, ToolCall, ToolResult, estimate_tokens};
use wf_model::TokenUsage;

/// A turn: the characters of the reply, those of each result, and the mistake that was to be repaired.
#[derive(Clone, Debug)]
struct Turn {
    reply: usize,
    results: Vec<usize>,
    repairs: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let results = prop::collection::vec(prop_oneof![0..100_usize, 0..3_000_usize], 0..4);
    let parts = (0..600_usize, results, prop::bool::weighted(0.1));
    parts.prop_map(|(reply, results, repairs)| Turn { reply, results, repairs })
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    prop::collection::vec(turn(), 0..40)
}

fn limits() -> impl Strategy<Value = ContextLimits> {
    (1_000..20_000_u64, 1..900_u64)
        .prop_map(|(context_window, max_output)| ContextLimits { context_window, max_output })
}

fn first() -> ModelRequest {
    ModelRequest {
        system: "work".into(),
        messages: vec![Message::User { text: "do it".repeat(20) }],
        tools: Vec::new(),
        answer_schema: None,
        max_output: 100,
        temperature: None,
    }
}

/// The conversation, and its size as facts tell it.
fn conversation(turns: &[Turn]) -> (ModelRequest, ConversationSize) {
    let mut request = first();
    let mut size = ConversationSize { first: request.estimated_tokens(), ..ConversationSize::default() };
    for (number, turn) in turns.iter().enumerate() {
        let id = |at: usize| format!("{number}.{at}");
        let call = |at| ToolCall { id: id(at), tool: "read".into(), arguments: "{}".into() };
        let result = |(at, chars): (usize, &usize)| ToolResult {
            id: id(at),
            text: "x".repeat(*chars),
            is_error: chars % 2 == 0,
        };
        let results: Vec<_> = turn.results.iter().enumerate().map(result).collect();
        let reply = ModelReply {
            text: "y".repeat(turn.reply),
            tool_calls: (0..results.len()).map(call).collect(),
            stop: StopReason::EndTurn,
            usage: TokenUsage::default(),
        };
        let repairs = turn.repairs.then_some("`n` is missing");
        size.turns.push(TurnSize {
            reply: reply.estimated_tokens(),
            results: results.iter().map(|result| estimate_tokens(&result.text)).collect(),
            repair: repairs.map_or(0, estimate_tokens),
        });
        request.append_turn(reply, results, repairs);
    }
    (request, size)
}

/// The cuts of all calls of a conversation that grows turn by turn.
fn cuts(size: &ConversationSize, limits: ContextLimits) -> Vec<ContextCut> {
    let mut cut = ContextCut::default();
    let calls = (0..=size.turns.len()).map(|known| {
        let turns = size.turns[..known].to_vec();
        cut = cut.next(&ConversationSize { turns, ..size.clone() }, limits);
        cut.clone()
    });
    calls.collect()
}

fn prefix(masked_turns: u32, omitted_turns: u32) -> ContextCut {
    ContextCut { masked_turns, omitted_turns, kept_turns: Vec::new() }
}

fn most(limits: ContextLimits) -> u64 {
    (limits.context_window * 4 / 5).min(limits.context_window - limits.max_output)
}

proptest! {
    #[test]
    fn a_cut_grows_and_spares_the_last_turn(turns in turns(), limits in limits()) {
        let (_, size) = conversation(&turns);
        let cuts = cuts(&size, limits);
        for (known, cut) in cuts.iter().enumerate().filter(|(_, cut)| !cut.is_none()) {
            prop_assert!(cut.omitted_turns <= cut.masked_turns && (cut.masked_turns as usize) < known);
        }
        for pair in cuts.windows(2) {
            prop_assert!(pair[0].masked_turns <= pair[1].masked_turns);
            prop_assert!(pair[0].omitted_turns <= pair[1].omitted_turns);
        }
    }

    #[test]
    fn a_request_fits_unless_its_last_turn_alone_does_not(turns in turns(), limits in limits()) {
        let (_, size) = conversation(&turns);
        for (known, cut) in cuts(&size, limits).into_iter().enumerate() {
            let last = u32::try_from(known).unwrap().saturating_sub(1);
            let least = size.estimate(known, &prefix(last, last));
            let sent = size.estimate(known, &cut);
            prop_assert!(sent <= most(limits) || sent == least, "call {known}: {sent} {cut:?} {limits:?}");
        }
    }

    #[test]
    fn nothing_is_cut_that_fits(turns in turns(), limits in limits()) {
        let (_, size) = conversation(&turns);
        let mut before = ContextCut::default();
        for (known, cut) in cuts(&size, limits).into_iter().enumerate() {
            let fits = size.estimate(known, &before) <= most(limits);
            prop_assert_eq!(fits && cut != before, false, "call {}: {:?} {:?}", known, before, cut);
            before = cut;
        }
    }

    #[test]
    fn a_cut_made_twice_is_the_same(turns in turns(), limits in limits()) {
        let (_, size) = conversation(&turns);
        let cut = ContextCut::default().next(&size, limits);
        prop_assert_eq!(&cut.next(&size, limits), &cut);
        prop_assert_eq!(ContextCut::default().next(&size, limits), cut);
    }

    #[test]
    fn facts_say_no_less_than_the_request_has(turns in turns(), limits in limits()) {
        let (request, size) = conversation(&turns);
        let cut = cuts(&size, limits).pop().unwrap_or_default();
        let (sent, told) = (request.after_cut(&cut).estimated_tokens(), size.tokens(&cut));
        // Sums of rounded sizes are lower by less than one for each part, and the heading of a repair is not in facts.
        let parts = turns.iter().map(|turn| turn.results.len() + if turn.repairs { 10 } else { 1 });
        let parts = parts.sum::<usize>() + 1;
        prop_assert!(sent <= told + parts as u64, "{sent} {told} {cut:?}");
    }

    #[test]
    fn what_is_sent_keeps_pairs_order_and_the_last_turns(turns in turns(), limits in limits()) {
        let (request, size) = conversation(&turns);
        let cut = cuts(&size, limits).pop().unwrap_or_default();
        let sent = request.after_cut(&cut).into_owned();
        prop_assert_eq!(&sent.messages[0], &request.messages[0]);
        prop_assert_eq!(&sent.system, &request.system);
        // What was sent is what there was, without the beginning, and with other results.
        let whole: Vec<_> = request.messages.iter().map(shape).collect();
        let rest: Vec<_> = sent.messages.iter().filter(|one| !is_omission(one)).map(shape).collect();
        prop_assert!(whole.ends_with(&rest[1..]));
        let omissions = sent.messages.iter().filter(|one| is_omission(one)).count();
        prop_assert_eq!(omissions, usize::from(cut.omitted_turns > 0));
        // Each result has its call right before it.
        for pair in sent.messages.windows(2) {
            if let Message::Tool { results } = &pair[1] {
                let Message::Assistant { tool_calls, .. } = &pair[0] else { panic!("{pair:?}") };
                let ids = |ids: Vec<&String>| ids.into_iter().cloned().collect::<Vec<_>>();
                let (calls, answered) =
                    (tool_calls.iter().map(|one| &one.id).collect(), results.iter().map(|one| &one.id).collect());
                prop_assert_eq!(ids(calls), ids(answered));
            }
        }
        // The turns after the cut are as they were.
        let (until, _) = conversation(&turns[..cut.masked_turns as usize]);
        let after = &request.messages[until.messages.len()..];
        prop_assert!(sent.messages.ends_with(after));
    }

    #[test]
    fn a_scale_never_makes_less_of_a_request(estimated in 0..10_000_u64, counted in 0..10_000_u64, tokens: u64) {
        let scaled = TokenScale { estimated, counted }.apply(tokens);
        prop_assert!(scaled >= tokens);
    }
}

fn is_omission(message: &Message) -> bool {
    matches!(message, Message::Omitted { .. })
}

/// A message without the texts of results.
fn shape(message: &Message) -> Message {
    match message {
        Message::Tool { results } => {
            let bare = |one: &ToolResult| ToolResult { text: String::new(), ..one.clone() };
            Message::Tool { results: results.iter().map(bare).collect() }
        }
        other => other.clone(),
    }
}

/// A conversation of `count` turns, each of 10 tokens and a result.
fn uniform(count: usize, result: u64) -> ConversationSize {
    let turn = TurnSize { reply: 10, results: vec![result], repair: 0 };
    ConversationSize { first: 100, turns: vec![turn; count], scale: TokenScale::default() }
}

const LIMITS: ContextLimits = ContextLimits { context_window: 10_000, max_output: 1_000 };

#[test]
fn results_are_masked_all_at_once_and_then_not_for_many_turns() {
    let cuts = cuts(&uniform(100, 300), LIMITS);
    let mut changes = cuts.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((1..=8).contains(&changes), "{changes}: {cuts:?}");
    let first = cuts.iter().position(|cut| !cut.is_none()).unwrap();
    let masked = u32::try_from(first).unwrap() - COMPLETE_TURNS[0];
    assert_eq!(cuts[first], prefix(masked, 0));
    // The same is so for results of a tenth of the window each.
    let cuts = self::cuts(&uniform(100, 1_000), LIMITS);
    changes = cuts.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((20..=40).contains(&changes), "{changes}");
    // Without long results, turns are omitted, many at once.
    let cuts = self::cuts(&uniform(1000, 50), LIMITS);
    changes = cuts.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((10..=30).contains(&changes), "{changes}");
}

#[test]
fn long_results_of_the_last_turns_are_masked_before_turns_are_lost() {
    let cut = ContextCut::default().next(&uniform(8, 1_900), LIMITS);
    assert_eq!(cut, prefix(6, 0));
    let cut = ContextCut::default().next(&uniform(8, 2_800), LIMITS);
    assert_eq!(cut, prefix(7, 0));
    // The newest is above the goal by itself.
    let cut = ContextCut::default().next(&uniform(8, 7_000), LIMITS);
    assert_eq!(cut, prefix(7, 0));
    let cut = ContextCut::default().next(&uniform(8, 7_500), LIMITS);
    assert_eq!(cut, prefix(7, 7));
    // Nothing helps a result that does not fit by itself.
    let cut = ContextCut::default().next(&uniform(8, 20_000), LIMITS);
    assert_eq!(cut, prefix(7, 7));
    assert!(uniform(8, 20_000).tokens(&cut) > LIMITS.context_window);
}

#[test]
fn a_provider_that_counts_more_is_cut_earlier() {
    let size = ConversationSize { scale: TokenScale { estimated: 100, counted: 300 }, ..uniform(10, 300) };
    assert_eq!(uniform(10, 300).tokens(&ContextCut::default()), 3_200);
    assert_eq!(size.tokens(&ContextCut::default()), 9_600);
    assert!(ContextCut::default().next(&uniform(10, 300), LIMITS).is_none());
    assert_eq!(ContextCut::default().next(&size, LIMITS).masked_turns, 8);
    let other = TokenScale { estimated: 300, counted: 100 };
    assert_eq!(other.apply(7), 7, "an estimate is not lowered");
    assert_eq!(TokenScale { estimated: 1, counted: u64::MAX }.apply(u64::MAX), u64::MAX);
}

#[test]
fn a_mask_says_what_was_there_and_how_to_get_it() {
    let turn = |chars: usize| Turn { reply: 3, results: vec![chars, 10], repairs: false };
    let (request, _) = conversation(&[turn(3_500), turn(3_501), turn(3_502)]);
    let sent = request.after_cut(&prefix(2, 1));
    let Message::Tool { results } = &sent.messages[3] else { panic!("{sent:?}") };
    let mask =
        "[Result of read (SUCCEEDED) — 1000 tokens — left out to save space; call the tool again to see it]";
    assert_eq!(results[0].text, mask);
    assert_eq!(results[1].text, "xxxxxxxxxx", "a short one stays");
    assert_eq!(sent.messages[1], Message::Omitted { turns: 1 });
    let (request, _) = conversation(&[turn(3_500), turn(1)]);
    let sent = request.after_cut(&prefix(1, 0));
    let Message::Tool { results } = &sent.messages[2] else { panic!("{sent:?}") };
    assert!(results[0].text.contains("(FAILED)") && results[0].is_error);
    assert!(matches!(request.after_cut(&ContextCut::default()), std::borrow::Cow::Borrowed(_)));
}

#[test]
fn notes_are_as_short_as_they_are_counted() {
    assert!(estimate_tokens(&Message::omission_text(u32::MAX)) <= OMISSION_TOKENS);
    let mut request = first();
    let reply = ModelReply {
        text: String::new(),
        tool_calls: vec![ToolCall { id: "a".into(), tool: "é".repeat(900), arguments: "{}".into() }],
        stop: StopReason::ToolCalls,
        usage: TokenUsage::default(),
    };
    let result = ToolResult { id: "a".into(), text: "x".repeat(1_000_000), is_error: true };
    request.append_turn(reply, vec![result], None);
    let sent = request.after_cut(&prefix(1, 0));
    let Some(Message::Tool { results }) = sent.messages.last() else { panic!("{sent:?}") };
    assert!(estimate_tokens(&results[0].text) <= MASK_TOKENS, "{}", results[0].text);
    let cut = prefix(12, 1);
    assert_eq!(cut.to_string(), "long results of the first 12 turns masked, the first turn omitted");
}
