//! `explain --node NAME`: one node, every rule that refuses it, with the values that each sub-expression had.

use super::{evictions, refusals, tree};
use crate::cli::output::{Column, Output, Style, Table, count};
use crate::cli::setup::Setup;
use crate::dry_run::told::{Told, applying, judges_nodes, refused_before_nodes, refused_late};
use crate::explain::{Explanation, NodeExplanation, offers};
use crate::framework::{Framework, Offer};
use crate::lang::eval::context::EvalContext;
use crate::lang::eval::trace::{Reach, StatementTrace, trace};
use crate::lang::policy_set::{CompiledPolicy, PolicySet};
use crate::lang::typed::{Body, Point, Statement};
use crate::model::{NodeInfo, PodInfo, Snapshot, Symbol, amount_beside, rounded_down};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// A pod with everything that explains it.
pub(crate) struct Subject<'a> {
    /// The cluster and the texts of policies.
    pub setup: &'a Setup,
    /// The policies of the pod's profile, with its arguments.
    pub policies: &'a PolicySet,
    /// The plugins of the pod's profile.
    pub framework: &'a Arc<Framework>,
    /// The explanation of all nodes.
    pub explanation: &'a Explanation,
    /// The cluster without the pod.
    pub snapshot: &'a Snapshot,
    /// The pod.
    pub pod: &'a PodInfo,
    /// The instant.
    pub now: crate::model::Time,
}

impl<'a> Subject<'a> {
    pub(super) fn context(&self) -> EvalContext<'a> {
        EvalContext::new(self.pod, self.snapshot, self.now)
    }

    fn node(&self, name: &str) -> Option<(&'a NodeExplanation, NodeInfo<'a>)> {
        let explained = self.explanation.per_node.iter().find(|node| node.name == name)?;
        let info = self.snapshot.node(self.snapshot.node_by_name(&Symbol::new(name))?)?;
        Some((explained, info))
    }

    /// Policies that come to their rules about nodes.
    fn applying(&self) -> Vec<&'a Arc<CompiledPolicy>> {
        let mut applying = applying(self.policies, self.context());
        applying.retain(|policy| judges_nodes(policy, self.context()));
        applying
    }

    /// What a node offers to the pod, such as devices.
    fn offers(&self, node: NodeInfo<'a>) -> Vec<Offer> {
        offers(self.framework, self.snapshot, self.pod, self.now, node)
    }

    /// How many rules run on a node: the filters of plugins, and each filter of a policy.
    fn rules(&self) -> usize {
        let policies = self.applying();
        let points = self.framework.points().filter.iter();
        points
            .filter_map(|id| self.framework.plugin(*id))
            .map(|plugin| plugin.name())
            .map(|name| match self.policies.get(name) {
                Some(_) => policies
                    .iter()
                    .find(|policy| policy.name() == name)
                    .map_or(0, |policy| policy.policy.rules_at(Point::Filter).count()),
                None => 1,
            })
            .sum()
    }

    /// What each policy's filters say of a node.
    fn accounts(&self, node: NodeInfo<'a>) -> Vec<(String, Account<'a>)> {
        let context = self.context().on(node);
        let of_policy = |policy: &'a Arc<CompiledPolicy>| {
            trace(policy.enforced(), Point::Filter, context).into_iter().map(move |of| {
                let rule = format!("{}/{}", policy.name(), of.finding.rule.name());
                (rule, Account { place: policy.place(of.finding.statement.span()), of })
            })
        };
        self.applying().into_iter().flat_map(of_policy).collect()
    }
}

/// What a statement of a filter found, and where it is written.
struct Account<'a> {
    place: &'a str,
    of: StatementTrace<'a>,
}

impl Account<'_> {
    fn refuses(&self) -> bool {
        self.of.finding.decides
    }

    /// Whether no statement of the same filter before it refused.
    fn reached(&self) -> bool {
        self.of.finding.reach != Reach::Unproven
    }

    /// What the author wrote about it.
    fn doc(&self) -> Option<&str> {
        let (rule, statement) = (self.of.finding.rule, self.of.finding.statement);
        let of_rule = matches!(rule.body, Body::Filter(_)).then_some(rule.head.doc.as_deref()).flatten();
        let own = if let Statement::Check(check) = statement { check.doc.as_deref() } else { None };
        of_rule.or(own)
    }
}

