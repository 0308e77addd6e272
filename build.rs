//! Names the commit of a released program, and makes it smaller, by what the linker is told.
//!
//! - A program for development lies at a fixed place: the tests start it thousands of times, and half of the time of a start went
//!   into adapting its 340,000 pointers to a place of chance.
//! - Of a released program, the tables for unwinding are left out: a panic ends it (`panic = "abort"`), so nobody reads them, and
//!   they are a twelfth of it. The compiler writes them on some systems nevertheless.
//! - The places that the dynamic linker adapts to where the program lies are listed in the short form
//!   (`DT_RELR`): another tenth. glibc reads it since 2.36, so a program that is built on an older system, or
//!   for another one, keeps the long form.

#![expect(clippy::disallowed_methods, reason = "the environment is all that a build script is told by")]

use std::{env, fs, io, path::Path, process::Command};

/// Added to the linker's own script, not in place of it.
const DROP: &str = "SECTIONS { /DISCARD/ : { *(.eh_frame .eh_frame_hdr .gcc_except_table .gcc_except_table.*) } } INSERT AFTER .text;\n";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    name_commit();
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // A profiler wants them, so a build with places in the source keeps them. A linker that was chosen
    // may not know such scripts.
    let chosen = env::var_os("RUSTC_LINKER").is_some()
        || env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("link"));
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    let released = is("PROFILE", "release") && is("DEBUG", "false");
    if released && is("CARGO_CFG_TARGET_OS", "linux") && !chosen {
        if is("CARGO_CFG_TARGET_ENV", "gnu") && env::var("HOST") == env::var("TARGET") && reads_short() {
            println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
        let out = env::var("OUT_DIR").map_err(io::Error::other)?;
        let script = Path::new(&out).join("drop.ld");
        fs::write(&script, DROP)?;
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
    Ok(())
}

/// Names the commit of the sources in a released program, where they are in a repository or in a package made from one. A program
/// for development does without: it would be built anew for each commit.
fn name_commit() {
    let is_released = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if is_released { find_commit() } else { None };
    println!("cargo::rustc-env=WF_COMMIT={}", commit.unwrap_or_default());
}

/// Returns the commit of the sources: of their repository, or as cargo notes it in a package.
fn find_commit() -> Option<String> {
    const LENGTH: usize = 12;
    let commit = if Path::new(".git").exists() {
        for path in [".git/HEAD", ".git/logs/HEAD"] {
            println!("cargo::rerun-if-changed={path}");
        }
        let asked = Command::new("git").args(["rev-parse", "HEAD"]).output().ok()?;
        String::from_utf8(asked.stdout).ok()?
    } else {
        let noted = fs::read_to_string(".cargo_vcs_info.json").ok()?;
        noted.split_once("\"sha1\": \"")?.1.to_owned()
    };
    let is_commit = |text: &&str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    commit.get(..LENGTH).filter(is_commit).map(str::to_owned)
}

/// Whether the C library here reads the short form; where it does not say which one it is, it does not.
fn reads_short() -> bool {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let told = told.map(|told| String::from_utf8_lossy(&told.stdout).into_owned());
    let told = told.unwrap_or_default();
    // As in `glibc 2.36`.
    let number = told.split_whitespace().nth(1).unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next(), parts.next()) >= (Some(2), Some(36))
}
