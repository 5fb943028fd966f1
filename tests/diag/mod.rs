//! Codes of diagnostics and the words of messages.

mod codes;
mod plain_english;
