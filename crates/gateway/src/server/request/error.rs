/// The reason why a request of a client cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It is not JSON.
    #[error("the request is not JSON: {0}")]
    Json(String),
    /// A field is missing.
    #[error("the request lacks `{field}`")]
    Missing {
        /// The path of the field.
        field: String,
    },
    /// A field is of another kind.
    #[error("`{field}` of the request is not {expected}")]
    Kind {
        /// The path of the field.
        field: String,
        expected: &'static str,
    },
    /// A field has what no request to a model can carry here.
    #[error("`{field}` of the request has {content}, which this gateway cannot pass on: {advice}")]
    Unsupported {
        /// The path of the field.
        field: String,
        content: String,
        /// The other way.
        advice: &'static str,
    },
}
