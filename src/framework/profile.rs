//! [`Profile`]: the plugins of a scheduler name, with their extension points, weights and arguments, and how a
//! [`Framework`] is built from it. `config` reads profiles from files.
//!
//! A plugin that a profile enables for Filter or Score but not for PreFilter or PreScore works; upstream fails every
//! pod of such a profile.
//!
//! Source: `pkg/scheduler/apis/config/v1/default_plugins.go` (`mergePlugins`),
//! `pkg/scheduler/framework/runtime/framework.go` (`NewFramework`, `expandMultiPointPlugins`).

use super::order::{Points, ScorePlugin};
use super::plugin::Plugin;
use super::plugin_id::PluginId;
use super::registry::{Entry, Registry};
use super::runtime::Framework;
use super::{ArgsError, At, MAX_SCORE, Tree};
use bayplan_model::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// An extension point that a profile can list plugins for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)] // named like the extension points
pub enum Point {
    PreEnqueue,
    QueueSort,
    PreFilter,
    Filter,
    PostFilter,
    PreScore,
    Score,
    Reserve,
    Permit,
    PreBind,
    Bind,
    PostBind,
}

impl Point {
    /// All of them, in the order in which they run.
    pub const ALL: [Point; 12] = [
        Point::PreEnqueue,
        Point::QueueSort,
        Point::PreFilter,
        Point::Filter,
        Point::PostFilter,
        Point::PreScore,
        Point::Score,
        Point::Reserve,
        Point::Permit,
        Point::PreBind,
        Point::Bind,
        Point::PostBind,
    ];

    /// The field of a profile's `plugins`.
    pub fn field(self) -> &'static str {
        match self {
            Point::PreEnqueue => "preEnqueue",
            Point::QueueSort => "queueSort",
            Point::PreFilter => "preFilter",
            Point::Filter => "filter",
            Point::PostFilter => "postFilter",
            Point::PreScore => "preScore",
            Point::Score => "score",
            Point::Reserve => "reserve",
            Point::Permit => "permit",
            Point::PreBind => "preBind",
            Point::Bind => "bind",
            Point::PostBind => "postBind",
        }
    }

    /// Upstream's interface, as its error texts name it.
    fn interface(self) -> &'static str {
        match self {
            Point::PreEnqueue => "PreEnqueuePlugin",
            Point::QueueSort => "QueueSortPlugin",
            Point::PreFilter => "PreFilterPlugin",
            Point::Filter => "FilterPlugin",
            Point::PostFilter => "PostFilterPlugin",
            Point::PreScore => "PreScorePlugin",
            Point::Score => "ScorePlugin",
            Point::Reserve => "ReservePlugin",
            Point::Permit => "PermitPlugin",
            Point::PreBind => "PreBindPlugin",
            Point::Bind => "BindPlugin",
            Point::PostBind => "PostBindPlugin",
        }
    }

    /// Whether a plugin answers for the point.
    pub fn served_by(self, plugin: &dyn Plugin) -> bool {
        match self {
            Point::PreEnqueue => plugin.pre_enqueue().is_some(),
            Point::QueueSort => plugin.queue_sort().is_some(),
            Point::PreFilter => plugin.pre_filter().is_some(),
            Point::Filter => plugin.filter().is_some(),
            Point::PostFilter => plugin.post_filter().is_some(),
            Point::PreScore => plugin.pre_score().is_some(),
            Point::Score => plugin.score().is_some(),
            Point::Reserve => plugin.reserve().is_some(),
            Point::Permit => plugin.permit().is_some(),
            Point::PreBind => plugin.pre_bind().is_some(),
            Point::Bind => plugin.bind().is_some(),
            Point::PostBind => plugin.post_bind().is_some(),
        }
    }
}

/// A plugin that a profile names.
#[derive(Clone, PartialEq, Debug)]
pub struct Named {
    /// Its name, or `*` among those disabled.
    pub name: String,
    /// Its weight; 0 when none was given.
    pub weight: i64,
    /// Where it was written.
    pub at: At,
}

/// A profile's plugin set of one extension point.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Selection {
    /// Plugins that run here, in order.
    pub enabled: Vec<Named>,
    /// Plugins that do not run here.
    pub disabled: Vec<Named>,
}

impl Selection {
    fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|plugin| plugin.name == name)
    }

    fn enables(&self, name: &str) -> Option<&Named> {
        self.enabled.iter().find(|plugin| plugin.name == name)
    }
}

/// Arguments of a plugin.
#[derive(Clone, Debug)]
pub struct PluginConfig {
    /// The plugin.
    pub name: String,
    /// Where it was named.
    pub at: At,
    /// Its arguments.
    pub args: Tree,
}

