use std::collections::BTreeMap;

use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::Spanned,
};
use wf_lang::decode::{LowerSpec, MappingFields, OrderedEntries, SpecDecoder, record};

/// The queue of steps without one.
const DEFAULT_QUEUE: &str = "default";

record! {
    /// A backend: a place where runs can go on without this machine.
    pub struct BackendSection as "a backend" {
        /// The Temporal server driving its runs.
        required temporal: TemporalSection,
        /// The object store its workers share: `file:///folder` or `s3://bucket/prefix`.
        required objects: Spanned<String>,
        /// The task queues of its workers by name, with `default`.
        required queues: OrderedEntries<Name, Spanned<String>>,
    }
    finish check_backend;
}

record! {
    /// A Temporal server.
    pub struct TemporalSection as "the server" {
        /// Its address: `http://HOST:PORT`, or with `https` for TLS.
        required address: Spanned<String>,
        /// The namespace there: `default` if absent.
        optional namespace: Spanned<String>,
        /// The variable of the environment with the API key, if the server wants one.
        optional key: Spanned<String>,
        /// The files for TLS, if the authorities of the system do not do.
        optional tls: TlsSection,
    }
    finish check_server;
}

record! {
    /// The files in PEM for TLS. Their paths are relative to the workspace.
    pub struct TlsSection as "TLS" {
        /// The certificates of the authorities for the server's: those of the system if absent.
        optional ca: Spanned<String>,
        /// The certificate the server wants to see.
        optional cert: Spanned<String>,
        /// The private key of that certificate.
        optional key: Spanned<String>,
    }
    finish check_tls;
    lowers TlsFiles;
}

/// A backend, with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The server driving its runs.
    pub temporal: TemporalBackend,
    /// The address of the object store.
    pub objects: String,
    /// The task queues by their names.
    pub queues: BTreeMap<String, String>,
}

/// A Temporal server, with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporalBackend {
    pub address: String,
    pub namespace: String,
    /// The variable with the key.
    pub key: Option<String>,
    pub tls: TlsFiles,
}

/// Files in PEM, as paths relative to the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificates of authorities.
    pub ca: Option<String>,
    /// The certificate of this side.
    pub cert: Option<String>,
    pub key: Option<String>,
}

/// Notes files for TLS without TLS.
fn check_server(server: &mut TemporalSection, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if server.tls.is_some() && !server.address.value.starts_with("https://") {
        let message = "the address is not one with TLS, so `tls` has no use";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("tls"), message.to_owned());
        decoder.emit(mistake.with_help("write the address as `https://HOST:PORT`, or leave `tls` out"));
    }
}

/// Notes a certificate without its key, and a key without its certificate.
fn check_tls(tls: &mut TlsSection, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let (there, absent) = match (&tls.cert, &tls.key) {
        (Some(_), None) => ("cert", "key"),
        (None, Some(_)) => ("key", "cert"),
        _ => return,
    };
    let mistake = Diagnostic::new(Code::ValueWrong, fields.key(there), format!("`{there}` needs `{absent}`"));
    decoder.emit(mistake.with_help("a certificate is shown with its private key: name the files of both"));
}

/// Notes invalid addresses, and queues without a default.
fn check_backend(
    backend: &mut BackendSection,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    let mut wrong = |span, message: String, help: &str| {
        decoder.emit(Diagnostic::new(Code::ValueWrong, span, message).with_help(help));
    };
    let address = &backend.temporal.address;
    if !["http://", "https://"].iter().any(|scheme| address.value.starts_with(scheme)) {
        let message = format!("`{}` is no address of a Temporal server", address.value);
        wrong(address.span, message, "write `http://HOST:PORT`, or `https://HOST:PORT` for TLS");
    }
    let objects = &backend.objects;
    if !["file:///", "s3://"].iter().any(|scheme| objects.value.starts_with(scheme)) {
        let message = format!("`{}` is no address of an object store", objects.value);
        wrong(
            objects.span,
            message,
            "write `s3://bucket/prefix`, or `file:///folder` of a file system that all workers share",
        );
    }
    if !backend.queues.iter().any(|(name, _)| name.value.as_str() == DEFAULT_QUEUE) {
        wrong(
            fields.key("queues"),
            "no queue is the default".into(),
            "add `default: QUEUE` for steps that name no queue",
        );
    }
}

/// Returns the backends of a configuration.
pub(super) fn backends(sections: &OrderedEntries<Name, BackendSection>) -> BTreeMap<Name, Backend> {
    let backend = |section: &BackendSection| Backend {
        temporal: TemporalBackend {
            address: section.temporal.address.lower(),
            namespace: section.temporal.namespace.lower().unwrap_or_else(|| "default".into()),
            key: section.temporal.key.lower(),
            tls: section.temporal.tls.lower().unwrap_or_default(),
        },
        objects: section.objects.lower(),
        queues: section.queues.iter().map(|(name, queue)| (name.value.to_string(), queue.lower())).collect(),
    };
    sections.iter().map(|(name, section)| (name.lower(), backend(section))).collect()
}
