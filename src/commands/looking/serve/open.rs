//! The browser of a desktop, opening the link by itself.

use std::{
    ffi::OsStr,
    io::Write as _,
    process::{Command, Stdio},
};

use crate::Ui;
use wf_app::Caller as _;
use wf_base::untrusted::plain;

/// The variables of a desktop: one of them is set there.
const DESKTOPS: [&str; 2] = ["WAYLAND_DISPLAY", "DISPLAY"];

/// Opens a link in the browser of the desktop, if a person is at one. Other users see the arguments of programs, so what is
/// opened is a file that leads to the link and that they cannot read. The caller keeps the file until the browser has read it.
pub(super) fn open_link(ui: &Ui, link: &str) -> Option<tempfile::NamedTempFile> {
    let program = desktop_program(ui)?;
    let opened =
        write_redirect(ui, link).and_then(|file| start(program, file.path().as_os_str()).map(|()| file));
    match opened {
        Ok(file) => Some(file),
        Err(error) => {
            let reason = plain(&error.to_string());
            ui.print_info(&format!(
                "the browser cannot be opened ({program}: {reason}): open the link yourself\n"
            ));
            None
        }
    }
}

/// Opens a page of the workspace, if a server shows them, and says where it is. Its address has no key.
pub fn open_page(ui: &Ui, path: &str) -> String {
    let Some(origin) = wf_web::served_address(&ui.host) else {
        return "No server shows pages now: `wf serve` in another terminal starts one.".to_owned();
    };
    let address = format!("{origin}{path}");
    let is_opened = desktop_program(ui).is_some_and(|program| start(program, address.as_ref()).is_ok());
    if is_opened { format!("Opened {address}") } else { format!("The page is at {address}") }
}

/// Returns the program that opens a file or an address, if a person is at a desktop.
fn desktop_program(ui: &Ui) -> Option<&'static str> {
    let has_desktop = cfg!(target_os = "macos")
        || DESKTOPS.iter().any(|name| ui.host.var(name).is_some_and(|value| !value.is_empty()));
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    (ui.is_interactive() && has_desktop).then_some(program)
}

fn write_redirect(ui: &Ui, link: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = ui.host.var("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, Into::into);
    // Only its owner can read a temporary file.
    let mut file = tempfile::Builder::new().prefix("wf-serve-").suffix(".html").tempfile_in(folder)?;
    // A key has digits alone, and an address no quotation marks.
    writeln!(
        file,
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={link}\"><a href=\"{link}\">wf</a>"
    )?;
    file.flush()?;
    Ok(file)
}

fn start(program: &str, subject: &OsStr) -> std::io::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a browser belongs to the desktop, and outlives the command"
    )]
    let mut command = Command::new(program);
    command.arg(subject).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}
