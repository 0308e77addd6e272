mod files;
mod words;
