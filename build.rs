//! Leaves the tables for unwinding out of the released program: a panic ends it (`panic = "abort"`),
//! so nobody reads them, and they are a twelfth of it. The compiler writes them on some systems
//! nevertheless; the linker drops them here.

#![expect(
    clippy::disallowed_methods,
    reason = "the environment is all that a build script is told by"
)]

use std::path::Path;
use std::{env, fs, io};

/// Added to the linker's own script, not in place of it.
const DROP: &str = "SECTIONS { /DISCARD/ : { *(.eh_frame .eh_frame_hdr .gcc_except_table .gcc_except_table.*) } } INSERT AFTER .text;\n";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // A profiler wants them, so a build with places in the source keeps them. A linker that was chosen
    // may not know such scripts.
    let chosen = env::var_os("RUSTC_LINKER").is_some()
        || env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("link"));
    let released = is("PROFILE", "release") && is("DEBUG", "false");
    if released && is("CARGO_CFG_TARGET_OS", "linux") && !chosen {
        let out = env::var("OUT_DIR").map_err(io::Error::other)?;
        let script = Path::new(&out).join("drop.ld");
        fs::write(&script, DROP)?;
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
    Ok(())
}
