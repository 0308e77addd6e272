use std::fs;

use crate::{
    NamedTest,
    scene::{ToolScene, edit, list, read, run, search, write},
};

pub(crate) const TESTS: &[NamedTest] = &[
    ("nothing_outside_is_reached", nothing_outside_is_reached),
    ("links_inside_lead_where_they_lead", links_inside_lead_where_they_lead),
    ("only_what_is_allowed_is_written", only_what_is_allowed_is_written),
    ("a_single_file_may_be_writable", a_single_file_may_be_writable),
    ("files_of_git_and_wf_are_not_written", files_of_git_and_wf_are_not_written),
    ("no_tool_makes_a_repository", no_tool_makes_a_repository),
    ("what_is_hidden_stays_hidden", what_is_hidden_stays_hidden),
];

fn nothing_outside_is_reached() {
    for scene in ToolScene::both() {
        scene.link("out/file-link", "../../secret");
        scene.link("out/absolute-link", scene.at("../secret"));
        scene.link("out/folder-link", "../..");
        scene.link("out/dangling", "../../new");
        scene.link("out/chain", "file-link");
        scene.link("out/descriptors", "/proc/self/fd");
        scene.link("out/root", "/proc/self/root/etc");
        let absolute = scene.at("../secret").display().to_string();
        let mut paths =
            ["../secret", "/etc/passwd", "src/../../secret", "out/file-link", "out/chain"].to_vec();
        paths.extend(["out/absolute-link", "out/folder-link/secret", "out/descriptors/3", "out/root/passwd"]);
        paths.extend(["..", "/", "out/dangling", "/proc/self/environ", &absolute, "out/../..//secret"]);
        for path in paths {
            let told = format!("`{path}` is outside of the workspace; only paths below its root can be used");
            for request in
                [read(path), list(path), search(".", path), write(path, "x"), edit(path, "outside", "x")]
            {
                assert_eq!(scene.refuses(&request), told, "{request:?}");
            }
        }
        for path in ["../new", "out/folder-link/new", "out/folder-link/deep/new", "/tmp/wf-agent-tool-new"] {
            assert!(scene.refuses(&write(path, "x")).contains("is outside of the workspace"), "{path}");
        }
        // Links are no part of a search.
        assert_eq!(scene.gives(&search("outside|root:", ".")), "[no match in 3 files]");
        assert_eq!(scene.text("../secret"), "outside");
        let mut beside = fs::read_dir(scene.at("..")).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(beside.all(|name| name == "ws" || name == "secret"));
    }
}

fn links_inside_lead_where_they_lead() {
    for scene in ToolScene::both() {
        scene.link("out/link.txt", "old.txt");
        scene.link("here", "out");
        scene.link("loop", "loop");
        scene.link("out/hooks", "../.git");
        assert_eq!(scene.gives(&read("here/link.txt")), "old\n");
        scene.gives(&write("here/link.txt", "new\n"));
        assert!(scene.at("out/link.txt").is_symlink());
        assert_eq!(scene.text("out/old.txt"), "new\n");
        scene.gives(&write("here/more/new.txt", "x"));
        assert_eq!(scene.text("out/more/new.txt"), "x");
        assert_eq!(scene.refuses(&read("loop")), "`loop` does not exist");
        for path in ["out/hooks/config", "out/hooks/new", "out/hooks/deep/new"] {
            let told = scene.refuses(&write(path, "x"));
            assert!(told.ends_with("`.git` and `.wf` belong to git and to wf"), "{told}");
        }
        assert_eq!(scene.gives(&list(".git")), "config");
        assert_eq!(scene.gives(&list(".")).lines().filter(|line| *line == "here -> out").count(), 1);
    }
}

fn only_what_is_allowed_is_written() {
    let scene = ToolScene::confined(&["out", "made"]);
    let only = "cannot be written: the step may write only `out`, `made` (`allow.write`)";
    for request in [
        write("src/main.rs", "x"),
        write("src/new.rs", "x"),
        write("new/deep.rs", "x"),
        write("new.rs", "x"),
        edit("src/main.rs", "start", "stop"),
    ] {
        let told = scene.refuses(&request);
        assert!(told.ends_with(only), "{request:?}: {told}");
    }
    assert!(scene.text("src/main.rs").contains("start"));
    assert!(!scene.at("new").exists() && !scene.at("new.rs").exists());
    scene.gives(&write("made/it.txt", "x"));
    let scene = ToolScene::confined(&[]);
    let told = scene.refuses(&write("out/old.txt", "x"));
    assert!(told.ends_with("the step may write no file of the workspace (`allow.write` is empty)"), "{told}");
}

