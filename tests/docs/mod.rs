//! README, pages of docs, examples and policies.

mod documents;
