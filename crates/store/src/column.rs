use rusqlite::{
    Row, RowIndex, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};
use serde::{
    Serialize,
    de::{DeserializeOwned, IntoDeserializer, value::StrDeserializer},
};

use wf_base::{name::RunId, time::Moment};

/// The value for no item in a column part of a key.
pub(super) const NO_ITEM: i64 = -1;

/// Returns a number as a column holds it, or the highest it can hold.
pub(super) fn integer(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// A column holding JSON.
pub(super) struct JsonColumn<T>(pub T);

/// A column holding a word, as serde writes a unit variant or a name.
pub(super) struct WordColumn<T>(pub T);

/// A column holding an instant, in milliseconds.
pub(super) struct MomentColumn(pub Moment);

/// A column holding an item, or [`NO_ITEM`].
pub(super) struct ItemColumn(pub Option<u32>);

/// The columns of a row, by their types; `_if`: a column that may be NULL.
pub(super) trait RowColumns {
    fn json<T: DeserializeOwned>(&self, column: impl RowIndex) -> rusqlite::Result<T>;
    fn json_if<T: DeserializeOwned>(&self, column: impl RowIndex) -> rusqlite::Result<Option<T>>;
    fn word<T: DeserializeOwned>(&self, column: impl RowIndex) -> rusqlite::Result<T>;
    fn word_if<T: DeserializeOwned>(&self, column: impl RowIndex) -> rusqlite::Result<Option<T>>;
    fn moment(&self, column: impl RowIndex) -> rusqlite::Result<Moment>;
    fn moment_if(&self, column: impl RowIndex) -> rusqlite::Result<Option<Moment>>;
    fn item(&self, column: impl RowIndex) -> rusqlite::Result<Option<u32>>;
    fn run(&self, column: impl RowIndex) -> rusqlite::Result<RunId>;
    fn run_if(&self, column: impl RowIndex) -> rusqlite::Result<Option<RunId>>;
}

impl RowColumns for Row<'_> {
    fn json<T: DeserializeOwned>(&self, column: impl RowIndex) -> rusqlite::Result<T> {
        self.get(column).map(|JsonColumn(value)| value)
    }

    fn json_if<T: DeserializeOwned>(&self, column: impl RowIndex) -> rusqlite::Result<Option<T>> {
        Ok(self.get::<_, Option<_>>(column)?.map(|JsonColumn(value)| value))
    }

    fn word<T: DeserializeOwned>(&self, column: impl RowIndex) -> rusqlite::Result<T> {
        self.get(column).map(|WordColumn(word)| word)
    }

    fn word_if<T: DeserializeOwned>(&self, column: impl RowIndex) -> rusqlite::Result<Option<T>> {
        Ok(self.get::<_, Option<_>>(column)?.map(|WordColumn(word)| word))
    }

    fn moment(&self, column: impl RowIndex) -> rusqlite::Result<Moment> {
        self.get(column).map(|MomentColumn(moment)| moment)
    }

    fn moment_if(&self, column: impl RowIndex) -> rusqlite::Result<Option<Moment>> {
        Ok(self.get::<_, Option<_>>(column)?.map(|MomentColumn(moment)| moment))
    }

    fn item(&self, column: impl RowIndex) -> rusqlite::Result<Option<u32>> {
        self.get(column).map(|ItemColumn(item)| item)
    }

    fn run(&self, column: impl RowIndex) -> rusqlite::Result<RunId> {
        self.get(column).map(|run: String| RunId::from_stored(run))
    }

    fn run_if(&self, column: impl RowIndex) -> rusqlite::Result<Option<RunId>> {
        Ok(self.get::<_, Option<String>>(column)?.map(RunId::from_stored))
    }
}

impl<T: DeserializeOwned> FromSql for JsonColumn<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let made = serde_json::from_str(value.as_str()?);
        made.map(Self).map_err(FromSqlError::other)
    }
}

impl<T: DeserializeOwned> FromSql for WordColumn<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word: StrDeserializer<'_, serde_json::Error> = value.as_str()?.into_deserializer();
        T::deserialize(word).map(Self).map_err(FromSqlError::other)
    }
}

impl FromSql for MomentColumn {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(|millis| Self(Moment::from_millis(millis)))
    }
}

impl FromSql for ItemColumn {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value.as_i64()? {
            NO_ITEM => Ok(Self(None)),
            item => {
                u32::try_from(item).map(|item| Self(Some(item))).map_err(|_| FromSqlError::OutOfRange(item))
            }
        }
    }
}

impl<T: Serialize> ToSql for JsonColumn<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text = serde_json::to_string(&self.0);
        text.map(ToSqlOutput::from).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}

impl<T: Serialize> ToSql for WordColumn<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let word = serde_json::to_value(&self.0).ok();
        let word = word.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
        Ok(ToSqlOutput::from(word.to_owned()))
    }
}

impl ToSql for MomentColumn {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.millis()))
    }
}

impl ToSql for ItemColumn {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.map_or(NO_ITEM, i64::from)))
    }
}
