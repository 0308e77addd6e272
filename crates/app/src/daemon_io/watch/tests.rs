use std::{
    fs,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::{Instant, timeout};

use super::{FileWatcher, MAX_DELAY, QUIET_PERIOD};

/// Longer than any change is held back.
const LONG: Duration = Duration::from_secs(10);

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    (dir, path)
}

fn write(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "x").unwrap();
}

async fn told(watch: &mut FileWatcher, what: &str) {
    let change = timeout(LONG, watch.wait_for_change()).await;
    change.unwrap_or_else(|_| panic!("{what} was not told")).unwrap();
}

async fn silent(watch: &mut FileWatcher, what: &str) {
    let change = timeout(QUIET_PERIOD * 3, watch.wait_for_change()).await;
    assert!(change.is_err(), "{what} was told");
}

/// Changes something below a folder.
type Change = fn(&Path);

#[tokio::test]
async fn each_kind_of_change_is_told_once() {
    let (_dir, path) = folder();
    write(&path.join("goals/deep/a.md"));
    let mut watch = FileWatcher::new(&[path.join("goals")], &[]).unwrap();
    silent(&mut watch, "nothing").await;
    let changes: [(&str, Change); 7] = [
        ("a new file", |p| write(&p.join("goals/b.md"))),
        ("a file further down", |p| write(&p.join("goals/deep/a.md"))),
        ("a save by renaming", |p| {
            write(&p.join("goals/.b.md.new"));
            fs::rename(p.join("goals/.b.md.new"), p.join("goals/b.md")).unwrap();
        }),
        ("a deletion", |p| {
            fs::remove_file(p.join("goals/b.md")).unwrap();
        }),
        ("a new folder", |p| {
            fs::create_dir(p.join("goals/new")).unwrap();
        }),
        ("a file in the new folder", |p| {
            write(&p.join("goals/new/c.md"));
        }),
        ("a link to a file", |p| {
            std::os::unix::fs::symlink("b", p.join("goals/l.md")).unwrap();
        }),
    ];
    for (what, change) in changes {
        change(&path);
        told(&mut watch, what).await;
        silent(&mut watch, what).await;
    }
}

#[tokio::test]
async fn what_tools_make_and_what_is_hidden_is_not_told() {
    let (_dir, path) = folder();
    for name in [".git/x", "target/x", "node_modules/x", "a/.wf/x"] {
        write(&path.join(name));
    }
    let mut watch = FileWatcher::new(std::slice::from_ref(&path), &[]).unwrap();
    for name in [".git/y", "target/d/y", "node_modules/y", "a/.wf/y", ".b.swp"] {
        write(&path.join(name));
    }
    silent(&mut watch, "what is skipped").await;
    write(&path.join("a/target"));
    told(&mut watch, "a file that is only named like a folder").await;
}

#[tokio::test]
async fn a_tree_that_was_moved_in_is_watched_and_one_moved_out_is_not() {
    let (_dir, path) = folder();
    write(&path.join("out/a/b/c.md"));
    fs::create_dir(path.join("in")).unwrap();
    let mut watch = FileWatcher::new(&[path.join("in")], &[]).unwrap();
    fs::rename(path.join("out/a"), path.join("in/a")).unwrap();
    told(&mut watch, "a moved tree").await;
    write(&path.join("in/a/b/c.md"));
    told(&mut watch, "a file in a moved tree").await;
    fs::rename(path.join("in/a"), path.join("out/a")).unwrap();
    told(&mut watch, "a tree that left").await;
    write(&path.join("out/a/b/c.md"));
    silent(&mut watch, "a file that is elsewhere").await;
}

#[tokio::test]
async fn what_does_not_exist_yet_is_waited_for() {
    let (_dir, path) = folder();
    let goals = path.join("a/b/goals");
    let file = path.join("c/wf.yaml");
    let mut watch = FileWatcher::new(std::slice::from_ref(&goals), std::slice::from_ref(&file)).unwrap();
    write(&path.join("unrelated"));
    silent(&mut watch, "what nobody waits for").await;
    fs::create_dir(path.join("a")).unwrap();
    told(&mut watch, "a part of the way").await;
    write(&goals.join("x/y.md"));
    told(&mut watch, "the folder").await;
    write(&goals.join("x/y.md"));
    told(&mut watch, "a file in the folder").await;
    write(&file);
    told(&mut watch, "the file").await;
    write(&path.join("c/other"));
    silent(&mut watch, "another file").await;
    fs::remove_dir_all(path.join("a")).unwrap();
    told(&mut watch, "the end of the folder").await;
    write(&goals.join("z.md"));
    told(&mut watch, "a new beginning").await;
    write(&goals.join("z.md"));
    told(&mut watch, "a change after it").await;
}