fn a_single_file_may_be_writable() {
    let scene = ToolScene::confined(&["out/old.txt"]);
    assert_eq!(
        scene.gives(&write("out/old.txt", "longer than before\n")),
        "replaced `out/old.txt`: 19 bytes"
    );
    scene.gives(&edit("out/old.txt", "longer than before", "short"));
    assert_eq!(scene.text("out/old.txt"), "short\n");
    assert!(scene.refuses(&write("out/new.txt", "x")).contains("only `out/old.txt`"));
}

fn files_of_git_and_wf_are_not_written() {
    let all = [ToolScene::confined(&["."]), ToolScene::confined(&[".", ".git"]), ToolScene::open()];
    for scene in all {
        for path in [
            ".git/config",
            ".git/hooks/new",
            "sub/.git/config",
            ".wf/state",
            ".git",
            "./.git/x",
            "src/../.wf/x",
        ] {
            let told = scene.refuses(&write(path, "x"));
            assert_eq!(told, format!("`{path}` cannot be written: `.git` and `.wf` belong to git and to wf"));
        }
        assert!(scene.refuses(&edit(".git/config", "core", "x")).contains("belong to git"));
        assert_eq!(scene.text(".git/config"), "[core]\n");
        assert!(!scene.at("sub").exists());
    }
    // A control file that is missing cannot be protected before it is created.
    let scene = ToolScene::confined(&["."]);
    let told = scene.refuses(&write("wf.yaml", "sandbox: off\n"));
    assert!(told.contains("`wf.yaml` was created, and was moved to `wf.yaml.refused`"), "{told}");
    assert!(!scene.at("wf.yaml").exists());
    scene.put("wf.yaml", "models: {}\n");
    assert!(scene.refuses(&write("wf.yaml", "sandbox: off\n")).contains("`wf.yaml` cannot be written"));
    assert_eq!(scene.text("wf.yaml"), "models: {}\n");
}

fn no_tool_makes_a_repository() {
    let scene = ToolScene::confined(&["."]);
    let told = scene.refuses(&run("mkdir -p new/.git; echo x > new/.git/config"));
    assert!(told.contains("`new/.git` was created, and was moved to `new/.git.refused`"), "{told}");
    assert!(!scene.at("new/.git").exists());
    // Each call by itself makes none.
    scene.gives(&run("mkdir -p bare/objects; echo x > bare/config"));
    scene.gives(&write("bare/HEAD", "ref: refs/heads/main\n"));
    let told = scene.refuses(&write("bare/refs/heads/main", "x"));
    assert!(told.contains("`bare` is a git repository, or would be one"), "{told}");
    assert!(!scene.at("bare/refs").exists());
    let told = scene.refuses(&run("mkdir bare/refs"));
    assert!(told.contains("`bare/HEAD` was created, which makes `bare` a git repository"), "{told}");
    assert!(!scene.at("bare/HEAD").exists());
    // One that somebody else made is not changed.
    scene.put("other.git/HEAD", "x");
    scene.put("other.git/commondir", "x");
    assert!(scene.refuses(&write("other.git/config", "x")).contains("a git repository"));
    assert!(scene.refuses(&run("echo x > other.git/config")).contains("Read-only file system"));
    // By its exact name it is the work of the step.
    let scene = ToolScene::confined(&[".", "new/.git"]);
    scene.gives(&run("mkdir -p new && test ! -e new/.git && mkdir new/.git && echo x > new/.git/config"));
    assert_eq!(scene.text("new/.git/config"), "x\n");
}

fn what_is_hidden_stays_hidden() {
    let scene = ToolScene::confined(&["out"]);
    assert_eq!(scene.refuses(&read(".wf/state")), "`.wf/state` does not exist");
    // The one file there keeps the folder out of what git lists.
    assert_eq!(scene.gives(&list(".wf")), ".gitignore");
    assert_eq!(scene.gives(&read("unseen.txt")), "[the file is empty]");
    assert_eq!(scene.gives(&search("the state|unseen", ".wf")), "[no match in 1 file]");
    // The files of the system are not of the workspace, though a script could see them.
    assert!(scene.refuses(&read("/etc/shadow")).contains("is outside of the workspace"));
}
