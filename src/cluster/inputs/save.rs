//! What a snapshot keeps of a live cluster: the objects that a configuration and its policies read, without the fields that
//! nothing reads. First how much that is, then everything, page by page. Called by `cli`, which writes it.

use super::informers::{self, watched};
use super::kinds;
use super::list::{ListError, Refused, reach};
use super::watch::{self, Collection, Page};
use crate::api::client::{Api, ApiError, Request, Target};
use bayplan_framework::Need;
use bayplan_lang::typed::reads::Keeps;
use bayplan_lang::types::ObjectKind;
use bayplan_model::metrics::GROUP as METRICS;
use bayplan_model::objects::kept::kept_of_looked_up;
use bayplan_model::objects::projection::Projection;
use bayplan_model::{Kind, KindName, KindRow};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// What is read of the cluster.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// How to find the API server.
    pub target: Target,
    /// The kinds that plugins need.
    pub needs: Vec<Need>,
    /// What policies read of objects beyond what the core reads.
    pub keeps: Keeps,
    /// The kinds that policies look up.
    pub looked_up: Vec<Arc<ObjectKind>>,
    /// Whether policies read what nodes use.
    pub metrics: bool,
}

/// How much there is of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Amount {
    /// The resource's plural name.
    pub resource: String,
    /// How many objects there are; pods that have ended are left out later.
    pub objects: usize,
    /// The bytes that the file has of them, by the first objects.
    pub bytes: usize,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The objects, kind by kind: nodes first, pods last.
    pub objects: Vec<Value>,
    /// What could not be read.
    pub missing: Vec<String>,
    /// The version of the API server; empty when it does not tell.
    pub server: String,
}

/// A cluster that is about to be read.
pub struct Saving {
    runtime: tokio::runtime::Runtime,
    api: Api,
    parts: Vec<Part>,
    found: Found,
}

/// One collection, and the kind of its objects.
struct Part {
    collection: Collection,
    of: Of,
}

enum Of {
    /// A kind of the table.
    Row(&'static KindRow),
    /// A kind that only policies look up.
    LookedUp(KindName),
    /// What nodes use.
    Metrics,
}

/// Objects by which the size of all is estimated.
const SAMPLE: usize = 20;
/// Objects per page.
const PAGE: usize = 500;
/// Number of tries of a kind whose list fails in a way that may pass, or expires between two pages.
const TRIES: u32 = 3;

impl Part {
    /// What is kept of an object.
    fn kept(&self, object: Value) -> Value {
        let keep = &self.collection.keep;
        match &self.of {
            Of::Row(row) => row.kept(object, keep),
            Of::LookedUp(name) => kept_of_looked_up(name.api_version(), name.kind(), object, keep),
            Of::Metrics => json!({
                "apiVersion": format!("{METRICS}/v1beta1"), "kind": "NodeMetrics",
                "metadata": {"name": object.pointer("/metadata/name")},
                "timestamp": object.get("timestamp"), "window": object.get("window"), "usage": object.get("usage"),
            }),
        }
    }

    /// Whether nothing can be decided without it.
    fn is_needed(&self) -> bool {
        matches!(&self.of, Of::Row(KindRow { kind: Kind::Pod | Kind::Node, .. }))
    }

    /// Nodes first, so that their order is that of their names, whatever pods they have; pods last.
    fn order(&self) -> u8 {
        match &self.of {
            Of::Row(KindRow { kind: Kind::Node, .. }) => 0,
            Of::Row(KindRow { kind: Kind::Pod, .. }) => 2,
            _ => 1,
        }
    }
}

/// The collections of what is wanted, and what cannot be read of it.
fn parts(wanted: &Wanted) -> (Vec<Part>, Vec<String>) {
    let (keeps, mut missing) = (&wanted.keeps, Vec::new());
    let mut parts: Vec<Part> = Vec::new();
    let mut row_of = |row: &'static KindRow| {
        let mut keep = match row.kind {
            Kind::Pod => keeps.pods.clone(),
            Kind::Node => keeps.nodes.clone(),
            Kind::Namespace => keeps.namespaces.clone(),
            _ => Projection::default(),
        };
        keep.merge(
            &keeps.objects.get(&KindName::of(&row.api_version(), row.name)).cloned().unwrap_or_default(),
        );
        let collection = Collection { keep, ..informers::collection(&row.kind) };
        if !parts.iter().any(|part| part.collection.path == collection.path) {
            parts.push(Part { collection, of: Of::Row(row) });
        }
    };
    watched(&wanted.needs).for_each(|(row, _)| row_of(row));
    let is_row = |kind: &ObjectKind| KindRow::named(kind.name.api_version(), kind.name.kind());
    wanted.looked_up.iter().filter_map(|kind| is_row(kind)).for_each(&mut row_of);
    for kind in wanted.looked_up.iter().filter(|kind| is_row(kind).is_none()) {
        let keep = keeps.objects.get(&kind.name).cloned().unwrap_or_default();
        match kinds::collection(kind, keep) {
            Some(collection) => parts.push(Part { collection, of: Of::LookedUp(kind.name.clone()) }),
            None => missing.push(format!("the API server has no kind `{}`", kind.name)),
        }
    }
    if wanted.metrics {
        let collection = Collection {
            path: format!("/apis/{METRICS}/v1beta1/nodes"),
            resource: Cow::Borrowed("nodes"),
            group: Cow::Borrowed(METRICS),
            selectors: String::new(),
            keep: Projection::default(),
            looked_up: None,
        };
        parts.push(Part { collection, of: Of::Metrics });
    }
    parts.sort_by_key(Part::order);
    (parts, missing)
}

