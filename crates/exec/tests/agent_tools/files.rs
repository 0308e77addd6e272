use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::{
    NamedTest,
    scene::{SECRET, ToolScene, edit, list, read, search, write},
};
use wf_core::agent::ToolRequest;

pub(crate) const TESTS: &[NamedTest] = &[
    ("files_are_worked_on", files_are_worked_on),
    ("an_edit_needs_one_match", an_edit_needs_one_match),
    ("only_text_is_read", only_text_is_read),
    ("a_long_file_is_read_in_parts", a_long_file_is_read_in_parts),
    ("names_may_contain_anything", names_may_contain_anything),
    ("answers_are_masked_and_bounded", answers_are_masked_and_bounded),
    ("restricted_programs_do_not_matter", restricted_programs_do_not_matter),
];

fn files_are_worked_on() {
    for scene in ToolScene::both() {
        assert_eq!(scene.gives(&read("src/main.rs")), "fn main() {\n    start();\n}\n");
        assert_eq!(scene.gives(&list("src")), "main.rs");
        let top = scene.gives(&ToolRequest::List { path: None });
        assert_eq!(top, ".git/\n.wf/\nout/\nsrc/\nunseen.txt");
        assert_eq!(scene.gives(&search(r"sta\w+\(", ".")), "src/main.rs:2:     start();");
        assert_eq!(scene.gives(&search("core", ".")), "[no match in 3 files]");
        assert_eq!(scene.gives(&write("out/a/b/new.txt", "one\n")), "created `out/a/b/new.txt`: 4 bytes");
        let edited = scene.gives(&edit("./out/a/../a/b/new.txt", "one", "two"));
        assert_eq!(edited, "replaced the text in `./out/a/../a/b/new.txt`, line 1");
        assert_eq!(scene.text("out/a/b/new.txt"), "two\n");
        fs::set_permissions(scene.at("out/old.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(scene.gives(&write("out/old.txt", "")), "replaced `out/old.txt`: 0 bytes");
        let mode = fs::metadata(scene.at("out/old.txt")).unwrap().permissions().mode();
        assert_eq!((scene.text("out/old.txt").as_str(), mode & 0o777), ("", 0o755));
        assert_eq!(scene.gives(&read("out/old.txt")), "[the file is empty]");
        // Nothing temporary stays.
        assert_eq!(scene.gives(&list("out")), "a/\nold.txt");
        // A model may name a file of the workspace by its whole path.
        let absolute = scene.at("src/main.rs").canonicalize().unwrap();
        assert!(scene.gives(&read(absolute.to_str().unwrap())).starts_with("fn main"));
    }
}

fn an_edit_needs_one_match() {
    let scene = ToolScene::confined(&["out"]);
    scene.put("out/a.txt", "aaa bb bb\nöö\n");
    for (old, told) in [
        ("cc", "`old` does not occur in `out/a.txt`; read the file and give the text exactly as it is there"),
        ("bb", "`old` occurs 2 times in `out/a.txt`; include lines around it, so that it occurs once"),
        ("aa", "`old` occurs 2 times in `out/a.txt`; include lines around it, so that it occurs once"),
        ("ö", "`old` occurs 2 times in `out/a.txt`; include lines around it, so that it occurs once"),
    ] {
        assert_eq!(scene.refuses(&edit("out/a.txt", old, "x")), told);
    }
    assert_eq!(scene.refuses(&edit("out/a.txt", "öö", "öö")), "`old` and `new` are the same");
    assert_eq!(scene.refuses(&edit("out/b.txt", "a", "b")), "`out/b.txt` does not exist");
    assert_eq!(scene.refuses(&edit("out", "a", "b")), "`out` is a folder, not a file");
    assert_eq!(scene.text("out/a.txt"), "aaa bb bb\nöö\n");
    scene.gives(&edit("out/a.txt", "bb\nöö", ""));
    assert_eq!(scene.text("out/a.txt"), "aaa bb \n");
}

fn only_text_is_read() {
    let scene = ToolScene::confined(&["out"]);
    scene.put("latin", b"a\ncaf\xe9\n");
    scene.put("binary", b"a\0b");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scene.at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    for (path, told) in [
        ("latin", "`latin` is not a text file: it is not UTF-8 (after 1 lines of the part that was read)"),
        ("binary", "`binary` is not a text file: it contains NUL bytes"),
        ("pipe", "`pipe` is a pipe, not a file"),
        ("src", "`src` is a folder, not a file"),
        ("no", "`no` does not exist"),
        ("src/main.rs/x", "`src/main.rs/x` does not exist"),
    ] {
        assert_eq!(scene.refuses(&read(path)), told);
    }
    assert_eq!(scene.refuses(&list("src/main.rs")), "`src/main.rs` is a file, not a folder");
    assert_eq!(scene.refuses(&search("(", ".")), "the pattern is not valid: unclosed group");
    assert_eq!(scene.gives(&search("caf", "latin")), "latin:2: caf\u{fffd}");
    assert!(
        scene
            .gives(&search("a", "."))
            .ends_with("[1 file skipped: binary, larger than 8 MiB or not readable]")
    );
}

fn a_long_file_is_read_in_parts() {
    let scene = ToolScene::confined(&[]);
    let lines: Vec<String> = (1..=100_000).map(|number| format!("line {number}")).collect();
    scene.put("long", lines.join("\n"));
    let part = |offset, limit| {
        let request = ToolRequest::Read { path: "long".into(), offset: Some(offset), limit };
        scene.call(&request).text
    };
    assert_eq!(
        part(50_000, Some(2)),
        "line 50000\nline 50001\n[lines 50000 to 50001 of 100000 lines; continue with offset 50002]"
    );
    assert_eq!(part(99_999, None), "line 99999\nline 100000\n[lines 99999 to 100000, the end]");
    assert_eq!(part(100_001, None), "`long` has 100000 lines, so there is no line 100001");
    let first = scene.gives(&read("long"));
    let (page, note) = first.rsplit_once("\n[").unwrap();
    let count = page.lines().count();
    assert!(page.starts_with("line 1\n") && page.ends_with(&format!("\nline {count}")) && count > 1_000);
    assert_eq!(note, format!("lines 1 to {count} of 100000 lines; continue with offset {}]", count + 1));
}

fn names_may_contain_anything() {
    let scene = ToolScene::confined(&["out"]);
    let odd = "out/two\nlines \u{1b}[31m\u{202e}red";
    assert!(scene.gives(&write(odd, "x\n")).starts_with(r#"created "out/two\nlines \u001b[31m\u202ered": "#));
    let shown = r#""two\nlines \u001b[31m\u202ered""#;
    assert_eq!(scene.gives(&list("out")), format!("old.txt\n{shown}"));
    assert_eq!(scene.gives(&search("x", "out")), r#""out/two\nlines \u001b[31m\u202ered":1: x"#);
    // The name that is shown is the one that a model gives back.
    let again: String = serde_json::from_str(shown).unwrap();
    assert_eq!(scene.gives(&read(&format!("out/{again}"))), "x\n");
    let long = scene.refuses(&write(&format!("out/{}", "n".repeat(300)), "x"));
    assert!(long.contains("cannot be"), "{long}");
}

fn answers_are_masked_and_bounded() {
    let scene = ToolScene::confined(&[]);
    scene.put("secret.txt", format!("token {SECRET}\n"));
    assert_eq!(scene.gives(&read("secret.txt")), "token ***\n");
    assert_eq!(scene.gives(&search("token", ".")), "secret.txt:1: token ***");
    // A secret at the place of the cut.
    for before in 7_940..7_975 {
        scene.put("wide", format!("{}{SECRET}{}", "a".repeat(before), "b".repeat(20_000)));
        if before % 5 == 0 {
            let text = scene.gives(&read("wide"));
            assert!(!text.contains("hunter") && !text.contains("horse"), "{before}");
            assert!(text.contains(" characters cut …]") && text.chars().count() <= 16_000);
        }
    }
    for number in 0..1_500 {
        scene.put(&format!("many/{number:04}"), "match\n".repeat(2));
    }
    let listed = scene.gives(&list("many"));
    assert_eq!(listed.lines().count(), 1_001);
    assert!(listed.starts_with("0000\n0001\n") && listed.ends_with("0999\n[the first 1000 of 1500 entries]"));
    let found = scene.gives(&search("match", "many"));
    assert_eq!(found.lines().filter(|line| line.ends_with(": match")).count(), 200);
    assert!(found.ends_with("[the search ended early, because 200 lines match: narrow it down]"), "{found}");
    let named = ToolRequest::Search { pattern: "match".into(), path: None, glob: Some("many/149?".into()) };
    assert_eq!(scene.gives(&named).lines().count(), 20);
}

fn restricted_programs_do_not_matter() {
    let mut scene = ToolScene::confined(&["out"]);
    scene.site.command.sandbox.as_mut().unwrap().programs = Some(vec!["cat".into()]);
    assert_eq!(scene.gives(&write("out/a", "x")), "created `out/a`: 1 bytes");
    assert_eq!(scene.gives(&read("out/a")), "x");
}