/// A profile as it was written, before defaults are merged in.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// `schedulerName`.
    pub scheduler_name: Symbol,
    /// Where the profile was written.
    pub at: At,
    /// `percentageOfNodesToScore`.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// `plugins.multiPoint`.
    pub multi_point: Selection,
    /// The other lists of `plugins`, by point; points without a list are absent.
    pub points: Vec<(Point, Selection)>,
    /// `pluginConfig`.
    pub plugin_config: Vec<PluginConfig>,
}

/// Why no framework can be made of a profile.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ProfileError {
    /// The error; in upstream's words where upstream has it.
    pub message: String,
    /// Where.
    pub at: At,
    /// What to do.
    pub help: Option<String>,
    /// The name of a plugin that the registry does not have.
    pub unknown: Option<String>,
}

/// A plugin and the arguments it was made with.
type MadeOf = (Tree, Arc<dyn Plugin>);

/// Plugins that profiles with equal arguments share.
#[derive(Default)]
pub struct Instances {
    made: FxHashMap<Arc<str>, Vec<MadeOf>>,
}

impl Profile {
    /// A profile without settings of its own.
    pub fn new(scheduler_name: &str) -> Self {
        Self { scheduler_name: Symbol::new(scheduler_name), ..Self::default() }
    }

    fn selection(&self, point: Point) -> Option<&Selection> {
        self.points.iter().find(|(at, _)| *at == point).map(|(_, selection)| selection)
    }

    /// Plugins of `multiPoint` after the defaults were merged in: a default is left out when it is disabled, takes
    /// the user's weight when it is named, and keeps its place.
    pub fn multi_point(&self, registry: &Registry) -> Vec<Named> {
        let custom = &self.multi_point;
        let mut merged: Vec<Named> = Vec::new();
        if !custom.disables("*") {
            let sorts = |entry: &Entry| entry.sorts_queue() && !custom.disables(entry.name());
            let policy_sorts = registry.entries().any(sorts);
            for entry in registry.entries().filter(|entry| entry.is_default()) {
                let name = &**entry.name();
                if custom.disables(name) || policy_sorts && name == PRIORITY_SORT {
                    continue;
                }
                let at = self.at;
                merged.push(match custom.enables(name) {
                    Some(named) => named.clone(),
                    None => Named { name: name.to_owned(), weight: entry.weight(), at },
                });
            }
        }
        let from_defaults = merged.len();
        for named in &custom.enabled {
            if !merged[..from_defaults].iter().any(|default| default.name == named.name) {
                merged.push(named.clone());
            }
        }
        merged
    }

    /// The framework of this profile. All complaints, or the framework.
    pub fn build(
        &self,
        registry: &Registry,
        instances: &mut Instances,
    ) -> Result<Framework, Vec<ProfileError>> {
        Builder::new(self, registry, instances).build()
    }
}

/// The plugin that a policy with `queue by` replaces.
const PRIORITY_SORT: &str = "PrioritySort";

struct Builder<'a> {
    profile: &'a Profile,
    registry: &'a Registry,
    instances: &'a mut Instances,
    multi_point: Vec<Named>,
    plugins: Vec<(Arc<str>, Arc<dyn Plugin>)>,
    ids: FxHashMap<Arc<str>, PluginId>,
    errors: Vec<ProfileError>,
}

impl<'a> Builder<'a> {
    fn new(profile: &'a Profile, registry: &'a Registry, instances: &'a mut Instances) -> Self {
        let multi_point = profile.multi_point(registry);
        let (plugins, ids, errors) = Default::default();
        Self { profile, registry, instances, multi_point, plugins, ids, errors }
    }

    fn error(&mut self, at: At, message: String) {
        self.error_with_help(at, message, None);
    }

    fn error_with_help(&mut self, at: At, message: String, help: Option<String>) {
        if !self.errors.iter().any(|known| known.message == message) {
            self.errors.push(ProfileError { message, at, help, unknown: None });
        }
    }

    /// Notes in the last error that it is about a plugin that the registry does not have.
    fn name_unknown(&mut self, name: &str) {
        if self.registry.get(name).is_none()
            && let Some(error) = self.errors.last_mut()
        {
            error.unknown = Some(name.to_owned());
        }
    }

