//! A link as a QR code, for the camera of a phone.

use anstyle::AnsiColor;
use fast_qr::{ECL, QRBuilder, QRCode};

use wf_app::{CliExitCode, CommandError};
use wf_base::untrusted::paint;

/// The light modules around a code, by its standard.
const MARGIN: usize = 4;

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
    let lines = (0..code.size + 2 * MARGIN).step_by(2);
    Ok(lines.map(|row| format!("{}\n", paint(style, &code_line(&code, row)))).collect())
}

/// Returns two rows of modules, those of the margin counted.
fn code_line(code: &QRCode, row: usize) -> String {
    let is_dark = |row: usize, column: usize| {
        let inner = row.checked_sub(MARGIN).zip(column.checked_sub(MARGIN));
        inner.is_some_and(|(row, column)| {
            row < code.size
                && code[row].get(column).filter(|_| column < code.size).is_some_and(|module| module.value())
        })
    };
    let pair = |column| match (is_dark(row, column), is_dark(row + 1, column)) {
        (true, true) => ' ',
        (true, false) => '▄',
        (false, true) => '▀',
        (false, false) => '█',
    };
    (0..code.size + 2 * MARGIN).map(pair).collect()
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
        assert!(code.lines().all(|line| line.starts_with("████") && line.ends_with("████")), "{code}");
        let ends = [code.lines().next(), code.lines().nth(1), code.lines().last()];
        assert!(ends.iter().flatten().all(|line| line.chars().all(|module| module == '█')), "{code}");
    }

    #[test]
    fn no_code_leads_a_phone_to_itself() {
        let refused = link_code("http://localhost:8420/login?key=1").unwrap_err();
        assert!(refused.message.contains("this machine alone"), "{refused:?}");
    }
}
