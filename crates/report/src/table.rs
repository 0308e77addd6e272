use anstyle::Style;

use wf_base::untrusted::{DIM, paint, untrusted};

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnAlign {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows under a header, with columns as wide as their widest cell.
#[derive(Debug)]
pub struct TextTable {
    columns: Vec<(String, ColumnAlign)>,
    rows: Vec<Vec<(String, Style)>>,
}

impl TextTable {
    /// Begins a table with its header.
    pub fn new(columns: &[(&str, ColumnAlign)]) -> Self {
        let own = |(name, align): &(&str, ColumnAlign)| ((*name).to_owned(), *align);
        Self { columns: columns.iter().map(own).collect(), rows: Vec::new() }
    }

    /// Adds a row; each cell is on one line.
    pub fn row(&mut self, cells: Vec<(String, Style)>) {
        let safe = |(text, style): (String, Style)| (untrusted(&text).to_string(), style);
        self.rows.push(cells.into_iter().map(safe).collect());
    }

    /// True if no row was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table, two spaces between columns and none at the end of a line.
    pub fn render(&self) -> String {
        let widths = self.widths();
        let header: Vec<(String, Style)> = self.columns.iter().map(|(name, _)| (name.clone(), DIM)).collect();
        std::iter::once(&header).chain(&self.rows).map(|row| self.line(row, &widths)).collect()
    }

    fn widths(&self) -> Vec<usize> {
        let width = |at: usize, name: &str| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let widest = cells.map(|(text, _)| text.chars().count()).max();
            widest.unwrap_or(0).max(name.chars().count())
        };
        let columns = self.columns.iter().enumerate();
        columns.map(|(at, (name, _))| width(at, name)).collect()
    }

    fn line(&self, row: &[(String, Style)], widths: &[usize]) -> String {
        let mut line = String::new();
        let mut gap = 0;
        for (((text, style), width), (_, align)) in row.iter().zip(widths).zip(&self.columns) {
            let free = width - text.chars().count();
            if *align == ColumnAlign::Right {
                gap += free;
            }
            if !text.is_empty() {
                line.push_str(&" ".repeat(gap));
                line.push_str(&paint(*style, text));
                gap = 0;
            }
            if *align == ColumnAlign::Left {
                gap += free;
            }
            gap += 2;
        }
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnAlign, TextTable};
    use anstyle::Style;
    use wf_base::untrusted::plain;

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_space() {
        let mut table = TextTable::new(&[
            ("run", ColumnAlign::Left),
            ("took", ColumnAlign::Right),
            ("reason", ColumnAlign::Left),
        ]);
        for cells in [["a", "12.0s", "x"], ["bcdef", "", "y"], ["ü", "1s", ""]] {
            table.row(cells.map(|c| (c.to_owned(), Style::new())).into());
        }
        let expected = "run     took  reason\na      12.0s  x\nbcdef         y\nü         1s\n";
        assert_eq!(plain(&table.render()), expected);
    }
}
