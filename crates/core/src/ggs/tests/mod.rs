mod properties;
mod table;
