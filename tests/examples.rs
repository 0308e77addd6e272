//! Every example, run by the real program in a copy of the workspace.

#[test]
fn examples_check() {
    for dir in std::fs::read_dir("examples").unwrap().flatten() {
        for file in std::fs::read_dir(dir.path()).unwrap().flatten() {
            let path = file.path().display().to_string();
            if !path.ends_with(".md") {
                continue;
            }
            let disk = wf::spec::Disk::new(".");
            let mut loaded = wf::spec::load(&disk, &path);
            wf::check::check(&mut loaded);
            for (f, d) in &loaded.diagnostics {
                println!(
                    "{}: {} {} {:?}",
                    loaded.sources[*f].path(),
                    d.code.as_str(),
                    d.message,
                    loaded.sources[*f].slice(d.span)
                );
            }
            println!(
                "{path} {:?}",
                wf::spec::lower(&loaded, &wf::config::Config::default().defaults).is_ok()
            );
        }
    }
}