/// The text. `None`: the cluster has no such node.
pub(crate) fn text(
    subject: &Subject,
    name: &str,
    evictions: &[evictions::EvictionAccount],
    all: bool,
    out: &Output,
) -> Option<String> {
    let (explained, info) = subject.node(name)?;
    let mut rules: Vec<&str> = explained.refusals.iter().map(|refusal| refusal.rule.as_str()).collect();
    rules.dedup();
    let of = subject.rules().max(rules.len());
    let (pod, name) = (out.part(&subject.explanation.pod), out.part(name));
    let late = once_chosen(subject, info);
    let early = match &subject.explanation.refused_before_nodes {
        Some((plugin, _)) => {
            let policy = subject.policies.get(plugin);
            Some((plugin, policy.and_then(|policy| refused_before_nodes(policy, subject.context()))))
        }
        None => None,
    };
    let mut text = if let Some((plugin, _)) = &early {
        let (refused, plugin) = (out.paint(Style::Bad, "refused"), out.paint(Style::Name, plugin));
        format!("{pod} on {name}: {refused} by {plugin} before nodes are evaluated.\n")
    } else if let (true, Some(_)) = (rules.is_empty(), &late) {
        let refused = out.paint(Style::Bad, "refused");
        format!("{pod} on {name}: all {of} rules let it pass, and it is {refused} once the node is chosen.\n")
    } else if rules.is_empty() {
        format!("{pod} on {name}: all {of} rules {}.\n", out.paint(Style::Good, "let it pass"))
    } else {
        let refused = out.paint(Style::Bad, "refused");
        format!("{pod} on {name}: {refused} by {} of {of} rules.\n", rules.len())
    };
    let sources = &subject.setup.policies.sources;
    let told = early.as_ref().map_or(late.as_ref(), |(_, told)| told.as_ref());
    if let Some(told) = told.filter(|_| early.is_some() || rules.is_empty()) {
        refusals::heading(told, None, out, &mut text);
        refusals::body(told, sources, out, &mut text);
        // What filters would say is below.
        rules.clear();
    }
    let accounts = subject.accounts(info);
    if early.is_some() {
        let refuses = |(_, account): &&(String, Account)| account.refuses() && account.reached();
        for (rule, account) in accounts.iter().filter(refuses) {
            let _ = writeln!(text, "\n  {}   {}", out.paint(Style::Name, rule), account.place);
            account_text(subject, account, out, &mut text);
        }
    }
    for rule in &rules {
        let of_rule: Vec<_> = explained.refusals.iter().filter(|refusal| refusal.rule == **rule).collect();
        let place = of_rule.first().map_or("", |refusal| refusal.place.as_str());
        let gap = if place.is_empty() { "" } else { "   " };
        let (rule_name, place) = (out.paint(Style::Name, rule), out.paint(Style::Name, place));
        let _ = writeln!(text, "\n  {rule_name}{gap}{place}");
        let told: Vec<&Account> = accounts
            .iter()
            .filter(|(name, account)| name == rule && account.refuses())
            .map(|(_, a)| a)
            .collect();
        if told.is_empty() {
            for refusal in of_rule {
                let _ = writeln!(text, "    {}", out.part(&values(refusal)));
            }
        }
        for account in told {
            account_text(subject, account, out, &mut text);
        }
    }
    if all {
        for (rule, account) in accounts.iter().filter(|(rule, _)| !rules.contains(&rule.as_str())) {
            let _ = writeln!(text, "\n  {}   {}   lets it pass", out.paint(Style::Name, rule), account.place);
            account_text(subject, account, out, &mut text);
        }
    }
    text.push_str(&offers_text(&subject.offers(info), all, out));
    for account in evictions {
        account.text(sources, out, &mut text);
    }
    let passed = of.saturating_sub(rules.len());
    let room = room(subject, info);
    let passed = match (rules.is_empty(), passed) {
        (true, _) | (_, 0) => String::new(),
        (false, 1) => "The other one lets it pass. ".to_owned(),
        (false, others) => format!("The other {others} let it pass. "),
    };
    if !(passed.is_empty() && room.is_empty()) {
        let _ = writeln!(text, "\n  {}", out.part(&format!("{passed}{room}")));
    }
    Some(text)
}

/// How many rows of devices are shown without `--all`.
const OFFERS: usize = 16;

/// A row for each device.
fn offers_text(offers: &[Offer], all: bool, out: &Output) -> String {
    if offers.is_empty() {
        return String::new();
    }
    let columns = [Column::words("DEVICE"), Column::words("FOR"), Column::words("RESULT")];
    let mut table = Table::new(&columns);
    table.indent = 2;
    let shown = if all || offers.len() <= OFFERS { offers.len() } else { OFFERS - 1 };
    for offer in offers.iter().take(shown) {
        let style = if offer.fits { Style::Good } else { Style::Plain };
        let cells = [(Style::Name, &offer.name), (Style::Plain, &offer.by), (style, &offer.outcome)];
        table.row(cells.map(|(style, text)| (style, text.clone())));
    }
    if shown < offers.len() {
        table.row([(Style::Dim, format!("{} others (--all)", count(offers.len() - shown)))]);
    }
    format!("\n{}", table.draw(out))
}