    fn build(mut self) -> Result<Framework, Vec<ProfileError>> {
        for config in &self.profile.plugin_config {
            let text = match self.registry.get(&config.name) {
                None => format!("no plugin is called `{}`", config.name),
                Some(entry) if !entry.is_built() => {
                    format!("plugin `{}` is not built in this release", config.name)
                }
                Some(_) => continue,
            };
            let help = removed_plugin_help(&config.name).or_else(|| self.similar(&config.name));
            self.error_with_help(config.at, text, help);
            self.name_unknown(&config.name);
        }
        self.make_plugins();
        self.check_other_arguments();
        let mut points = Points::default();
        for point in Point::ALL {
            let run = self.expand(point);
            let ids: Vec<PluginId> = run.iter().filter_map(|named| self.id(&named.name)).collect();
            match point {
                Point::PreEnqueue => points.pre_enqueue = ids,
                Point::QueueSort => points.queue_sort = ids,
                Point::PreFilter => points.pre_filter = ids,
                Point::Filter => points.filter = ids,
                Point::PostFilter => points.post_filter = ids,
                Point::PreScore => points.pre_score = ids,
                Point::Score => {
                    points.score = run
                        .iter()
                        .filter_map(|named| {
                            Some(ScorePlugin {
                                plugin: self.id(&named.name)?,
                                weight: named.weight.max(0).max(i64::from(named.weight == 0)),
                            })
                        })
                        .collect();
                }
                Point::Reserve => points.reserve = ids,
                Point::Permit => points.permit = ids,
                Point::PreBind => points.pre_bind = ids,
                Point::Bind => points.bind = ids,
                Point::PostBind => points.post_bind = ids,
            }
        }
        self.check(&points);
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let args = self.plugins.iter().map(|(name, _)| self.args(name)).collect();
        let plugins = self.plugins.into_iter().map(|(_, plugin)| plugin).collect();
        let mut framework =
            Framework::new(self.profile.scheduler_name.clone(), plugins, points).made_with(args);
        framework = framework.decide_by(self.registry.features().rows());
        framework.percentage_of_nodes_to_score = self.profile.percentage_of_nodes_to_score;
        Ok(framework)
    }

    /// Makes every plugin that the profile names at any point, in the order of `multiPoint`.
    fn make_plugins(&mut self) {
        let specific = self
            .profile
            .points
            .iter()
            .flat_map(|(point, s)| s.enabled.iter().map(move |n| (Some(*point), n)));
        let named: Vec<(Option<Point>, Named)> = self
            .multi_point
            .iter()
            .map(|named| (None, named))
            .chain(specific)
            .map(|(point, named)| (point, named.clone()))
            .collect();
        for (point, named) in named {
            if self.ids.contains_key(&*named.name) {
                continue;
            }
            let Some(entry) = self.registry.get(&named.name).cloned() else {
                let interface = point.unwrap_or(Point::PreEnqueue).interface();
                self.error_with_help(
                    named.at,
                    format!("{interface} {:?} does not exist", named.name),
                    removed_plugin_help(&named.name).or_else(|| self.similar(&named.name)),
                );
                self.name_unknown(&named.name);
                continue;
            };
            if !entry.is_built() {
                self.error_with_help(
                    named.at,
                    format!("plugin `{}` is not built in this release", named.name),
                    Some(String::from("remove it from the profile, or write its rule as a policy")),
                );
                continue;
            }
            if let Some(plugin) = self.make(&entry) {
                self.ids.insert(entry.name().clone(), PluginId(self.plugins.len() as u16));
                self.plugins.push((entry.name().clone(), plugin));
            }
        }
    }

    /// Checks the arguments of plugins that the profile does not have, as upstream does.
    fn check_other_arguments(&mut self) {
        let profile = self.profile;
        for config in &profile.plugin_config {
            let entry = self.registry.get(&config.name).filter(|entry| !entry.is_policy()).cloned();
            if let Some(entry) = entry.filter(|entry| !self.ids.contains_key(entry.name())) {
                self.make(&entry);
            }
        }
    }

    fn make(&mut self, entry: &Entry) -> Option<Arc<dyn Plugin>> {
        let config = self.profile.plugin_config.iter().find(|config| config.name == **entry.name());
        let args = self.args(entry.name());
        let made = self.instances.made.get(entry.name()).into_iter().flatten();
        if let Some((_, plugin)) = made.into_iter().find(|(with, _)| with.same(&args)) {
            return Some(plugin.clone());
        }
        match entry.make(&args)? {
            Ok(plugin) => {
                let made = self.instances.made.entry(entry.name().clone()).or_default();
                made.push((args, plugin.clone()));
                Some(plugin)
            }
            Err(complaints) => {
                for complaint in complaints {
                    let ArgsError { path, at, message, help } = complaint;
                    let at = if at == At::default() { config.map_or(self.profile.at, |c| c.at) } else { at };
                    let field = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
                    let text = format!("initializing plugin {:?}: {field}{message}", &**entry.name());
                    self.error_with_help(at, text, help);
                }
                None
            }
        }
    }