#[tokio::test]
async fn a_file_counts_by_its_name_and_by_what_it_leads_to() {
    let (_dir, path) = folder();
    let file = path.join("w/wf.yaml");
    write(&path.join("real/wf.yaml"));
    fs::create_dir(path.join("w")).unwrap();
    std::os::unix::fs::symlink(path.join("real/wf.yaml"), &file).unwrap();
    let mut watch = FileWatcher::new(&[], std::slice::from_ref(&file)).unwrap();
    write(&path.join("real/wf.yaml"));
    told(&mut watch, "the file behind the link").await;
    write(&path.join("w/new"));
    silent(&mut watch, "its neighbour").await;
    fs::rename(path.join("w/new"), &file).unwrap();
    told(&mut watch, "a file instead of the link").await;
    write(&path.join("real/wf.yaml"));
    silent(&mut watch, "what it led to before").await;
}

#[tokio::test]
async fn many_changes_are_one_and_none_waits_for_ever() {
    let (_dir, path) = folder();
    write(&path.join("a/f"));
    let mut watch = FileWatcher::new(std::slice::from_ref(&path), &[]).unwrap();
    let began = Instant::now();
    let busy = async {
        for number in 0.. {
            write(&path.join(format!("a/f{}", number % 7)));
            tokio::time::sleep(QUIET_PERIOD / 5).await;
        }
    };
    tokio::select! {
        () = told(&mut watch, "a storm") => {}
        () = busy => {}
    }
    let took = began.elapsed();
    assert!(took >= MAX_DELAY && took < LONG, "{took:?}");
}

/// Folders come, go and move in bursts; in the end exactly the existing ones are watched.
#[tokio::test]
async fn after_any_moves_just_what_is_there_is_watched() {
    let (_dir, path) = folder();
    let (within, outside) = (path.join("in"), path.join("out"));
    for folder in [&within, &outside] {
        fs::create_dir(folder).unwrap();
    }
    let mut watch = FileWatcher::new(std::slice::from_ref(&within), &[]).unwrap();
    let mut dice = 7_u64;
    let mut roll = |sides: usize| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(dice >> 33).unwrap() % sides
    };
    let all = |root: &Path| -> Vec<PathBuf> {
        let entries = walkdir::WalkDir::new(root).into_iter().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_dir());
        folders.map(walkdir::DirEntry::into_path).collect()
    };
    for burst in 0..12 {
        for number in 0..10 {
            let folders = [all(&within), all(&outside)].concat();
            let (from, to) = (&folders[roll(folders.len())], &folders[roll(folders.len())]);
            let new = to.join(format!("d{burst}-{number}"));
            // A senseless action, as a move into itself, fails, and that is fine.
            let _ = match roll(6) {
                0 | 1 => fs::rename(from, &new),
                2 if *from != within && *from != outside => fs::remove_dir_all(from),
                _ => fs::create_dir(&new),
            };
            for root in [&within, &outside] {
                let _ = fs::create_dir(root);
            }
        }
        write(&within.join("sign"));
        told(&mut watch, "a burst").await;
    }
    fs::create_dir_all(within.join("leaves/too")).unwrap();
    told(&mut watch, "a new tree").await;
    fs::rename(within.join("leaves"), outside.join("leaves")).unwrap();
    told(&mut watch, "its move").await;
    for folder in all(&within) {
        write(&folder.join("f"));
        told(&mut watch, &format!("a file in {}", folder.display())).await;
    }
    let number = watch.queue.as_raw_fd();
    let fdinfo = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap();
    let watched = fdinfo.lines().filter(|line| line.starts_with("inotify "));
    let there = all(&within).len();
    assert!(there > 3, "{there}");
    assert_eq!(watched.count(), there, "{fdinfo}");
    for folder in all(&outside) {
        write(&folder.join("f"));
    }
    silent(&mut watch, "a file outside").await;
}

#[tokio::test]
async fn a_wait_that_was_given_up_loses_nothing() {
    let (_dir, path) = folder();
    let mut watch = FileWatcher::new(std::slice::from_ref(&path), &[]).unwrap();
    write(&path.join("a"));
    assert!(timeout(QUIET_PERIOD / 4, watch.wait_for_change()).await.is_err());
    told(&mut watch, "what the first wait saw").await;
}

#[tokio::test]
async fn a_queue_that_ran_over_is_a_change() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    let (_dir, path) = folder();
    let mut watch = FileWatcher::new(std::slice::from_ref(&path), &[]).unwrap();
    // Names that do not count fill the queue; each differs from the one before, so that the kernel
    // does not merge them.
    for number in 0..=limit {
        fs::write(path.join(format!(".{}", number % 1000)), "").unwrap();
    }
    told(&mut watch, "the overflow").await;
    write(&path.join("new/a"));
    told(&mut watch, "a change after it").await;
}
