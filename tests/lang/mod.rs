//! The policy language, from text to compiled policy. `properties` tries random policies on random
//! clusters.

mod cel;
mod cel_calls;
mod cel_conformance;
mod cel_random;
mod cel_syntax;
mod cel_twins;
mod check;
mod claims;
mod compile_limits;
mod design;
mod convert;
mod converted_meaning;
mod documents;
mod fix_all;
mod fixes;
mod fixtures;
mod functions_and_fields;
mod injected;
mod hostile;
mod percent;
pub(crate) mod properties;
mod statement_table;
mod syntax;
mod uses;
mod values;
mod ways_out;
