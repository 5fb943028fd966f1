//! An [`Edit`] as people say it.

use super::{CORDONED, Edit};
use bayplan_model::{PodInfo, Taint, amount_beside};

impl Edit {
    /// What to do. `which` names the node: `n1`, `one of 3 nodes`.
    pub fn describe(&self, pod: &PodInfo, which: &str) -> String {
        match self {
            Edit::Request { resource, amount } => {
                let requested = pod.requests.get(resource);
                let less = amount_beside(resource, *amount, requested);
                let requested = amount_beside(resource, requested, *amount);
                format!("request {less} {resource} instead of {requested}")
            }
            Edit::Tolerate(of) => format!("tolerate {}", taint(of)),
            Edit::SelectorValue { key, from, to } => {
                format!("use {key}={to} instead of {key}={from} in the node selector")
            }
            Edit::SelectorKey { from, to, value } => {
                format!("use {to}={value} instead of {from}={value} in the node selector")
            }
            Edit::DropSelector { key, value } => format!("leave {key}={value} out of the node selector"),
            Edit::DropRequiredAffinity => "leave out the required node affinity".to_owned(),
            Edit::DropPodAffinity => "leave out the required pod affinity".to_owned(),
            Edit::DropPodAntiAffinity => "leave out the required pod anti-affinity".to_owned(),
            Edit::DropHostPort(port) => format!("use no host port {}/{}", port.port, port.protocol),
            Edit::MaxSkew { topology_key, from, to } => {
                format!("allow a skew of {to} instead of {from} over {topology_key}")
            }
            Edit::SpreadAnyway { topology_key } => {
                format!("only prefer to spread over {topology_key} (ScheduleAnyway)")
            }
            Edit::PodLabel { key, value: Some(value) } => format!("set the label {key}={value}"),
            Edit::PodLabel { key, value: None } => format!("remove the label {key}"),
            Edit::PodAnnotation { key, value: Some(value) } => format!("set the annotation {key}={value}"),
            Edit::PodAnnotation { key, value: None } => format!("remove the annotation {key}"),
            Edit::TolerateDevice { of, taint } => format!("tolerate {taint} of devices ({of})"),
            Edit::DeviceCount { of, from, to } => {
                let devices = if *to == 1 { "device" } else { "devices" };
                format!("request {to} {devices} instead of {from} ({of})")
            }
            Edit::NodeLabel { key, value: Some(value) } => format!("label {which} {key}={value}"),
            Edit::NodeLabel { key, value: None } => format!("remove the label {key} from {which}"),
            Edit::RemoveTaint(of) => format!("remove the taint {} from {which}", taint(of)),
            Edit::Uncordon { tainted: true } => format!("uncordon {which} and remove its taint {CORDONED}"),
            Edit::Uncordon { tainted: false } => format!("uncordon {which}"),
            Edit::Except(of) => format!("except this pod from {of}"),
            Edit::ComesFree { resource, .. } if resource.as_str() == "pods" => {
                "until pods that count end".to_owned()
            }
            Edit::ComesFree { resource, amount } => {
                let shown = amount_beside(resource, *amount, *amount);
                let come = if shown == "1" { "comes" } else { "come" };
                format!("until {shown} {resource} {come} free")
            }
            Edit::PodsEnd => format!("until pods end on {which}"),
        }
    }
}

/// `dedicated=batch:NoSchedule`
pub(super) fn taint(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect.name())
}
