//! A run as the store remembers it.
