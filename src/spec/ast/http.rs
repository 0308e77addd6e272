use crate::expr::Template;
use crate::name::Name;
use crate::source::Spanned;
use crate::spec::decode::{Entries, JsonPath, OneOrMany, record, words};

record! {
    /// An HTTP request and what its answer must be.
    pub struct Http as "an http request" {
        /// The method: `GET` if absent.
        optional method: Method,
        /// Where to.
        required url: Spanned<Template>,
        /// Headers.
        default headers: Entries<String, Template>,
        /// The body.
        optional body: Template,
        /// What the answer must be: a status from 200 to 299 if absent.
        optional expect: HttpExpect,
        /// Outputs of the step, each by the JSON path of its value in the answer's body.
        default outputs: Entries<Name, Spanned<JsonPath>>,
    }
}

record! {
    /// What the answer to a request must be.
    pub struct HttpExpect as "an http expectation" {
        /// The accepted status codes.
        required status: OneOrMany<u16>,
    }
}

/// The method of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// `GET`
    #[default]
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
    /// `OPTIONS`
    Options,
}

words!(Method {
    "GET" => Self::Get,
    "HEAD" => Self::Head,
    "POST" => Self::Post,
    "PUT" => Self::Put,
    "PATCH" => Self::Patch,
    "DELETE" => Self::Delete,
    "OPTIONS" => Self::Options,
});

impl Method {
    /// The method as it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }
}
