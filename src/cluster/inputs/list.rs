//! Reads a live cluster once, for `explain`, `dry-run` and `eval`, and never writes. As with files,
//! objects are kept whole. Called by `cli`; `policies::listing` decides which texts of the policy objects
//! are in service.

use super::informers;
use super::kinds;
use super::objects::{Extended, OfCollection, Slim};
use super::watch::{self, Collection};
use crate::api::client::{Api, ApiError, ConnectError, Request, Target};
use crate::policies::listing::{self, PolicyObjects};
use crate::process::published::{self, Running};
use bayplan_lang::analysis::cost::Size;
use bayplan_lang::types::ObjectKind;
use bayplan_model::objects::projection::Projection;
use bayplan_model::objects::{namespace, node, pod};
use bayplan_model::{KINDS, Kind, KindName, Object, ObjectError, ObjectKey, Seen};
use futures::future::join_all;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How to find the API server.
    pub target: Target,
    /// Which policies to read.
    pub policies: WantedPolicies,
    /// The size of the cluster that policies are compiled for.
    pub size: Size,
    /// Kinds that other policies look up.
    pub kinds: BTreeSet<KindName>,
    /// Whether to read the configuration of the running scheduler, too, from the namespaces of policies.
    pub configuration: bool,
}

/// Which policies to read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum WantedPolicies {
    /// None.
    #[default]
    No,
    /// Those of these namespaces. A missing right is an error.
    In(Vec<String>),
    /// As `In`, but a missing right is only a warning.
    IfAllowed(Vec<String>),
}

/// The cluster.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Pods that have not ended, and all objects of the other kinds of the table.
    pub objects: Vec<Object>,
    /// The policies.
    pub policies: PolicyObjects,
    /// The configuration of the running scheduler, if it was wanted and there is one; or why it cannot be read.
    pub running: Result<Option<Running>, String>,
    /// Warnings about missing parts.
    pub missing: Vec<String>,
    /// The namespace of the context.
    pub namespace: String,
    /// The server's URL.
    pub server: String,
}

/// Why the cluster cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// No connection can be prepared.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The API server cannot be reached.
    #[error(
        "cannot reach the API server {server}: {why}; is this the right cluster? `--context NAME` chooses another one"
    )]
    Unreachable {
        /// Its URL.
        server: String,
        /// The cause.
        why: String,
    },
    /// The API server refuses the credentials.
    #[error(
        "the API server {server} does not accept your credentials ({why}): is the token expired? log in again, or \
         choose others with `--context NAME` or `--kubeconfig FILE`"
    )]
    Unauthorized {
        /// Its URL.
        server: String,
        /// Its message.
        why: String,
    },
    /// The right to list a needed resource is missing.
    #[error("{message}; add this rule to your role: {rule}{otherwise}")]
    Forbidden {
        /// The server's message.
        message: String,
        /// The rule that grants all missing rights.
        rule: String,
        /// An alternative, if there is one.
        otherwise: &'static str,
    },
    /// Any other failure.
    #[error("cannot list {resource}: {why}")]
    Failed {
        /// The resource's plural name.
        resource: String,
        /// The cause.
        why: ApiError,
    },
    /// The operating system refuses.
    #[error("cannot start: {0}")]
    System(std::io::Error),
}

/// How an object is treated of which a part, or nothing, can be read.
pub(crate) const COUNTS: &str = "counts with what can be read of it";
pub(crate) const LEFT_OUT: &str = "is left out";
/// Timeout of the first request.
const FIRST: Duration = Duration::from_secs(10);
/// Number of tries of a list whose failure may pass.
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
    let api = Api::new(&options.target).await?;
    reach(&api).await?;
    let kinds = join_all(KINDS.iter().map(|row| kind(&api, &row.kind)));
    let (policies, running, mut kinds) = tokio::join!(
        listing::read(&api, &options.policies, options.size, &options.kinds),
        running(&api, options),
        kinds
    );
    let mut listed = Listed {
        objects: Vec::new(),
        policies: PolicyObjects::default(),
        running,
        missing: Vec::new(),
        namespace: api.namespace().to_owned(),
        server: api.server().to_owned(),
    };
    let mut refused = Refused::default();
    kinds.sort_by_key(|read| turn(&read.kind));
    for read in kinds {
        let needed = matches!(read.kind, Kind::Pod | Kind::Node);
        match read.result {
            // An optional API that this server does not serve.
            Err(ApiError::Status { code: 404, .. }) if !needed => {}
            Ok((objects, unusable)) => {
                listed.objects.extend(objects);
                listed.missing.extend(unusable);
            }
            Err(why) => refused.add(read.collection, why, needed)?,
        }
    }
    match policies {
        Ok(mut found) => {
            listed.missing.append(&mut found.missing);
            listed.policies = found;
        }
        Err((collection, why)) => {
            refused.add(collection, why, !matches!(options.policies, WantedPolicies::IfAllowed(_)))?;
        }
    }
    listed.missing.extend(refused.judge()?);
    Ok(listed)
}