/// The statement that refuses the pod once this node is chosen.
fn once_chosen(subject: &Subject, info: NodeInfo) -> Option<Told> {
    if subject.explanation.node.is_some() {
        return None;
    }
    let world = refusals::placed(subject, info.id());
    let context = EvalContext::new(subject.pod, &world, subject.now).on(world.node(info.id())?);
    applying(subject.policies, context).into_iter().find_map(|policy| refused_late(policy, context))
}

fn account_text(subject: &Subject, account: &Account, out: &Output, text: &mut String) {
    if let Some(doc) = account.doc() {
        for line in doc.lines() {
            let _ = writeln!(text, "    {}", out.paint(Style::Dim, line));
        }
    }
    if account.refuses() {
        let _ = writeln!(text, "    {}", out.part(account.of.reason.as_deref().unwrap_or_default()));
    }
    for (name, value) in &account.of.details {
        let _ = writeln!(text, "    {}", out.part(&format!("{name}: {value}")));
    }
    if !account.reached() {
        let _ = writeln!(text, "    not reached: a statement before it refuses");
    }
    if let Some(condition) = &account.of.condition {
        text.push('\n');
        text.push_str(&tree::draw(&subject.setup.policies.sources, condition, 4, out));
    }
}

/// `Insufficient cpu: needs 4, has 2 free of 8`
fn values(refusal: &crate::explain::Refusal) -> String {
    let reason = &refusal.reason;
    match (refusal.what.as_str(), refusal.need.as_str(), refusal.have.as_str()) {
        ("", "", "") => reason.clone(),
        (what, "", "") => format!("{reason}: {what}"),
        (what, "", have) => format!("{reason}: {what} {have}"),
        (what, need, "") => format!("{reason}: {what}, needs {need}"),
        (what, need, have) => format!("{reason}: {what} needs {need}, has {have}"),
    }
}

/// `Room: 2 of 8 nvidia.com/gpu free, 2 needed`
fn room(subject: &Subject, info: NodeInfo) -> String {
    let requests = crate::lang::types::value::named_resources(&subject.pod.requests);
    let parts: Vec<String> = requests
        .iter()
        .filter(|(_, needed)| *needed > 0)
        .map(|(name, needed)| {
            let (all, used) = (info.allocatable().get(name), info.requested().get(name));
            let show = |amount: i64| amount_beside(name, amount, *needed);
            let free = rounded_down(name, (all - used).max(0));
            format!("{} of {} {name} free, {} needed", show(free), show(all), show(*needed))
        })
        .collect();
    if parts.is_empty() { String::new() } else { format!("Room: {}.", parts.join("; ")) }
}

/// The rules of policies with the values of their conditions on one node, for programs.
pub(crate) fn policy_rules(subject: &Subject, info: NodeInfo<'_>) -> Value {
    let sources = &subject.setup.policies.sources;
    subject
        .accounts(info)
        .into_iter()
        .map(|(rule, account)| {
            json!({
                "rule": rule,
                "place": account.place,
                "refuses": account.refuses(),
                "reached": account.reached(),
                "reason": account.of.reason,
                "error": account.of.fault.as_ref().map(|fault| &*fault.message),
                "details": account.of.details.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "condition": account.of.condition.as_ref().map(|shown| tree::to_json(sources, shown)),
            })
        })
        .collect()
}

/// The account of one node as JSON: rules of policies with the values of their conditions.
pub(crate) fn json(subject: &Subject, name: &str, evictions: &[evictions::EvictionAccount]) -> Option<Value> {
    let (explained, info) = subject.node(name)?;
    let sources = &subject.setup.policies.sources;
    let rules = policy_rules(subject, info);
    let late = once_chosen(subject, info).map(|told| refusals::to_json(&told, Some(name), sources));
    let mut json = json!({"name": name, "refusals": explained.refusals, "policyRules": rules});
    if let (Some(json), Some(late)) = (json.as_object_mut(), late) {
        json.insert("onceChosen".to_owned(), late);
    }
    let offers = subject.offers(info);
    if let (Some(json), false) = (json.as_object_mut(), offers.is_empty()) {
        json.insert("devices".to_owned(), json!(offers));
    }
    if let (Some(json), false) = (json.as_object_mut(), evictions.is_empty()) {
        let told = evictions.iter().map(|account| account.json(sources)).collect::<Vec<_>>();
        json.insert("evictions".to_owned(), told.into());
    }
    Some(json)
}
