//! The command that saves a cluster as a file with every kind of object that decisions read. Help, messages and
//! documentation have it from here.

use bayplan_model::KINDS;

/// Prints the objects of a cluster.
pub fn command() -> String {
    let plurals: Vec<&str> = KINDS.iter().map(|row| row.plural).collect();
    format!("kubectl get {} -A -o json", plurals.join(","))
}

/// Saves the objects of a cluster in `cluster.json`.
pub fn to_file() -> String {
    format!("{} > cluster.json", command())
}