/// The turn of a kind: nodes first, so that their order is that of their names, whatever pods they have; pods last.
pub(crate) fn turn(kind: &Kind) -> u8 {
    match kind {
        Kind::Node => 0,
        Kind::Pod => 2,
        _ => 1,
    }
}

/// The configuration of the running scheduler, if it is wanted.
pub(crate) async fn running(api: &Api, options: &Options) -> Result<Option<Running>, String> {
    let (WantedPolicies::In(namespaces) | WantedPolicies::IfAllowed(namespaces), true) =
        (&options.policies, options.configuration)
    else {
        return Ok(None);
    };
    published::running(api, namespaces).await.map_err(|(collection, why)| match why {
        ApiError::Status { code: 403, message, .. } => {
            format!("{message}; add this rule to your role: {}", collection.rule(&["list"]))
        }
        why => why.to_string(),
    })
}

/// Resources that may not be listed, collected so that one message names all missing rights.
#[derive(Default)]
pub(crate) struct Refused {
    of: Vec<(Collection, String, bool)>,
}

impl Refused {
    pub(crate) fn add(
        &mut self,
        collection: Collection,
        why: ApiError,
        needed: bool,
    ) -> Result<(), ListError> {
        match why {
            ApiError::Status { code: 403, message, .. } => {
                self.of.push((collection, message, needed));
                Ok(())
            }
            why => Err(ListError::Failed { resource: collection.resource.into_owned(), why }),
        }
    }

    /// The warnings about resources that are not needed; an error if a needed one is missing.
    pub(crate) fn judge(self) -> Result<Vec<String>, ListError> {
        let needed = self.of.iter().find(|(_, _, needed)| *needed);
        let Some((collection, message, _)) = needed else { return Ok(self.warnings()) };
        let otherwise = match &*collection.resource {
            "configmaps" => {
                "; or name the namespaces you may read with `--policy-namespaces`, or give the policies as files with \
                 `--policies`"
            }
            _ => "",
        };
        let mut groups: Vec<&str> = self.of.iter().map(|(of, _, _)| &*of.group).collect();
        // That of the resource first.
        groups.sort_by_key(|group| (*group != collection.group, *group));
        groups.dedup();
        let rules = groups.into_iter().map(|group| {
            let resources = self.of.iter().filter(|(of, _, _)| of.group == group);
            let mut resources: Vec<&str> = resources.map(|(of, _, _)| &*of.resource).collect();
            resources.dedup();
            watch::rule(group, &resources, &["list"])
        });
        let rule = rules.collect::<Vec<_>>().join(", ");
        Err(ListError::Forbidden { message: message.clone(), rule, otherwise })
    }

    /// One for the policies, and one for the missing resources of each API group.
    fn warnings(self) -> Vec<String> {
        let mut parts: Vec<(&Collection, &str, Vec<&str>)> = Vec::new();
        for (collection, message, _) in &self.of {
            let policies = |of: &Collection| of.resource == "configmaps";
            let same = |of: &Collection| of.group == collection.group && policies(of) == policies(collection);
            match parts.iter_mut().find(|(of, _, _)| same(of)) {
                Some((_, _, resources)) => resources.push(&collection.resource),
                None => parts.push((collection, message, vec![&collection.resource])),
            }
        }
        let said = parts.into_iter().map(|(collection, message, mut resources)| {
            resources.dedup();
            let rule = watch::rule(&collection.group, &resources, &["list"]);
            let what = match &*collection.resource {
                "configmaps" => "the policies of the cluster".to_owned(),
                _ => resources.join(", "),
            };
            format!("{message}; continuing without {what}; add this rule to your role: {rule}")
        });
        said.collect()
    }
}

