//! `bayplan explain POD` of a pod that has finished: how it ended. Where its kubelet refused it after it was bound, also
//! which pods others placed on that node, those bound at nearly that time first: they may have taken the room.

use super::{Args, Setup};
use crate::cli::output::{Column, Output, Style, Table, count};
use crate::cli::{ExitStatus, page, setup};
use crate::diag::escape;
use crate::model::{Object, PodInfo, Time, amount, kubelet_refusal, lacking_resource};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many pods of others are shown.
const SHOWN: usize = 8;
/// A pod that was bound within this many seconds of the refusal may not have been seen when the refused one was placed.
const NEAR: u64 = 60;

/// The finished pod of this name: of the files, or of the live cluster, whose lists leave finished pods out.
pub(super) fn find(args: &Args, name: &str, setup: &Setup) -> anyhow::Result<Option<Arc<PodInfo>>> {
    let (namespace, finished) = (args.namespace.as_deref(), &setup.world.finished);
    if let Ok(at) = setup::named(finished.iter(), name, namespace, &setup.namespace) {
        return Ok(finished.get(at).cloned());
    }
    #[cfg(feature = "cluster")]
    if args.from.cluster.is_empty() {
        let (namespace, name) = setup::full_name(name, namespace, &setup.namespace);
        let found = crate::cli::live::pod(&args.from.connection, namespace, name)?;
        return Ok(found.filter(PodInfo::is_finished).map(Arc::new));
    }
    Ok(None)
}

/// Prints how it ended.
pub(super) fn run(
    args: &Args,
    pod: &Arc<PodInfo>,
    setup: &Setup,
    out: &mut Output,
) -> anyhow::Result<ExitStatus> {
    if args.fix.is_some() {
        anyhow::bail!("nothing is suggested for {}: it has finished", escape::line(&pod.full_name()));
    }
    if args.node.is_some() {
        anyhow::bail!("no node is evaluated for {}: it has finished", escape::line(&pod.full_name()));
    }
    let ended = Ended::of(pod, setup);
    if let Some(form) = page::Form::of(&args.output) {
        let text = ended.text(args, &super::pod::plain());
        let asked = page::Asked::of("explain", args.flags(), &args.how, text);
        page::write(&asked, setup, (form, args.anonymize), out)?;
    } else if args.is_json() {
        out.json(&ended.json())?;
    } else {
        let text = ended.text(args, out);
        write!(out.stdout(), "{text}")?;
    }
    Ok(ExitStatus::Success)
}

/// A pod that has finished.
struct Ended<'a> {
    pod: &'a Arc<PodInfo>,
    setup: &'a Setup,
    /// The reason of the kubelet that refused it.
    refused: Option<&'a str>,
    /// What the kubelet wrote.
    message: &'a str,
    /// What others placed on its node; empty unless it was refused.
    beside: Vec<Beside<'a>>,
}

/// A pod on the node that a scheduler of the configuration did not place.
struct Beside<'a> {
    pod: &'a PodInfo,
    bound: Option<Time>,
    /// Seconds between the refusal and the binding.
    apart: Option<u64>,
}

/// When a kubelet refused the pod: it sets the start of a pod when it first writes of it.
fn refused_at(pod: &PodInfo) -> Option<Time> {
    pod.started.or_else(|| bound_at(pod))
}

/// When a pod was bound; of a pod that no scheduler placed, when its kubelet took it.
fn bound_at(pod: &PodInfo) -> Option<Time> {
    let condition = pod.scheduled_condition.as_deref();
    let bound = condition.filter(|(status, ..)| status == "True").and_then(|(_, _, _, since)| *since);
    bound.or(pod.started)
}

/// Whole seconds between two instants.
fn seconds(of: Time, other: Time) -> u64 {
    of.0.abs_diff(other.0) / 1_000_000
}

