use crate::decode::{
    DurationText, JsonPathText, MappingFields, OneOrMany, OrderedEntries, SpecDecoder, record, words,
};
use wf_base::{
    diag::{Code, Diagnostic},
    keywords,
    name::Name,
    source::Spanned,
    time::Moment,
};
use wf_model::expr::Template;

record! {
    /// An HTTP request and the expected answer.
    pub struct HttpSpec as "an http request" {
        /// The method: `GET` if absent.
        optional method: HttpMethod,
        /// The address.
        required url: Spanned<Template>,
        /// Headers.
        default headers: OrderedEntries<String, Template>,
        /// The body.
        optional body: Template,
        /// The expected answer: a status from 200 to 299 if absent.
        optional expect: HttpExpectationSpec,
        /// Outputs of the step, each by the JSON path of its value in the answer's body.
        default outputs: OrderedEntries<Name, Spanned<JsonPathText>>,
    }
}

record! {
    /// The expected answer to a request.
    pub struct HttpExpectationSpec as "an http expectation" {
        /// The accepted status codes.
        required status: OneOrMany<u16>,
    }
}

keywords! {
    listed
    /// The method of a request.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum HttpMethod {
        /// `GET`
        #[default]
        Get = "GET",
        /// `HEAD`
        Head = "HEAD",
        /// `POST`
        Post = "POST",
        /// `PUT`
        Put = "PUT",
        /// `PATCH`
        Patch = "PATCH",
        /// `DELETE`
        Delete = "DELETE",
        /// `OPTIONS`
        Options = "OPTIONS",
    }
}

words!(HttpMethod);

record! {
    /// Something to wait for: exactly one of the keys.
    pub struct WaitSpec as "a wait" {
        /// A duration.
        optional duration: DurationText,
        /// An instant, in RFC 3339.
        optional until: Moment,
        /// The file to wait for, relative to the workspace.
        optional file: Spanned<Template>,
    }
    finish check_one_condition;
}

fn check_one_condition(_wait: &mut WaitSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let count = WaitSpec::KEYS.iter().filter(|key| fields.has(key)).count();
    if count != 1 {
        let message = "a wait needs exactly one of `duration`, `until` and `file`";
        decoder.emit(Diagnostic::new(Code::ValueWrong, fields.head(), message));
    }
}