/// Lists the objects of kinds that policies look up, whole; with warnings about what cannot be listed.
pub fn look_up(target: &Target, kinds: &[Arc<ObjectKind>]) -> Result<(Vec<Object>, Vec<String>), ListError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ListError::System)?;
    let listed = runtime.block_on(async {
        let api = Api::new(target).await?;
        let (mut objects, mut missing) = (Vec::new(), Vec::new());
        for kind in kinds {
            let Some(collection) = kinds::collection(kind, Projection::everything()) else {
                missing.push(format!("the API server has no kind `{}`: nothing is looked up", kind.name));
                continue;
            };
            match parsed::<OfCollection>(&api, &collection).await {
                Ok((found, unusable)) => {
                    objects.extend(found);
                    missing.extend(unusable);
                }
                Err(ApiError::Status { code: 403, message, .. }) => {
                    let rule = collection.rule(&["list"]);
                    missing
                        .push(format!("{message}; nothing is looked up; add this rule to your role: {rule}"));
                }
                Err(why) => missing.push(format!("`{}` cannot be looked up: {why}", kind.name)),
            }
        }
        Ok((objects, missing))
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    listed
}

/// Checks server and credentials first, so that not every list fails with the same message.
pub(crate) async fn reach(api: &Api) -> Result<(), ListError> {
    let server = api.server().to_owned();
    match api.call::<Value>(Request::get("/version").within(FIRST)).await {
        // The right to read the version is not needed for lists.
        Ok(_) | Err(ApiError::Status { code: 403, .. }) => Ok(()),
        Err(ApiError::Status { code: 401, message, .. }) => {
            Err(ListError::Unauthorized { server, why: message })
        }
        Err(ApiError::NotSent(why) | ApiError::Lost(why)) => Err(ListError::Unreachable { server, why }),
        Err(other) => Err(ListError::Unreachable { server, why: other.to_string() }),
    }
}

/// The result of listing one collection.
struct Read {
    kind: Kind,
    collection: Collection,
    /// The objects, and warnings about unusable ones.
    result: Result<(Vec<Object>, Vec<String>), ApiError>,
}

async fn kind(api: &Api, kind: &Kind) -> Read {
    let collection = informers::collection(kind);
    let result = match kind {
        Kind::Pod => parsed::<Extended<pod::Pod>>(api, &collection).await,
        Kind::Node => parsed::<Extended<node::Node>>(api, &collection).await,
        Kind::Namespace => parsed::<Extended<namespace::Namespace>>(api, &collection).await,
        _ => parsed::<OfCollection>(api, &collection).await,
    };
    Read { kind: kind.clone(), collection, result }
}

async fn parsed<T: Slim>(api: &Api, collection: &Collection) -> Result<(Vec<Object>, Vec<String>), ApiError> {
    let (mut objects, mut unusable) = (Vec::new(), Vec::new());
    for object in listed::<T>(api, collection).await? {
        let (problem, consequence) = match object.parse() {
            Ok(Seen { object, problem }) => {
                objects.push(object);
                (problem, COUNTS)
            }
            Err(problem) => (Some(problem), LEFT_OUT),
        };
        if let Some(problem) = problem {
            unusable.push(unusable_part(collection, &object.key(), consequence, &problem));
        }
    }
    Ok((objects, unusable))
}

/// The warning about an object that cannot be read whole.
pub(crate) fn unusable_part(
    collection: &Collection,
    object: &ObjectKey,
    consequence: &str,
    problem: &ObjectError,
) -> String {
    let ObjectKey { namespace, name, .. } = object;
    let place = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    format!("of {}, `{place}{name}` {consequence}: {problem}", collection.resource)
}

/// Lists a collection. Retries if the server is busy or the list expired between two pages.
pub(crate) async fn listed<T: watch::Watched>(
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
        let collection = Collection {
            path: String::new(),
            resource: resource.into(),
            ..informers::collection(&Kind::Node)
        };
        let message = format!("User \"u\" cannot list resource \"{resource}\"");
        let why = ApiError::Status { code: 403, reason: "Forbidden".into(), message, retry_after: None };
        assert!(refused.add(collection, why, needed).is_ok());
    }

    #[test]
    fn one_rule_has_all_missing_rights() {
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
    fn a_resource_that_is_not_needed_is_a_warning() {
        let mut refused = Refused::default();
        forbidden("namespaces", false, &mut refused);
        assert_eq!(
            refused.judge().unwrap(),
            [
                "User \"u\" cannot list resource \"namespaces\"; continuing without namespaces; add this rule to your \
              role: {apiGroups: [\"\"], resources: [\"namespaces\"], verbs: [\"list\"]}"
            ]
        );
    }
}
