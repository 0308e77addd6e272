use super::sound;
use crate::diag::{Code, Diagnostic};
use crate::model::GoalNews;
use crate::name::EnvName;
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Fields, record, words};

record! {
    /// Who is told when a goal goes from one condition to another.
    pub struct Notify as "a notification" {
        /// What is told.
        required on: Vec<Spanned<GoalNews>>,
        /// A program and its arguments, without a shell, as they stand. It reads the news from
        /// standard input.
        optional exec: Spanned<Vec<Spanned<String>>>,
        /// An address that the news are posted to.
        optional webhook: Webhook,
    }
    instead {
        "run" => "write `exec: [sh, tell.sh]`: a program and its arguments",
        "mail" => "write `exec: [sendmail, who@example.org]`: the news are on standard input",
        "email" => "write `exec: [sendmail, who@example.org]`: the news are on standard input",
    }
    finish one_way;
}

record! {
    /// An address that news are posted to.
    pub struct Webhook as "a webhook" {
        /// The address, as it stands.
        optional url: Spanned<String>,
        /// The secret that holds the address, where who knows it may post to it.
        optional url_secret: Spanned<EnvName>,
        /// The secret that the request is signed with.
        optional secret: Spanned<EnvName>,
    }
    finish one_address;
}

words!(GoalNews {
    "failed" => Self::Failed,
    "repaired" => Self::Repaired,
    "healthy" => Self::Healthy,
    "waiting" => Self::Waiting,
    "paused" => Self::Paused,
    "missed" => Self::Missed,
});

fn one_way(notify: &mut Notify, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    if fields.has("exec") && fields.has("webhook") {
        let message = "a notification has both `exec` and `webhook`";
        let mistake = Diagnostic::new(Code::ExecutorTwice, fields.key("webhook"), message);
        decoder.note(mistake.help("make two notifications of it"));
    } else if !fields.has("exec") && !fields.has("webhook") {
        let message = "a notification tells nobody";
        let mistake = Diagnostic::new(Code::ExecutorMissing, fields.head(), message);
        decoder.note(mistake.help("add `exec: [PROGRAM]` or `webhook: {url: …}`"));
    }
    if notify.on.is_empty() {
        let words: Vec<&str> = GoalNews::ALL.iter().map(|news| news.as_str()).collect();
        let message = "an empty list tells nothing";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("on"), message);
        decoder.note(mistake.help(format!("write some of {}", words.join(", "))));
    }
    for (at, news) in notify.on.iter().enumerate() {
        let before = notify.on.iter().take(at);
        if before.clone().any(|other| other.value == news.value) {
            let message = format!("`{}` stands in the list twice", news.value.as_str());
            decoder.note(Diagnostic::new(Code::DuplicateId, news.span, message));
        }
    }
    if let Some(exec) = &notify.exec {
        sound::some_program(Some(exec.value.len()), fields.key("exec"), decoder);
        for part in exec.value.iter().filter(|part| part.value.contains("{{")) {
            let message = "a notification takes no template: all that there is to tell is the news";
            let mistake = Diagnostic::new(Code::ValueWrong, part.span, message);
            decoder.note(mistake.help("read the news from standard input"));
        }
    }
}

fn one_address(hook: &mut Webhook, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    if fields.has("url") && fields.has("url_secret") {
        let message = "a webhook has both `url` and `url_secret`";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("url_secret"), message);
        decoder.note(mistake.help("keep one of them"));
    } else if !fields.has("url") && !fields.has("url_secret") {
        let message = "a webhook has no address";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
        decoder.note(mistake.help("add `url: https://…`, or `url_secret: NAME`"));
    }
    let Some(url) = &hook.url else { return };
    if url.value.contains("{{") {
        let message = "the address of a webhook takes no template";
        let mistake = Diagnostic::new(Code::ValueWrong, url.span, message);
        decoder.note(mistake.help("an address in a secret is `url_secret: NAME`"));
    } else if !["https://", "http://"].iter().any(|way| {
        let host = url.value.strip_prefix(way);
        host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
    }) {
        let message = "the address of a webhook begins with `https://` or `http://` and a host";
        decoder.note(Diagnostic::new(Code::ValueWrong, url.span, message));
    }
}