impl<'a> Ended<'a> {
    fn of(pod: &'a Arc<PodInfo>, setup: &'a Setup) -> Self {
        let reason = pod.failure.as_deref().filter(|reason| kubelet_refusal(reason).is_some());
        let refused = reason.filter(|_| pod.node_name.is_some());
        let message = pod.raw.as_ref().and_then(|whole| whole.pointer("/status/message")?.as_str());
        let mut ended =
            Self { pod, setup, refused, message: message.unwrap_or_default(), beside: Vec::new() };
        if refused.is_some() {
            ended.beside = ended.beside();
        }
        ended
    }

    fn beside(&self) -> Vec<Beside<'a>> {
        let at = refused_at(self.pod);
        let on_node = self.setup.world.objects.iter().filter_map(|object| match object {
            Object::Pod(pod) if pod.node_name == self.pod.node_name => Some(&**pod),
            _ => None,
        });
        let others = on_node.filter(|pod| {
            pod.key != self.pod.key
                && (pod.is_of_its_node() || self.setup.profiles.get(&pod.scheduler_name).is_none())
        });
        let mut found: Vec<Beside> = others
            .map(|pod| {
                let bound = bound_at(pod);
                let apart = at.zip(bound).map(|(at, bound)| seconds(at, bound));
                Beside { pod, bound, apart }
            })
            .collect();
        found.sort_by_key(|of| (of.apart.is_none(), of.apart, of.pod.full_name()));
        found
    }

    /// The resource of which there was too little.
    fn resource(&self) -> Option<&str> {
        self.refused.and_then(lacking_resource).filter(|resource| *resource != "pods")
    }

    fn request(&self, of: &PodInfo) -> Option<String> {
        let resource = self.resource()?;
        Some(amount(resource, of.requests.get(&resource.into())))
    }

    /// The first line, without what the kubelet wrote.
    fn verdict(&self, out: &Output) -> String {
        let name = out.part(&self.pod.full_name());
        let node = self.pod.node_name.as_ref().map(|node| out.part(node));
        if let (Some(reason), Some(node)) = (self.refused, &node) {
            let (refused, reason) = (out.paint(Style::Bad, "refused"), out.part(reason));
            return format!("{name} was bound to {node}, and the kubelet there {refused} it: {reason}");
        }
        let on = node.map_or_else(String::new, |node| format!(" on {node}"));
        match &self.pod.failure {
            Some(reason) => format!("{name} has failed{on}: {}", out.part(reason)),
            None if self.pod.phase == "Failed" => format!("{name} has failed{on}"),
            None => format!("{name} has succeeded{on}"),
        }
    }

    fn text(&self, args: &Args, out: &Output) -> String {
        let mut text = format!("{}\n", self.verdict(out));
        if out.quiet {
            return text;
        }
        if !self.message.is_empty() {
            text.push_str(&format!("  {}\n", out.part(self.message)));
        }
        if self.refused.is_none() {
            return text;
        }
        text.push_str(&self.others(args, out));
        let maker = self.setup.makers_of(self.pod).into_iter().next();
        let next = match maker {
            Some((kind, name)) => format!("its {kind} {} makes another pod", out.part(&name)),
            None => "it has no controller that makes another pod".to_owned(),
        };
        text.push_str(&format!("\nA refused pod stays failed: {next}.\n"));
        text.push_str(&args.next(&self.next(args, out), out));
        text
    }

    /// What others placed on the node.
    fn others(&self, args: &Args, out: &Output) -> String {
        let node = self.pod.node_name.as_deref().map(|node| out.part(node)).unwrap_or_default();
        if self.beside.is_empty() {
            return format!(
                "\nAll pods on {node} now are of the schedulers of this configuration: what took the room is gone, or the \
                 kubelet has less than the node says.\n"
            );
        }
        let near = self.beside.iter().filter(|of| of.apart.is_some_and(|apart| apart <= NEAR)).count();
        let near = match near {
            0 => format!("none was bound within {NEAR} s of it"),
            1 => format!("1 was bound within {NEAR} s of it and may have taken the room"),
            many => format!("{} were bound within {NEAR} s of it and may have taken the room", count(many)),
        };
        let mut text = format!("\nPods on {node} that others placed, the nearest in time first; {near}:\n\n");
        let resource = self.resource().map(str::to_uppercase);
        let mut columns = vec![Column::words("POD"), Column::words("PLACED BY")];
        columns.extend(resource.as_deref().map(Column::numbers_of));
        columns.push(Column::words("BOUND"));
        let mut table = Table::new(&columns);
        table.indent = 2;
        let shown = if args.all { self.beside.len() } else { SHOWN };
        for of in self.beside.iter().take(shown) {
            let mut row =
                vec![(Style::Name, of.pod.full_name()), (Style::Plain, placed_by(of.pod).to_owned())];
            row.extend(self.request(of.pod).map(|request| (Style::Plain, request)));
            row.push((Style::Plain, self.when(of)));
            table.row(row);
        }
        text.push_str(&table.draw(out));
        if let more @ 1.. = self.beside.len().saturating_sub(shown) {
            text.push_str(&format!(
                "  {}\n",
                out.paint(Style::Dim, &format!("and {} more (--all)", count(more)))
            ));
        }
        text
    }

    fn when(&self, of: &Beside) -> String {
        let (Some(at), Some(bound), Some(apart)) = (refused_at(self.pod), of.bound, of.apart) else {
            return "at an unknown time".to_owned();
        };
        let span = match apart {
            0 => return "in that second".to_owned(),
            1..120 => format!("{apart} s"),
            120..7_200 => format!("{} min", apart / 60),
            7_200..172_800 => format!("{} h", apart / 3_600),
            _ => format!("{} days", apart / 86_400),
        };
        format!("{span} {}", if bound <= at { "before" } else { "after" })
    }

    fn next(&self, args: &Args, out: &Output) -> Vec<(String, &'static str)> {
        let (mut commands, node) = (Vec::new(), self.pod.node_name.as_deref().unwrap_or_default());
        #[cfg(feature = "cluster")]
        if args.from.cluster.is_empty() {
            let connection =
                crate::cli::live::Connection { impersonate: None, ..args.from.connection.clone() };
            commands.push((
                format!("{} doctor{}", out.program, connection.flags()),
                "all pods that kubelets refused, and who fills their nodes",
            ));
        }
        let _ = (args, out);
        commands.push((
            format!(
                "kubectl get pods --all-namespaces --field-selector spec.nodeName={}",
                setup::quoted(node)
            ),
            "what is on the node now",
        ));
        commands
    }

    fn json(&self) -> Value {
        let mut told = json!({
            "apiVersion": "bayplan.dev/v1", "kind": "Explanation", "kubernetes": self.setup.version(),
            "pod": self.pod.full_name(),
            "state": if self.refused.is_some() { "refusedByKubelet" } else { "finished" },
            "verdict": self.verdict(&super::pod::plain()), "wouldHelp": [],
        });
        if let Some(node) = &self.pod.node_name {
            told["node"] = json!(node.as_str());
        }
        let profile = self.setup.profiles.get(&self.pod.scheduler_name);
        told["profile"] = json!(profile.map_or("", |profile| profile.scheduler_name.as_str()));
        let mut finished = json!({"phase": self.pod.phase.as_str()});
        if let Some(reason) = &self.pod.failure {
            finished["reason"] = json!(reason.as_str());
        }
        if !self.message.is_empty() {
            finished["message"] = json!(self.message);
        }
        if self.refused.is_some() {
            if let Some(at) = refused_at(self.pod) {
                finished["refusedAt"] = json!(at.to_rfc3339());
            }
            let beside = self.beside.iter().map(|of| {
                let mut told = json!({"pod": of.pod.full_name(), "placedBy": placed_by(of.pod)});
                if let Some(bound) = of.bound {
                    told["boundAt"] = json!(bound.to_rfc3339());
                }
                if let Some(request) = self.request(of.pod) {
                    told["request"] = json!(request);
                }
                told
            });
            finished["beside"] = beside.collect();
        }
        told["finished"] = finished;
        told
    }
}

/// What placed a pod.
fn placed_by(pod: &PodInfo) -> &str {
    if pod.is_of_its_node() { "a file of the kubelet" } else { pod.scheduler_name.as_str() }
}
