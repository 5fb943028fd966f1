//! The binary: parses arguments, calls `cli`, turns the result into an exit status.

fn main() {}
