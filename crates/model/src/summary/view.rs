//! Tables of keys: what approvers read of a record is one entry for each of its keys.
//!
//! An entry is `RISK FIELD in SUBJECT as KEY = TEXT; DEFAULT`, of which the first two are needed: its key is then
//! the name of the field, its subject that of the table, its text the value, and it is never a default. The risks
//! are those of [`RiskDirection`](super::RiskDirection), of which `most` and `least` compare the values.
//!
//! Three words stand in the place of a risk: the lines of an entry `below` are those of a record, and their keys
//! begin with its key; those of an entry `own` come from a function of the field, and those of an entry `whole`
//! from a function of the record.

use super::SummaryBuilder;

/// A record whose keys are shown to approvers.
pub(crate) trait RecordView {
    /// Adds the lines of its keys.
    fn view(&self, summary: &mut SummaryBuilder);
}

impl<T: RecordView> RecordView for Box<T> {
    fn view(&self, summary: &mut SummaryBuilder) {
        self.as_ref().view(summary);
    }
}

impl<T: RecordView> RecordView for Option<T> {
    fn view(&self, summary: &mut SummaryBuilder) {
        if let Some(record) = self {
            record.view(summary);
        }
    }
}

/// Declares the [`RecordView`] of a record: its keys in the order of their lines. A key shown
/// elsewhere is `aside`; a field in neither list does not compile.
macro_rules! view {
    ($record:ident: $type:ident in $subject:ident {
        $(
            $risk:ident $field:ident $(in $own:ident)? $(as $key:literal)? $(= $text:expr)? $(; $default:expr)?
        ),* $(,)?
    } $(aside $($aside:ident),+)?) => {
        impl $crate::summary::RecordView for $type {
            fn view(&self, summary: &mut $crate::summary::SummaryBuilder) {
                let $record = self;
                let $type { $($field,)* $($($aside: _,)+)? } = $record;
                // The text of an entry may be made of something else.
                let _ = ($($field,)*);
                $(line!(
                    $risk summary $record $field, line!(@kind $($own)? $subject),
                    [$($key,)? stringify!($field)][0], line!(@text $field $($text)?), false $(|| $default)?
                );)*
            }
        }
    };
}

/// Adds lines to a sheet, from a table like that of a record. A key other than a literal stands in parentheses.
macro_rules! lines {
    ($summary:ident in $subject:ident {
        $($risk:ident $key:tt $(in $own:ident)? = $text:expr $(; $default:expr)?),* $(,)?
    }) => {
        {$(line!(
            $risk $summary $summary $summary, line!(@kind $($own)? $subject), $key, $text, false $(|| $default)?
        );)*}
    };
}

/// Adds the line of one entry.
macro_rules! line {
    (@kind $kind:ident $($of_table:ident)?) => { $crate::summary::SummaryLineKind::$kind };
    (@text $field:ident) => { $field };
    (@text $field:ident $text:expr) => { $text };
    (@risk plain) => { |_| $crate::summary::RiskDirection::Plain };
    (@risk grant) => { |_| $crate::summary::RiskDirection::Grant };
    (@risk guard) => { |_| $crate::summary::RiskDirection::Guard };
    (@risk most) => { $crate::summary::RiskDirection::AtMost };
    (@risk least) => { $crate::summary::RiskDirection::AtLeast };
    (below $summary:ident $record:ident $field:ident, $kind:expr, $key:expr, $inner:expr, $default:expr) => {
        $summary.below($key, |summary| $crate::summary::RecordView::view($inner, summary))
    };
    (own $summary:ident $record:ident $field:ident, $kind:expr, $key:expr, $add:expr, $default:expr) => {
        $add($field, $summary)
    };
    (whole $summary:ident $record:ident $field:ident, $kind:expr, $key:expr, $add:expr, $default:expr) => {
        $add($record, $summary)
    };
    ($risk:ident $summary:ident $record:ident $field:ident, $kind:expr, $key:expr, $text:expr, $default:expr) => {
        $summary.add($kind, line!(@risk $risk), $key, $text, $default)
    };
}
