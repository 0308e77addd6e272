use crate::{
    ast::parts::sound,
    decode::{MappingFields, SpecDecoder, record, words},
};
use wf_base::{
    diag::{Code, Diagnostic},
    keyword::Keyword,
    name::EnvName,
    source::Spanned,
};
use wf_model::GoalEvent;

record! {
    /// A notification about changes of a goal's condition.
    pub struct NotifySpec as "a notification" {
        /// The conditions that are notified.
        required on: Vec<Spanned<GoalEvent>>,
        /// A program and its arguments, without a shell, unchanged. It reads the notification from
        /// standard input.
        optional exec: Spanned<Vec<Spanned<String>>>,
        /// An address to which the notification is posted.
        optional webhook: WebhookSpec,
    }
    instead {
        "run" => "write `exec: [sh, tell.sh]`: a program and its arguments",
        "mail" => "write `exec: [sendmail, who@example.org]`: the notification is passed on stdin",
        "email" => "write `exec: [sendmail, who@example.org]`: the notification is passed on stdin",
    }
    finish check_delivery;
}

record! {
    /// An address to which notifications are posted.
    pub struct WebhookSpec as "a webhook" {
        /// The address, unchanged.
        optional url: Spanned<String>,
        /// The secret that holds the address, if the address alone gives the right to post.
        optional url_secret: Spanned<EnvName>,
        /// The secret that the request is signed with.
        optional secret: Spanned<EnvName>,
    }
    finish check_address;
}

words!(GoalEvent);

fn check_delivery(notify: &mut NotifySpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if fields.has("exec") && fields.has("webhook") {
        let message = "a notification has both `exec` and `webhook`";
        let mistake = Diagnostic::new(Code::ExecutorTwice, fields.key("webhook"), message);
        decoder.emit(mistake.with_help("split it into two notifications"));
    } else if !fields.has("exec") && !fields.has("webhook") {
        let message = "a notification needs `exec` or `webhook`";
        let mistake = Diagnostic::new(Code::ExecutorMissing, fields.head(), message);
        decoder.emit(mistake.with_help("add `exec: [PROGRAM]` or `webhook: {url: …}`"));
    }
    if notify.on.is_empty() {
        let words: Vec<&str> = GoalEvent::ALL.iter().map(|news| news.as_str()).collect();
        let message = "the list of events is empty";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("on"), message);
        decoder.emit(mistake.with_help(format!("use at least one of {}", words.join(", "))));
    }
    for (at, news) in notify.on.iter().enumerate() {
        let before = notify.on.iter().take(at);
        if before.clone().any(|other| other.value == news.value) {
            let message = format!("`{}` is listed twice", news.value.as_str());
            decoder.emit(Diagnostic::new(Code::DuplicateId, news.span, message));
        }
    }
    if let Some(exec) = &notify.exec {
        sound::check_program(Some(exec.value.len()), fields.key("exec"), decoder);
        for part in exec.value.iter().filter(|part| part.value.contains("{{")) {
            let message = "templates are not supported in a notification: its content is fixed";
            let mistake = Diagnostic::new(Code::ValueWrong, part.span, message);
            decoder.emit(mistake.with_help("read the notification from stdin"));
        }
    }
}

fn check_address(webhook: &mut WebhookSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if fields.has("url") && fields.has("url_secret") {
        let message = "a webhook has both `url` and `url_secret`";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("url_secret"), message);
        decoder.emit(mistake.with_help("keep one of them"));
    } else if !fields.has("url") && !fields.has("url_secret") {
        let message = "a webhook needs an address";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
        decoder.emit(mistake.with_help("add `url: https://…`, or `url_secret: NAME`"));
    }
    let Some(url) = &webhook.url else { return };
    if url.value.contains("{{") {
        let message = "templates are not supported in the address of a webhook";
        let mistake = Diagnostic::new(Code::ValueWrong, url.span, message);
        decoder.emit(mistake.with_help("to keep the address secret, use `url_secret: NAME`"));
    } else if !["https://", "http://"].iter().any(|way| {
        let host = url.value.strip_prefix(way);
        host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
    }) {
        let message = "the address of a webhook must start with `https://` or `http://` and a host";
        decoder.emit(Diagnostic::new(Code::ValueWrong, url.span, message));
    }
}
