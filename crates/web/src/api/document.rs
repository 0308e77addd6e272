//! The OpenAPI document, made of the table of operations and of the types that they name.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    problem::ApiError,
    route::{ApiRoute, RouteAnswer, RouteSort, schema},
    table::{PREFIX, routes},
};
use crate::site::Site;

/// The version of the interface. The address has it, and nothing else.
const VERSION: &str = "1";

/// A description of the whole interface.
const ABOUT: &str = "The runs, plans, requests and goals of a workspace of wf. Keys and values may be added to answers within \
     this version: a client ignores what it does not know.";

/// Returns the OpenAPI document of the interface.
pub fn openapi() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = SchemaGenerator::new(settings);
    let mut paths = Map::new();
    for route in routes() {
        let operation = operation(&route, &mut generator);
        let path = paths.entry(format!("{PREFIX}{}", route.path)).or_insert_with(|| json!({}));
        path[route.method] = operation;
    }
    let refusal = schema::<ApiError>(&mut generator);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {"title": "wf", "version": VERSION, "description": ABOUT},
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "responses": {"Refusal": {
                "description": "Nothing was done.",
                "content": {"application/json": {"schema": refusal}},
            }},
            "schemas": generator.take_definitions(true),
        },
    });
    write_schemas_as_objects(&mut document);
    document
}

/// Writes the schema of any value as an object: generators of clients do not know `true`.
fn write_schemas_as_objects(document: &mut Value) {
    match document {
        Value::Object(fields) => {
            for (key, value) in fields {
                if key == "items" && *value == Value::Bool(true) {
                    *value = json!({});
                }
                if let ("properties", Value::Object(properties)) = (key.as_str(), &mut *value) {
                    properties
                        .values_mut()
                        .filter(|schema| schema.is_boolean())
                        .for_each(|schema| *schema = json!({}));
                }
                write_schemas_as_objects(value);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(write_schemas_as_objects),
        _ => {}
    }
}

fn operation(route: &ApiRoute, generator: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = path_parameters(route.path).collect();
    if let Some(query) = route.query {
        parameters.extend(query_parameters(query(generator).as_value()));
    }
    parameters.extend(
        route.headers.iter().map(
            |name| json!({"name": name, "in": "header", "required": false, "schema": {"type": "string"}}),
        ),
    );
    let tag = route.path.split('/').nth(1).unwrap_or_default();
    let access = match route.sort {
        RouteSort::View | RouteSort::Stream => "look",
        RouteSort::Act(access) => access.as_str(),
    };
    let (status, content) = answer(route.answer, generator);
    let mut operation = json!({
        "operationId": route.id,
        "tags": [tag],
        "summary": route.summary,
        "description": format!("Needs a key that may `{access}`."),
        "parameters": parameters,
        "responses": {
            status: {"description": "Done.", "content": content},
            "default": {"$ref": "#/components/responses/Refusal"},
        },
    });
    if let Some(body) = route.body {
        let schema = body(generator);
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": schema}}});
    }
    operation
}

/// Returns the parts of a path that a client fills in.
fn path_parameters(path: &str) -> impl Iterator<Item = Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.map(|name| {
        let about = match name {
            "run" => "The id of the run, or a beginning of it that no other has.",
            "step" => "The step: `probe`, or `probe[2]` for an item.",
            "plan" => "The name of the plan, or the path of its file.",
            "number" => "The number of the request in its run.",
            "digest" => "The digest of the artifact.",
            _ => "A name.",
        };
        let schema = if name == "number" {
            json!({"type": "integer", "minimum": 1})
        } else {
            json!({"type": "string"})
        };
        json!({"name": name, "in": "path", "required": true, "description": about, "schema": schema})
    })
}

/// Returns the parts of a query, from the schema of its type.
fn query_parameters(schema: &Value) -> Vec<Value> {
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let parameters = properties.into_iter().map(|(name, mut schema)| {
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        if let Some(fields) = schema.as_object_mut() {
            // A part of a query is there or not, and never `null`.
            let types = fields.get("type").and_then(Value::as_array).cloned().unwrap_or_default();
            if let Some(only) = types.into_iter().find(|name| name != "null") {
                fields.insert("type".into(), only);
            }
            fields.retain(|key, value| !(key == "default" && value.is_null()));
        }
        json!({"name": name, "in": "query", "required": false, "description": description, "schema": schema})
    });
    parameters.collect()
}

/// Returns the status of an answer, and its content by type.
fn answer(answer: RouteAnswer, generator: &mut SchemaGenerator) -> (&'static str, Value) {
    let text = json!({"schema": {"type": "string"}});
    match answer {
        RouteAnswer::Json(201, of) => ("201", json!({"application/json": {"schema": of(generator)}})),
        RouteAnswer::Json(_, of) => ("200", json!({"application/json": {"schema": of(generator)}})),
        RouteAnswer::JsonOrText(of) => {
            ("200", json!({"application/json": {"schema": of(generator)}, "text/plain": text}))
        }
        RouteAnswer::Text => ("200", json!({"text/plain": text})),
        RouteAnswer::Events => ("200", json!({"text/event-stream": text})),
        RouteAnswer::Bytes => {
            ("200", json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}))
        }
    }
}

/// The document, for whoever makes a client of it.
pub(crate) async fn document(State(site): State<Site>) -> Response {
    let mut document = openapi();
    let base = site.page("");
    document["servers"] = json!([{"url": if base.is_empty() { "/" } else { &base }}]);
    Json(document).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::openapi;
    use crate::api::table::routes;

    #[test]
    fn the_document_has_every_operation_once_and_every_schema_it_names() {
        let document = openapi();
        let mut ids = BTreeSet::new();
        for route in routes() {
            let path = format!("{}{}", crate::api::PREFIX, route.path);
            assert_eq!(document["paths"][&path][route.method]["operationId"], route.id, "{path}");
            assert!(ids.insert(route.id), "two operations are called {}", route.id);
        }
        let text = document.to_string();
        let named = text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next());
        for pointer in named {
            assert!(document.pointer(pointer).is_some(), "{pointer} is not in the document");
        }
    }
}
