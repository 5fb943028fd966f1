//! The tables of the program as pages: what `bayplan help TOPIC` prints and what the generated pages
//! of `docs/` hold.
//!
//! A topic is a row of [`TOPICS`]. Its page is made from the table that the program itself reads
//! (fields, functions, codes, …), so that the reference cannot differ from the program. Guides are
//! Markdown files of `docs/`, built into the binary. `tests/docs/generated_pages.rs` compares the files with the
//! pages; `make golden` writes them.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod codes;
mod document_schema;
mod documents;
mod exit_status;
mod fields;
mod functions;
mod json;
mod markdown;
mod page;
pub mod search;
mod statements;
mod test_files;
mod topics;

pub use codes::look_up as code;
pub use document_schema::document_schema;
pub use exit_status::{EXIT_STATUSES, ExitRow};
pub use json::{SHAPES, Shape};
pub use page::{Block, Page};
pub use search::Part;
pub use topics::{Content, Found, TOPICS, Topic, topic};
