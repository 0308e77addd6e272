//! A client that a public generator makes from `schemas/openapi.json`, against a real server. `tests/api_client/install` installs
//! the generator; `.ci/real` runs this test.

use std::path::Path;

use crate::{
    support::{Did, Sandbox},
    web::{
        Pages,
        api::{Program, REPORT},
    },
};

/// The folder of the programs of the generator.
fn programs() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/api-client/env/bin");
    folder.display().to_string()
}

#[test]
#[ignore = "needs a generator of clients: tests/api_client/install"]
fn a_generated_client_starts_a_plan_and_reads_its_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (sandbox, programs) = (Sandbox::new(), programs());
    sandbox.file("report.md", REPORT);
    sandbox.file(
        "generator.yml",
        "project_name_override: wf-client\npackage_name_override: wf_client\npost_hooks: []\n",
    );
    let document = root.join("schemas/openapi.json");
    let mut generator = sandbox.program(&format!("{programs}/openapi-python-client"));
    generator.args([
        "generate",
        "--meta",
        "none",
        "--fail-on-warning",
        "--config",
        "generator.yml",
        "--path",
    ]);
    generator.arg(&document).args(["--output-path", "wf_client"]);
    Did::of(&mut generator).exits(0);
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "start");
    let mut client = sandbox.program(&format!("{programs}/python"));
    client.arg(root.join("tests/api_client/use.py")).arg(pages.origin());
    client.env("PYTHONPATH", sandbox.path()).env("WF_SERVER_KEY", bot.key());
    let run = Did::of(&mut client).exits(0).out;
    assert_eq!(bot.get(&format!("/runs/{}", run.trim())).status, 200);
}
