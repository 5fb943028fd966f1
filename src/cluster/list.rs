//! The cluster as it stands, read once and never written: what `explain`, `dry-run` and `eval` decide on when they are
//! asked about a live cluster. The objects are kept whole, as those of files are. Called by `cli`; which texts of the
//! policy objects decide is `policy_list`'s.

use super::client::{Api, ApiError, ConnectError, Request, Target};
use super::informers::{self, RESOURCES};
use super::limiter::Limiter;
use super::objects::{Slim, Whole};
use super::policy_list::{self, PolicyObject};
use super::watch::{self, Collection};
use crate::model::{Kind, Object};
use serde_json::Value;
use std::time::Duration;

/// What is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How the API server is found.
    pub target: Target,
    /// Whether policies are read.
    pub policies: Policies,
}

/// Which policies are read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Policies {
    /// None.
    #[default]
    No,
    /// Those of these namespaces; without a name, of all. When they may not be read, nothing is.
    In(Vec<String>),
    /// The same, and when they may not be read the rest goes on without them.
    IfAllowed(Vec<String>),
}

/// A cluster that was read.
#[derive(Debug, Default)]
pub struct Listed {
    /// Nodes, namespaces, and pods that have not ended.
    pub objects: Vec<Object>,
    /// The policy objects, older ones first.
    pub policies: Vec<PolicyObject>,
    /// What is missing from all this, and why.
    pub missing: Vec<String>,
    /// The namespace of the context.
    pub namespace: String,
    /// The server's URL.
    pub server: String,
}

/// Why there is nothing to decide on.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// No connection can be made.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The API server cannot be reached.
    #[error(
        "cannot reach the API server {server}: {why}; is this the cluster you mean? `--context NAME` takes another one"
    )]
    Unreachable {
        /// Its URL.
        server: String,
        /// What happened.
        why: String,
    },
    /// Credentials are refused.
    #[error(
        "the API server {server} does not accept your credentials ({why}): is the token expired? log in again, or take \
         others with `--context NAME` or `--kubeconfig FILE`"
    )]
    Unauthorized {
        /// Its URL.
        server: String,
        /// Its words.
        why: String,
    },
    /// What must be read may not be.
    #[error("{message}; add this rule to your role: {rule}{otherwise}")]
    Forbidden {
        /// The server's words.
        message: String,
        /// The rule, with all that is forbidden.
        rule: String,
        /// Another way, when there is one.
        otherwise: &'static str,
    },
    /// Anything else.
    #[error("cannot list {resource}: {why}")]
    Failed {
        /// The resource's plural name.
        resource: &'static str,
        /// What happened.
        why: ApiError,
    },
    /// The machine refuses.
    #[error("cannot start: {0}")]
    System(std::io::Error),
}

/// How long the first answer may take.
const FIRST: Duration = Duration::from_secs(10);
/// How often a list is tried when what stops it may pass.
const TRIES: u32 = 3;

/// Reads the cluster.
pub fn read(options: &Options) -> Result<Listed, ListError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ListError::System)?;
    let listed = runtime.block_on(read_all(options));
    runtime.shutdown_timeout(Duration::from_millis(200));
    listed
}

async fn read_all(options: &Options) -> Result<Listed, ListError> {
    let api = Api::new(&options.target, Limiter::unlimited()).await?;
    reach(&api).await?;
    let [pods, nodes, namespaces] = &RESOURCES;
    let (policies, pods, nodes, namespaces) = tokio::join!(
        policy_list::read(&api, &options.policies),
        kind(&api, pods),
        kind(&api, nodes),
        kind(&api, namespaces)
    );
    let mut listed = Listed {
        namespace: api.namespace().to_owned(),
        server: api.server().to_owned(),
        ..Listed::default()
    };
    let mut refused = Refused::default();
    // Nodes first, so that they stand in the order of their names whatever is on them.
    for (read, needed) in [(nodes, true), (namespaces, false), (pods, true)] {
        match read.result {
            Ok((objects, unusable)) => {
                listed.objects.extend(objects);
                listed.missing.extend(unusable);
            }
            Err(why) => refused.add(read.collection, why, needed)?,
        }
    }
    match policies {
        Ok((objects, missing)) => {
            listed.policies = objects;
            listed.missing.extend(missing);
        }
        Err((collection, why)) => {
            refused.add(collection, why, !matches!(options.policies, Policies::IfAllowed(_)))?;
        }
    }
    listed.missing.extend(refused.judge()?);
    Ok(listed)
}

/// What may not be listed. All of it is told at once: whoever has to ask for rights asks once.
#[derive(Default)]
struct Refused {
    of: Vec<(Collection, String, bool)>,
}

impl Refused {
    fn add(&mut self, collection: Collection, why: ApiError, needed: bool) -> Result<(), ListError> {
        match why {
            ApiError::Status { code: 403, message, .. } => {
                self.of.push((collection, message, needed));
                Ok(())
            }
            why => Err(ListError::Failed { resource: collection.resource, why }),
        }
    }

