use super::{ProposedRequest, mistake::ProposalMistake, values::KnownReads};
use wf_model::{
    HttpCall, Plan, Step, StepWork,
    expr::{ExprReference, Template},
};

impl ProposedRequest {
    /// Returns a request as proposed: its method, its headers and its expectations stay. A request with a secret
    /// goes to no other host than those of its own step.
    pub(super) fn apply_to(
        &self,
        written: &HttpCall,
        plan: &Plan,
        step: &Step,
    ) -> Result<HttpCall, ProposalMistake> {
        let mut call = written.clone();
        if let Some(url) = &self.url {
            let url = KnownReads::of([&written.url]).template("http.url", url)?;
            let has_secret = has_secret(written);
            let reach = if has_secret { origins([step]) } else { origins(plan.steps()) };
            let origin = origin(&url).ok_or(ProposalMistake::NoOrigin)?;
            if !reach.contains(&origin) {
                return Err(ProposalMistake::OtherOrigin { origin, has_secret });
            }
            call.url = url;
        }
        if let Some(body) = &self.body {
            let own = written.body.as_ref().ok_or(ProposalMistake::NoBody)?;
            call.body = Some(KnownReads::of([own]).template("http.body", body)?);
        }
        Ok(call)
    }
}

fn has_secret(call: &HttpCall) -> bool {
    let headers = call.headers.iter().map(|(_, value)| value);
    let mut refs = headers.chain(&call.body).flat_map(Template::refs);
    refs.any(|read| matches!(read.name, ExprReference::Secret(_)))
}

/// Returns the origins of the requests of some steps, in every alternative.
fn origins<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Vec<String> {
    let ways = steps.into_iter().flat_map(Step::ways);
    let urls = ways.filter_map(|way| match &way.work {
        StepWork::Http(http) => origin(&http.url),
        _ => None,
    });
    urls.collect()
}

/// Returns the scheme, host and port of a URL as written, in which a template counts literally; `None` if the scheme
/// is not written out: then only the run knows the host.
fn origin(url: &Template) -> Option<String> {
    let url = url.source();
    let scheme = ["https://", "http://"].into_iter().find(|scheme| url.starts_with(scheme))?;
    let rest = &url[scheme.len()..];
    let mut depth = false;
    let end = rest.char_indices().find(|(at, c)| {
        let after = &rest[*at..];
        depth = if depth { !after.starts_with("}}") } else { after.starts_with("{{") };
        !depth && matches!(c, '/' | '?' | '#')
    });
    let host = end.map_or(rest, |(at, _)| &rest[..at]);
    (!host.is_empty()).then(|| format!("{scheme}{host}"))
}

#[cfg(test)]
mod tests {
    use super::origin;
    use wf_model::expr::Template;

    #[test]
    fn a_url_names_its_host_unless_only_the_run_knows_it() {
        for (url, wanted) in [
            ("https://a.example:8/x/y", Some("https://a.example:8")),
            ("http://a.example?x", Some("http://a.example")),
            ("http://a.example#x", Some("http://a.example")),
            ("https://a.example", Some("https://a.example")),
            // The text of a template counts, whatever is in it.
            ("https://{{ params.host or '/x' }}/y", Some("https://{{ params.host or '/x' }}")),
            // A user, or another separator, makes another origin.
            ("https://a.example@b.example/", Some("https://a.example@b.example")),
            (r"https://a.example\b.example/", Some(r"https://a.example\b.example")),
            ("{{ params.base }}/x", None),
            ("https:///a.example", None),
            ("https:a.example", None),
        ] {
            let found = Template::read(url).and_then(|url| origin(&url));
            assert_eq!(found.as_deref(), wanted, "{url}");
        }
    }
}
