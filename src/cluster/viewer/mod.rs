//! What `bayplan ui` is made of beside the document: the cluster as watches show it, the tabs of a browser on this host, and
//! the address at which they find the page. `cli/ui` computes what is shown. Nothing here can write to the cluster: the
//! connection refuses to send anything but GET, and no file here uses the room's writes.
//!
//! - `follower.rs`: the cluster, followed by watches that all tabs share
//! - `desk.rs`: what tabs are shown and what they ask, and the thread that answers
//! - `server.rs`: the port of this host, and who is answered
//! - `session.rs`: all of it together, until a signal ends the process

pub mod desk;
pub mod follower;
pub mod server;
pub mod session;