    /// What is said of that which goes on without; an error when something cannot.
    fn judge(self) -> Result<Vec<String>, ListError> {
        let needed = self.of.iter().find(|(_, _, needed)| *needed);
        let Some((collection, message, _)) = needed else {
            let said = self.of.iter().map(|(collection, message, _)| {
                let rule = collection.rule(&["list"]);
                let what = match collection.resource {
                    "configmaps" => "the policies of the cluster",
                    resource => resource,
                };
                format!("{message}; it goes on without {what}; add this rule to your role: {rule}")
            });
            return Ok(said.collect());
        };
        let mut resources: Vec<&str> = self
            .of
            .iter()
            .filter(|(other, _, _)| other.group == collection.group)
            .map(|(other, _, _)| other.resource)
            .collect();
        resources.dedup();
        let otherwise = match collection.resource {
            "configmaps" => {
                "; or name the namespaces you may read with `--policy-namespaces`, or give the policies as files with \
                 `--policies`"
            }
            _ => "",
        };
        let rule = watch::rule(collection.group, &resources, &["list"]);
        Err(ListError::Forbidden { message: message.clone(), rule, otherwise })
    }
}

/// Whether the server is there and knows us: soon, and before many lists fail with the same words.
async fn reach(api: &Api) -> Result<(), ListError> {
    let server = api.server().to_owned();
    match api.call::<Value>(Request::get("/version").within(FIRST)).await {
        // Whoever may not read the version may still list.
        Ok(_) | Err(ApiError::Status { code: 403, .. }) => Ok(()),
        Err(ApiError::Status { code: 401, message, .. }) => {
            Err(ListError::Unauthorized { server, why: message })
        }
        Err(ApiError::NotSent(why) | ApiError::Lost(why)) => Err(ListError::Unreachable { server, why }),
        Err(other) => Err(ListError::Unreachable { server, why: other.to_string() }),
    }
}

/// What became of one collection.
struct Read {
    collection: Collection,
    /// The objects, and what is said of those that cannot be used.
    result: Result<(Vec<Object>, Vec<String>), ApiError>,
}

async fn kind(api: &Api, (kind, _): &(Kind, &'static str)) -> Read {
    let collection = informers::collection(kind);
    let result = match kind {
        Kind::Pod => parsed::<Whole<0>>(api, &collection).await,
        Kind::Node => parsed::<Whole<1>>(api, &collection).await,
        Kind::Namespace => parsed::<Whole<2>>(api, &collection).await,
    };
    Read { collection, result }
}

async fn parsed<T: Slim>(api: &Api, collection: &Collection) -> Result<(Vec<Object>, Vec<String>), ApiError> {
    let (mut objects, mut unusable) = (Vec::new(), Vec::new());
    for object in listed::<T>(api, collection).await? {
        match object.parse() {
            Ok(object) => objects.push(object),
            Err(error) => {
                let key = object.key();
                let name =
                    if key.namespace.is_empty() { String::new() } else { format!("{}/", key.namespace) };
                let what = collection.resource;
                unusable
                    .push(format!("left out of {what}: `{name}{}`, which cannot be used: {error}", key.name));
            }
        }
    }
    Ok((objects, unusable))
}

/// The objects of a collection. A server that is busy, and a list that grew old between two pages, are asked again.
pub(super) async fn listed<T: watch::Watched>(
    api: &Api,
    collection: &Collection,
) -> Result<Vec<T>, ApiError> {
    let mut tries = 1;
    loop {
        match watch::list::<T>(api, collection).await {
            Ok((objects, _)) => return Ok(objects),
            Err(error) if tries < TRIES && (error.is_passing() || error.code() == Some(410)) => {
                tokio::time::sleep(Duration::from_millis(300) * tries).await;
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden(resource: &'static str, needed: bool, refused: &mut Refused) {
        let collection = Collection { path: String::new(), resource, group: "", selectors: String::new() };
        let message = format!("User \"u\" cannot list resource \"{resource}\"");
        let why = ApiError::Status { code: 403, reason: "Forbidden".into(), message, retry_after: None };
        assert!(refused.add(collection, why, needed).is_ok());
    }

    #[test]
    fn one_rule_names_all_that_is_forbidden() {
        let mut refused = Refused::default();
        forbidden("namespaces", false, &mut refused);
        forbidden("nodes", true, &mut refused);
        assert_eq!(
            refused.judge().unwrap_err().to_string(),
            "User \"u\" cannot list resource \"nodes\"; add this rule to your role: {apiGroups: [\"\"], resources: \
             [\"namespaces\", \"nodes\"], verbs: [\"list\"]}"
        );
    }

    #[test]
    fn what_only_helps_is_left_out_and_said() {
        let mut refused = Refused::default();
        forbidden("namespaces", false, &mut refused);
        assert_eq!(
            refused.judge().unwrap(),
            [
                "User \"u\" cannot list resource \"namespaces\"; it goes on without namespaces; add this rule to your \
              role: {apiGroups: [\"\"], resources: [\"namespaces\"], verbs: [\"list\"]}"
            ]
        );
    }
}
