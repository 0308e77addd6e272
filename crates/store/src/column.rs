use rusqlite::{
    ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};
use serde::{
    Serialize,
    de::{DeserializeOwned, IntoDeserializer, value::StrDeserializer},
};

use wf_base::time::Moment;

/// The value for no item in a column part of a key.
pub(super) const NO_ITEM: i64 = -1;

/// A column holding JSON.
pub(super) struct JsonColumn<T>(pub T);

/// A column holding a word, as serde writes a unit variant or a name.
pub(super) struct WordColumn<T>(pub T);

/// A column holding an instant, in milliseconds.
pub(super) struct MomentColumn(pub Moment);

/// A column holding an item, or [`NO_ITEM`].
pub(super) struct ItemColumn(pub Option<u32>);

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
