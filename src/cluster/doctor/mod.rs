//! What is wrong with an installation, and what to type. `gather` reads the cluster once and writes nothing; `facts` has what
//! it found; `checks` are functions of the facts, one file each, with the table of them. Called by `bayplan doctor`, which
//! knows what the flags of an installation mean.

pub mod bundle;
pub mod checks;
pub mod facts;
pub mod finding;
pub mod gather;
mod port;
