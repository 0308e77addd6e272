use std::time::Duration;

use wf_base::time::Moment;

use super::{CallFailureClass, ModelFailure, ModelFailureKind, RetryDelays, classify_status, classify_wire};
use crate::{
    sse::SseError,
    wire::{ProviderMessage, WireError},
};

fn told(word: &str, message: &str) -> ProviderMessage {
    ProviderMessage { word: word.into(), message: message.into() }
}

fn at(second: i64) -> Moment {
    Moment::from_millis(second * 1_000)
}

#[test]
fn each_status_has_a_class_and_a_remedy() {
    for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
        let failure = classify_status(status, &told("", ""), None, at(0));
        assert_eq!(failure.class(), CallFailureClass::Transient, "{status}");
    }
    for (status, kind) in [
        (400, ModelFailureKind::Rejected),
        (401, ModelFailureKind::Unauthorized),
        (402, ModelFailureKind::NoCredit),
        (403, ModelFailureKind::Forbidden),
        (404, ModelFailureKind::NotFound),
        (413, ModelFailureKind::RequestTooLarge),
        (418, ModelFailureKind::Rejected),
        (422, ModelFailureKind::Rejected),
    ] {
        let failure = classify_status(status, &told("", "no"), None, at(0));
        assert_eq!((failure.kind, failure.class()), (kind, CallFailureClass::Permanent), "{status}");
        assert!(failure.message.contains("(\"no\"): "), "{failure}");
    }
}

#[test]
fn the_word_of_a_provider_is_more_exact_than_its_status() {
    let quota = classify_status(429, &told("insufficient_quota", ""), None, at(0));
    assert_eq!(quota.kind, ModelFailureKind::NoCredit);
    let limit = classify_status(400, &told("rate_limit_error", ""), None, at(0));
    assert_eq!(limit.kind, ModelFailureKind::RateLimited);
}

#[test]
fn errors_within_a_reply_have_a_class() {
    for (word, kind) in [
        ("overloaded_error", ModelFailureKind::Overloaded),
        ("server_error", ModelFailureKind::Overloaded),
        ("rate_limit_exceeded", ModelFailureKind::RateLimited),
        ("502", ModelFailureKind::Overloaded),
        ("400", ModelFailureKind::Rejected),
        ("invalid_request_error", ModelFailureKind::Rejected),
        ("", ModelFailureKind::Overloaded),
    ] {
        let error = WireError::Reported { word: word.into(), message: "m".into() };
        assert_eq!(classify_wire(&error).kind, kind, "{word}");
    }
    assert_eq!(classify_wire(&WireError::Cut).kind, ModelFailureKind::BrokenStream);
    let large = WireError::Stream(SseError::TooLarge { limit: 1 });
    assert_eq!(classify_wire(&large).kind, ModelFailureKind::ReplyTooLarge);
    let missing = classify_wire(&WireError::Missing { field: "usage".into() });
    assert_eq!(missing.kind, ModelFailureKind::BadReply);
    assert!(missing.message.contains("`usage`"), "{missing}");
}

#[test]
fn delays_double_up_to_a_cap_and_honour_the_provider() {
    let delays = RetryDelays { further: 9, ..RetryDelays::default() };
    let mut failure = ModelFailure::new(ModelFailureKind::Overloaded, "");
    let seconds = |tries, failure: &ModelFailure| delays.before_next(tries, failure).map(|one| one.as_secs());
    assert_eq!([1, 2, 3, 9].map(|tries| seconds(tries, &failure)), [Some(1), Some(2), Some(4), Some(30)]);
    assert_eq!(seconds(10, &failure), None);
    failure.retry_after = Some(Duration::from_secs(20));
    assert_eq!(seconds(1, &failure), Some(20));
    failure.retry_after = Some(Duration::from_hours(24));
    assert_eq!(seconds(1, &failure), Some(60));
    let permanent = ModelFailure::new(ModelFailureKind::Rejected, "");
    assert_eq!(seconds(1, &permanent), None);
    let usual = RetryDelays::default();
    assert!(usual.before_next(2, &failure).is_some() && usual.before_next(3, &failure).is_none());
}
