//! The style and the scripts of pages. They say nothing about a workspace, so every browser may load them.

use axum::{
    Router,
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    routing::get,
};

use crate::site::Site;

/// A file that pages load.
#[derive(Clone, Copy)]
pub(crate) struct Asset {
    /// Its path in addresses, the same for all workspaces.
    pub path: &'static str,
    pub text: &'static str,
}

/// The style sheet, from general to particular.
const STYLE: &str = concat!(
    include_str!("assets/style/tokens.css"),
    include_str!("assets/style/parts.css"),
    include_str!("assets/style/forms.css"),
    include_str!("assets/style/shell.css"),
    include_str!("assets/style/home.css"),
    include_str!("assets/style/run.css"),
    include_str!("assets/style/log.css"),
    include_str!("assets/style/exchange.css"),
    include_str!("assets/style/plans.css"),
    include_str!("assets/style/goals.css"),
    include_str!("assets/style/sign.css"),
);

/// The files. `idiomorph` is loaded by no page that signs.
pub(crate) const ASSETS: [Asset; 17] = [
    Asset { path: "/style.css", text: STYLE },
    Asset { path: "/icon.svg", text: include_str!("assets/icon.svg") },
    // Programs ask for it where they show no page.
    Asset { path: "/favicon.ico", text: include_str!("assets/icon.svg") },
    Asset { path: "/login.js", text: include_str!("assets/login.js") },
    Asset { path: "/page.js", text: include_str!("assets/page.js") },
    Asset { path: "/live.js", text: include_str!("assets/live.js") },
    Asset { path: "/palette.js", text: include_str!("assets/palette.js") },
    Asset { path: "/panel.js", text: include_str!("assets/panel.js") },
    Asset { path: "/timeline.js", text: include_str!("assets/timeline.js") },
    Asset { path: "/log.js", text: include_str!("assets/log.js") },
    Asset { path: "/sign.js", text: include_str!("assets/sign.js") },
    Asset { path: "/key.js", text: include_str!("assets/key.js") },
    Asset { path: "/keys.js", text: include_str!("assets/keys.js") },
    Asset { path: "/enrol.js", text: include_str!("assets/enrol.js") },
    Asset { path: "/goal.js", text: include_str!("assets/goal.js") },
    Asset { path: "/start.js", text: include_str!("assets/start.js") },
    Asset { path: "/idiomorph.js", text: include_str!("assets/vendor/idiomorph-0.8.0.min.js") },
];

/// Returns the addresses of the files.
pub(crate) fn router() -> Router<Site> {
    ASSETS.into_iter().fold(Router::new(), |router, Asset { path, text }| {
        let kind = match path.rsplit_once('.') {
            Some((_, "css")) => "text/css",
            Some((_, "svg" | "ico")) => "image/svg+xml",
            _ => "text/javascript",
        };
        // Browsers ask each time: a page and its scripts are of one program.
        let headers =
            [(CONTENT_TYPE, format!("{kind}; charset=utf-8")), (CACHE_CONTROL, "no-cache".to_owned())];
        router.route(path, get(async move || (headers, text)))
    })
}

#[cfg(test)]
mod tests {
    use super::ASSETS;
    use wf_base::digest::Sha256Digest;

    #[test]
    fn the_script_of_others_is_the_published_one() {
        let idiomorph = ASSETS.iter().find(|asset| asset.path == "/idiomorph.js").unwrap();
        let digest = Sha256Digest::of_bytes(idiomorph.text.as_bytes()).to_string();
        assert_eq!(digest, "4cbd535caf7663a51eda9bce6595371c384fc430d54b8d414e29a61167f19f96");
    }
}
