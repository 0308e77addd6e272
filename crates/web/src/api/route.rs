//! An operation of the interface: its address, what it takes and returns, who may ask for it, and the handler that answers.

use axum::{
    Router,
    extract::{Extension, Request},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, get, post},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::problem::ApiError;
use crate::{guard, limits, login_table::LoginAccess, site::Site};

/// Makes the schema of a type, in the definitions of a document.
pub(super) type SchemaSource = fn(&mut SchemaGenerator) -> Schema;

/// An operation.
pub(super) struct ApiRoute {
    pub method: &'static str,
    /// The address below the prefix.
    pub path: &'static str,
    /// The name of the operation in clients.
    pub id: &'static str,
    /// A sentence about it.
    pub summary: &'static str,
    pub sort: RouteSort,
    /// The parts of its query.
    pub query: Option<SchemaSource>,
    /// The names of its headers.
    pub headers: Vec<&'static str>,
    pub body: Option<SchemaSource>,
    pub answer: RouteAnswer,
    pub handler: MethodRouter<Site>,
}

/// The sort of an operation: which limits it passes, and the access it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteSort {
    /// It reads.
    View,
    /// It reads as long as something comes.
    Stream,
    /// It changes something.
    Act(LoginAccess),
}

/// An answer that is no refusal.
#[derive(Clone, Copy)]
pub(super) enum RouteAnswer {
    /// JSON with a status.
    Json(u16, SchemaSource),
    /// JSON, or the text for people if that is preferred.
    JsonOrText(SchemaSource),
    Text,
    Bytes,
    /// Server-sent events.
    Events,
}

impl RouteAnswer {
    /// JSON of a type.
    pub fn json<T: JsonSchema>() -> Self {
        Self::Json(200, schema::<T>)
    }

    /// JSON of a type about something new.
    pub fn created<T: JsonSchema>() -> Self {
        Self::Json(201, schema::<T>)
    }

    /// JSON of a type, or text.
    pub fn json_or_text<T: JsonSchema>() -> Self {
        Self::JsonOrText(schema::<T>)
    }
}

/// Refers to the schema of a type.
pub(super) fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

impl ApiRoute {
    /// An operation that reads.
    pub fn view<H, T: 'static>(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        H: axum::handler::Handler<T, Site>,
    {
        Self {
            method: "get",
            path,
            id,
            summary,
            sort: RouteSort::View,
            query: None,
            headers: Vec::new(),
            body: None,
            answer: RouteAnswer::Text,
            handler: get(handler),
        }
    }

    /// An operation that changes something, for keys with an access.
    pub fn act<H, T: 'static>(
        access: LoginAccess,
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        H: axum::handler::Handler<T, Site>,
    {
        let view = Self::view(path, id, summary, || async {});
        Self { method: "post", sort: RouteSort::Act(access), handler: post(handler), ..view }
    }

    /// The same operation, as one that goes on as long as something comes.
    pub fn streamed(self) -> Self {
        Self { sort: RouteSort::Stream, ..self }
    }

    /// The same operation with a query.
    pub fn query<T: JsonSchema>(self) -> Self {
        Self { query: Some(T::json_schema), ..self }
    }

    /// The same operation with a header.
    pub fn header(mut self, name: &'static str) -> Self {
        self.headers.push(name);
        self
    }

    /// The same operation with a body.
    pub fn body<T: JsonSchema>(self) -> Self {
        Self { body: Some(schema::<T>), ..self }
    }

    /// The same operation with an answer.
    pub fn answer(self, answer: RouteAnswer) -> Self {
        Self { answer, ..self }
    }

    /// Adds it to a router, behind the limits and the guard of its sort.
    pub fn mount(self, router: Router<Site>, prefix: &str, site: &Site) -> Router<Site> {
        let allowed = if self.method == "get" { "GET, HEAD" } else { "POST" };
        let handler = self.handler.fallback(move || async move { ApiError::wrong_method(allowed) });
        let handler = match self.sort {
            RouteSort::View => handler.layer(from_fn_with_state(site.clone(), limits::limit_pages)),
            RouteSort::Stream => handler,
            RouteSort::Act(LoginAccess::Look) => {
                handler.layer(from_fn_with_state(site.clone(), limits::limit_posts))
            }
            RouteSort::Act(wanted) => {
                let site = site.clone();
                let behind = site.clone();
                let guard = move |Extension(own): Extension<LoginAccess>, request: Request, next: Next| {
                    require(site.clone(), own, wanted, request, next)
                };
                handler.layer(from_fn(guard)).layer(from_fn_with_state(behind, limits::limit_posts))
            }
        };
        router.route(&format!("{prefix}{}", self.path), handler)
    }
}

/// Refuses a key with less access.
async fn require(
    site: Site,
    own: LoginAccess,
    wanted: LoginAccess,
    request: Request,
    next: Next,
) -> Response {
    if own < wanted {
        return ApiError::lacks_access(own, wanted).into_response();
    }
    guard::operate(&site, request, next).await
}
