//! A link as a QR code, for the camera of a phone.

use anstyle::AnsiColor;
use fast_qr::{ECL, QRBuilder};

use wf_app::{CliExitCode, CommandError};
use wf_base::untrusted::paint;

/// Returns the code of a link, with a margin, two rows to a line.
pub(super) fn link_code(link: &str) -> Result<String, CommandError> {
    if !link.starts_with("https://") {
        let message = "a phone cannot reach these pages: they are served to this machine alone";
        let hint = "let a proxy with TLS pass requests on: wf serve --public-url https://NAME";
        return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
    }
    let code = QRBuilder::new(link).ecl(ECL::L).build().map_err(|error| {
        CommandError::new(CliExitCode::Usage, format!("the link fits into no QR code: {error}"))
    })?;
    // The code is made of its light parts, so its colours are its own.
    let style = AnsiColor::BrightWhite.on(AnsiColor::Black);
    Ok(code.to_str().lines().map(|line| format!("{}\n", paint(style, line))).collect())
}

#[cfg(test)]
mod tests {
    use super::link_code;
    use wf_base::untrusted::plain;

    #[test]
    fn a_code_is_a_square_with_a_margin() {
        let code =
            link_code(&format!("https://wf.example.org/login?key={}", "0123456789".repeat(4))).unwrap();
        let code = plain(&code);
        let widths: Vec<usize> = code.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{code}");
        assert!(widths.len() * 2 >= widths[0] && widths.len() * 2 <= widths[0] + 2, "{code}");
        assert!(code.lines().all(|line| line.starts_with('█') || line.starts_with('▄')), "{code}");
    }

    #[test]
    fn no_code_leads_a_phone_to_itself() {
        let refused = link_code("http://localhost:8420/login?key=1").unwrap_err();
        assert!(refused.message.contains("this machine alone"), "{refused:?}");
    }
}