    fn args(&self, plugin: &str) -> Tree {
        let config = self.profile.plugin_config.iter().find(|config| config.name == plugin);
        config.map(|config| config.args.clone()).unwrap_or_default()
    }

    fn similar(&self, name: &str) -> Option<String> {
        let known = self.registry.entries().find(|entry| entry.name().eq_ignore_ascii_case(name))?;
        Some(format!("write `{}`", known.name()))
    }

    fn id(&self, name: &str) -> Option<PluginId> {
        self.ids.get(name).copied()
    }

    fn serves(&self, name: &str, point: Point) -> Option<bool> {
        let id = self.id(name)?;
        self.plugins.get(id.index()).map(|(_, plugin)| point.served_by(&**plugin))
    }

    fn counts(&self, name: &str) -> bool {
        let plugin = self.id(name).and_then(|id| self.plugins.get(id.index()));
        plugin.is_some_and(|(_, plugin)| plugin.rule_plugin().is_some_and(|of| of.counting().is_some()))
    }

    /// The plugins that run at a point, in order: those named there and in `multiPoint`, those of `multiPoint` alone,
    /// those named there alone.
    fn expand(&mut self, point: Point) -> Vec<Named> {
        let none = Selection::default();
        let profile = self.profile;
        let here = profile.selection(point).unwrap_or(&none);
        let mut specific: Vec<Named> = Vec::new();
        for named in &here.enabled {
            match self.serves(&named.name, point) {
                // Unknown and already reported.
                None => continue,
                // Its rules of this point may be among those that do not decide.
                Some(false) if self.counts(&named.name) => continue,
                Some(false) => {
                    let text =
                        format!("plugin {:?} does not extend {} plugin", named.name, point.interface());
                    self.error(named.at, text);
                }
                Some(true) if specific.iter().any(|other| other.name == named.name) => {
                    let text =
                        format!("plugin {:?} already registered as {:?}", named.name, point.interface());
                    self.error(named.at, text);
                }
                Some(true) => specific.push(named.clone()),
            }
        }
        if here.disables("*") {
            return specific;
        }
        let mut overrides: Vec<String> = Vec::new();
        let mut broad: Vec<Named> = Vec::new();
        let mut seen: FxHashSet<String> = FxHashSet::default();
        for named in self.multi_point.clone() {
            if self.serves(&named.name, point) != Some(true) || here.disables(&named.name) {
                continue;
            }
            if specific.iter().any(|other| other.name == named.name) {
                overrides.push(named.name);
            } else if !seen.insert(named.name.clone()) {
                let text = format!("plugin {:?} already registered as {:?}", named.name, point.interface());
                self.error(named.at, text);
            } else {
                broad.push(named);
            }
        }
        let (first, last): (Vec<Named>, Vec<Named>) =
            specific.into_iter().partition(|named| overrides.contains(&named.name));
        first.into_iter().chain(broad).chain(last).collect()
    }

    fn check(&mut self, points: &Points) {
        let name = self.profile.scheduler_name.clone();
        if points.queue_sort.len() != 1 {
            let sorters: Vec<String> = points
                .queue_sort
                .iter()
                .filter_map(|id| self.plugins.get(id.index()))
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            let help = (sorters.len() > 1).then(|| format!("keep one of {}", sorters.join(", ")));
            let text = format!(
                "only one queue sort plugin required for profile with scheduler name {:?}, but got {}",
                name.as_str(),
                points.queue_sort.len()
            );
            self.error_with_help(self.profile.at, text, help);
        }
        if points.bind.is_empty() {
            let text = format!(
                "at least one bind plugin is needed for profile with scheduler name {:?}",
                name.as_str()
            );
            self.error(self.profile.at, text);
        }
        let mut total: i64 = 0;
        for scorer in &points.score {
            let plugin = self.plugins.get(scorer.plugin.index());
            let largest =
                plugin.and_then(|(_, plugin)| plugin.score()).map_or(MAX_SCORE, |score| score.largest());
            match scorer.weight.checked_mul(largest).and_then(|most| total.checked_add(most)) {
                Some(sum) => total = sum,
                None => {
                    self.error(self.profile.at, String::from("total score of Score plugins could overflow"));
                    break;
                }
            }
        }
    }
}

fn removed_plugin_help(name: &str) -> Option<String> {
    let removed = ["AzureDiskLimits", "EBSLimits", "GCEPDLimits", "CinderLimits"];
    removed.contains(&name).then(|| {
        String::from("Kubernetes removed it: NodeVolumeLimits counts the volumes of all CSI drivers")
    })
}
