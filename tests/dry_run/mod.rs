//! The cluster in memory: files of policy tests.

mod test_files;
