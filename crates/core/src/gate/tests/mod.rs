pub(crate) mod sample;
