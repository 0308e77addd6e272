use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::{CWD, RenameFlags, fstat, renameat_with};

use super::{ConfinedDir, PathLookupError};

/// The number of exchanges during concurrent lookups.
const TURNS: usize = 20_000;

/// A folder `root` with files and links in it, beside a file and a folder that are outside.
fn scene() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("sub/deep")).unwrap();
    fs::create_dir(dir.path().join("outside")).unwrap();
    for file in ["root/file", "root/sub/file", "only", "outside/only", "outside/file"] {
        fs::write(dir.path().join(file), "").unwrap();
    }
    for (target, link) in [
        ("sub/file", "link"),
        ("../file", "sub/up"),
        ("link", "chain"),
        ("sub", "folder"),
        ("..", "out"),
        ("../outside", "beside"),
        ("sub/../../only", "around"),
        ("/etc/passwd", "absolute"),
        ("loop", "loop"),
        ("nothing", "dangling"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    symlink(root.join("sub/file"), root.join("home")).unwrap();
    symlink(root.join("../only"), root.join("abroad")).unwrap();
    dir
}

#[test]
fn nothing_leads_out_however_it_is_looked_up() {
    let dir = scene();
    let root = dir.path().join("root");
    let beneath = ConfinedDir::open(&root).unwrap();
    let sub = "sub/file";
    let inside = root.display();
    for (path, found) in [
        ("file", Ok("file")),
        ("./sub//./file", Ok(sub)),
        ("sub/../sub/file", Ok(sub)),
        ("link", Ok(sub)),
        ("chain", Ok(sub)),
        ("folder/file", Ok(sub)),
        ("folder/up", Ok("file")),
        ("folder/deep/../../file", Ok("file")),
        ("sub", Ok("sub")),
        ("", Ok("")),
        (".", Ok("")),
        ("home", Ok(sub)),
        (&format!("{inside}/sub/file"), Ok(sub)),
        ("none", Err(PathLookupError::Absent)),
        ("none/deeper", Err(PathLookupError::Absent)),
        ("file/deeper", Err(PathLookupError::Absent)),
        ("dangling", Err(PathLookupError::Absent)),
        ("loop", Err(PathLookupError::Absent)),
        ("..", Err(PathLookupError::Outside)),
        ("../only", Err(PathLookupError::Outside)),
        ("../none", Err(PathLookupError::Outside)),
        ("../root/file", Err(PathLookupError::Outside)),
        ("out/only", Err(PathLookupError::Outside)),
        ("out/none", Err(PathLookupError::Outside)),
        ("beside/only", Err(PathLookupError::Outside)),
        ("around", Err(PathLookupError::Outside)),
        ("absolute", Err(PathLookupError::Outside)),
        ("abroad", Err(PathLookupError::Outside)),
        ("/etc/passwd", Err(PathLookupError::Outside)),
        (&format!("{inside}/../only"), Err(PathLookupError::Outside)),
        (&format!("{inside}x"), Err(PathLookupError::Outside)),
    ] {
        let inode = |path: &str| fs::metadata(root.join(path)).unwrap().ino();
        let found = found.map(inode);
        for result in [beneath.find(Path::new(path)), beneath.walk(Path::new(path))] {
            let result = result.map(|fd| fstat(fd).unwrap().st_ino);
            assert_eq!(result, found, "{path}");
        }
    }
    let file = |path: &str| beneath.is_file(Path::new(path));
    assert_eq!((file("link"), file("sub"), file("none")), (Ok(true), Ok(false), Ok(false)));
    assert_eq!(file("beside/only"), Err(PathLookupError::Outside));
    assert!(matches!(file("a\0b"), Err(PathLookupError::Failed(_))));
    assert!(matches!(file(&"x".repeat(300)), Err(PathLookupError::Failed(_))));
    assert_eq!(ConfinedDir::open(&root.join("none")).unwrap_err(), PathLookupError::Absent);
}

#[test]
fn folders_are_made_inside_alone() {
    let dir = scene();
    let root = dir.path().join("root");
    let beneath = ConfinedDir::open(&root).unwrap();
    let make = |path: &str| beneath.make_folder(Path::new(path));
    for path in ["", "sub", "new/deep/er", "folder/made", "sub/deep"] {
        assert_eq!(make(path), Ok(()), "{path}");
        assert!(root.join(path).is_dir(), "{path}");
    }
    for path in ["beside/made", "out/made", "../made", "absolute/made"] {
        assert_eq!(make(path), Err(PathLookupError::Outside), "{path}");
    }
    assert!(make("file/made").is_err() && make("file").is_err() && make("dangling").is_err());
    let beside: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(beside.len(), 3, "{beside:?}");
    assert!(!dir.path().join("outside/made").exists());
}

/// Looks up a path repeatedly while two names are exchanged. Returns the number of misses as
/// absent, and as outside.
fn race(dir: &Path, one: &str, other: &str, path: &str) -> [usize; 2] {
    let beneath = ConfinedDir::open(&dir.join("root")).unwrap();
    let over = AtomicBool::new(false);
    let mut missed = [0, 0];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (one, other) = (dir.join(one), dir.join(other));
            for _ in 0..TURNS {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
            over.store(true, Ordering::Relaxed);
        });
        let path = Path::new(path);
        while !over.load(Ordering::Relaxed) {
            for result in [beneath.find(path), beneath.walk(path)] {
                match result {
                    Err(PathLookupError::Absent) => missed[0] += 1,
                    Err(PathLookupError::Outside) => missed[1] += 1,
                    found => panic!("{path:?} was found, or failed: {found:?}"),
                }
            }
        }
    });
    missed
}

#[test]
fn a_folder_that_turns_into_a_link_leads_nowhere() {
    let dir = scene();
    let missed = race(dir.path(), "root/sub", "root/beside", "sub/only");
    assert!(missed.iter().sum::<usize>() > 0, "{missed:?}");
}

#[test]
fn a_folder_that_is_carried_away_has_nothing_above_it() {
    let dir = scene();
    fs::create_dir_all(dir.path().join("root/sub/inner")).unwrap();
    fs::create_dir_all(dir.path().join("outside/other")).unwrap();
    // Above what was carried away, two folders up, there is `only`; it is not below the root.
    let missed = race(dir.path(), "root/sub/inner", "outside/other", "sub/inner/../../only");
    assert!(missed[0] > 0, "{missed:?}");
}