impl Saving {
    /// Asks how much there is. Kinds that may not be read are left out with a warning; pods and nodes are an error.
    pub fn begin(wanted: &Wanted) -> Result<(Self, Vec<Amount>), ListError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ListError::System)?;
        let (all, missing) = parts(wanted);
        let (api, server, amounts) = runtime.block_on(async {
            let api = Api::new(&wanted.target).await?;
            reach(&api).await?;
            let server = api.call::<Value>(Request::get("/version").within(Duration::from_secs(10))).await;
            let server = server.ok().and_then(|of| of.get("gitVersion")?.as_str().map(str::to_owned));
            let mut amounts = Vec::new();
            for part in &all {
                amounts.push(amount(&api, part).await);
            }
            Ok::<_, ListError>((api, server.unwrap_or_default(), amounts))
        })?;
        let mut saving =
            Self { runtime, api, parts: Vec::new(), found: Found { missing, server, ..Found::default() } };
        let (mut refused, mut known) = (Refused::default(), Vec::new());
        for (part, amount) in all.into_iter().zip(amounts) {
            match amount {
                Ok(amount) => {
                    known.push(amount);
                    saving.parts.push(part);
                }
                // An optional API that this server does not serve.
                Err(ApiError::Status { code: 404, .. }) if !part.is_needed() => {}
                Err(why) if matches!(part.of, Of::Metrics) => {
                    saving.found.missing.push(format!("metrics of the nodes: {why}"));
                }
                Err(why) => {
                    let needed = part.is_needed();
                    refused.add(part.collection, why, needed)?;
                }
            }
        }
        saving.found.missing.extend(refused.judge()?);
        Ok((saving, known))
    }

    /// Reads everything; `read` receives the number of objects of each page.
    pub fn read(self, read: &dyn Fn(usize)) -> Result<Found, ListError> {
        let Self { runtime, api, parts, mut found } = self;
        for part in &parts {
            let listed = runtime.block_on(all_of(&api, part, read));
            match listed {
                Ok(objects) => found.objects.extend(objects),
                Err(why) if matches!(part.of, Of::Metrics) => {
                    found.missing.push(format!("metrics of the nodes: {why}"));
                }
                Err(why) => {
                    return Err(ListError::Failed { resource: part.collection.resource.to_string(), why });
                }
            }
        }
        runtime.shutdown_timeout(Duration::from_millis(200));
        Ok(found)
    }
}

/// How much there is of a part, by its first objects.
async fn amount(api: &Api, part: &Part) -> Result<Amount, ApiError> {
    // The server does not count what selectors leave out.
    let collection = Collection { selectors: String::new(), ..part.collection.clone() };
    let page: Page<Value> = watch::page(api, &collection, SAMPLE, "").await?;
    let items = page.items.unwrap_or_default();
    let objects = items.len() + page.metadata.remaining_item_count.unwrap_or(0);
    let sampled = items.len().max(1);
    let bytes: usize = items.into_iter().map(|item| part.kept(item).to_string().len() + 2).sum();
    Ok(Amount { resource: collection.resource.to_string(), objects, bytes: bytes / sampled * objects })
}

/// All objects of a part, as they are kept. Tries again if the server is busy or the list expires between two pages.
async fn all_of(api: &Api, part: &Part, read: &dyn Fn(usize)) -> Result<Vec<Value>, ApiError> {
    let mut tries = 1;
    loop {
        match pages(api, part, read).await {
            Err(error) if tries < TRIES && (error.is_passing() || error.code() == Some(410)) => {
                tokio::time::sleep(Duration::from_millis(300) * tries).await;
                tries += 1;
            }
            other => return other,
        }
    }
}

async fn pages(api: &Api, part: &Part, read: &dyn Fn(usize)) -> Result<Vec<Value>, ApiError> {
    let (mut objects, mut next) = (Vec::new(), String::new());
    loop {
        let page: Page<Value> = watch::page(api, &part.collection, PAGE, &next).await?;
        let before = objects.len();
        objects.extend(page.items.into_iter().flatten().map(|object| part.kept(object)));
        read(objects.len() - before);
        if page.metadata.next.is_empty() {
            return Ok(objects);
        }
        next = page.metadata.next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read_once_and_pods_come_last() {
        let service = ObjectKind {
            plural: Some("services".into()),
            namespaced: Some(true),
            ..ObjectKind::unknown(KindName::of("v1", "Service"))
        };
        let gang = KindName::parse("g.io/v1/Gang").unwrap();
        let known = ObjectKind { plural: Some("gangs".into()), ..ObjectKind::unknown(gang.clone()) };
        let absent = ObjectKind::unknown(KindName::parse("g.io/v1/Absent").unwrap());
        let wanted = Wanted {
            needs: vec![Need { kind: Kind::Service, optional: false }],
            looked_up: [service, known, absent].map(Arc::new).to_vec(),
            metrics: true,
            ..Wanted::default()
        };
        let (parts, missing) = parts(&wanted);
        let names: Vec<&str> = parts.iter().map(|part| &*part.collection.resource).collect();
        assert_eq!((names.first(), names.last()), (Some(&"nodes"), Some(&"pods")));
        assert_eq!(names.iter().filter(|name| **name == "services").count(), 1);
        assert!(names.contains(&"gangs") && !names.contains(&"secrets"), "{names:?}");
        assert_eq!(missing, ["the API server has no kind `g.io/v1/Absent`"]);
    }
}
