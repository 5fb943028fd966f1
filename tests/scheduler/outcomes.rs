//! What becomes of a pod after each way to fail, as kube-scheduler recorded it: queue, counters, plugins, events,
//! condition, nomination. A plugin of ours fails at the same point with the same code.
//!
//! What our types rule out is left out: codes that upstream turns into `Error` because no plugin may return them there.

use super::steps::Steps;
use crate::support::{recorded, vectors_of, version_of};
use bayplan::config;
use bayplan::diag::SourceMap;
use bayplan::framework::*;
use bayplan::model::*;
use bayplan::plugins;
use bayplan::scheduler::{Input, Options, Profiles, QueuePlace};
use serde_json::Value;
use std::sync::Arc;

const TEXT: &str = "out of luck";

/// Fails at one point with one code.
#[derive(Clone)]
struct Fault {
    point: String,
    code: Option<Code>,
    answer: String,
}

impl Fault {
    fn at(&self, point: &str) -> Result<(), Status> {
        match self.code {
            Some(code) if self.point == point => Err(Status::new(code, TEXT)),
            _ => Ok(()),
        }
    }
}

impl Plugin for Fault {
    fn name(&self) -> &str {
        "Fault"
    }
    fn reads(&self) -> Reads {
        Reads::of(Kinds::ANNOTATIONS)
    }
    bayplan::serves!(
        EnqueueExtensions,
        PreFilter,
        Filter,
        PostFilter,
        PreScore,
        Score,
        Reserve,
        Permit,
        PreBind,
        Bind
    );
}

impl EnqueueExtensions for Fault {
    fn events(&self) -> Vec<EventRegistration> {
        vec![EventRegistration { resource: EventResource::Node, actions: ActionType::UPDATE_NODE_CONDITION }]
    }
}

impl PreFilter for Fault {
    fn pre_filter(&self, _: &Handle, _: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        self.at("PreFilter").map(|()| PreFilterOutcome::AllNodes)
    }
}

impl Filter for Fault {
    fn filter(&self, _: &Handle, _: NodeInfo) -> Result<(), Status> {
        match self.point.as_str() {
            "PostFilter" => Err(Status::unschedulable("does not fit")),
            _ => self.at("Filter"),
        }
    }
}

impl PostFilter for Fault {
    fn post_filter(&self, _: &Handle, _: &NodeToStatus, _: &mut dyn PluginsRunner) -> PostFilterOutcome {
        let promise = match self.answer.as_str() {
            "clear" => Promise::Clear,
            "node-000" => Promise::To(Symbol::new("node-000")),
            _ => Promise::Keep,
        };
        match self.code {
            _ if self.point != "PostFilter" => PostFilterOutcome::not(Status::unschedulable("")),
            None => PostFilterOutcome::Made { promise, message: String::new(), evict: Vec::new() },
            Some(code) => PostFilterOutcome::Not { status: Status::new(code, TEXT), promise },
        }
    }
}

impl PreScore for Fault {
    fn pre_score(&self, _: &Handle, _: &Feasible, _: &mut StateSlot) -> Result<PreScoreOutcome, Status> {
        self.at("PreScore").map(|()| PreScoreOutcome::Score)
    }
}

impl Score for Fault {
    fn score(&self, _: &Handle, _: NodeInfo) -> Result<i64, Status> {
        if self.point == "Score" && self.answer == "101" {
            return Ok(101);
        }
        self.at("Score").map(|()| 0)
    }
}

impl Reserve for Fault {
    fn reserve(&self, _: &mut Actor, _: NodeId) -> Result<(), Status> {
        self.at("Reserve")
    }
    fn unreserve(&self, _: &mut Actor, _: NodeId) {}
}

impl Permit for Fault {
    fn permit(&self, a: &mut Actor, _: NodeId) -> Result<PermitOutcome, Status> {
        if self.point == "WaitOnPermit" {
            return Ok(PermitOutcome::Wait { until: a.now + Duration::from_millis(10) });
        }
        self.at("Permit").map(|()| PermitOutcome::Allow)
    }
    fn reconsider(&self, a: &mut Actor, _: NodeId) -> Result<PermitOutcome, Status> {
        match self.answer.as_str() {
            "rejected" => Err(Status::unschedulable(TEXT)),
            _ => Ok(PermitOutcome::Wait { until: a.now }),
        }
    }
}

impl PreBind for Fault {
    fn pre_flight(&self, _: &Handle, _: NodeId) -> Result<PreFlight, Status> {
        self.at("PreBindPreFlight")?;
        Ok(if self.point == "PreBind" { PreFlight::Run { parallel: false } } else { PreFlight::Skip })
    }
    fn start(&self, _: &mut Actor, _: NodeId) -> Result<Box<dyn BindTask>, Status> {
        Ok(Box::new(Task(self.clone())))
    }
}

/// Fails at once.
struct Task(Fault);

impl BindTask for Task {
    fn poll(&mut self, _: &mut Actor, _: &Wake) -> Result<TaskPoll, Status> {
        self.0.at("PreBind").map(|()| TaskPoll::Done)
    }
    fn fork(&self) -> Box<dyn BindTask> {
        Box::new(Task(self.0.clone()))
    }
}

impl Bind for Fault {
    fn bind(&self, _: &Handle, _: NodeId) -> Result<BindOutcome, Status> {
        self.at("Bind").map(|()| BindOutcome::Skip)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn code(name: &str) -> Option<Code> {
    let codes = [Code::Error, Code::Unschedulable, Code::UnschedulableAndUnresolvable, Code::Pending];
    codes.into_iter().find(|code| code.name() == name)
}

/// Whether no plugin can be written that answers so. An empty set of nodes is one of unknown names: rows have none.
fn is_ruled_out(point: &str, code: &str, answer: &str) -> bool {
    let refuses_only_by_error = ["PreScore", "Score", "PreBindPreFlight"].contains(&point);
    answer == "nowhere" || refuses_only_by_error && code != "Error" && code != "Success"
}

fn profiles(case: &Value) -> Arc<Profiles> {
    let mut sources = SourceMap::new();
    let id = sources.add("config.json", case["config"].to_string());
    let (config, complaints) = config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    let mut registry = plugins::registry_with(Features::of(version_of(case)));
    let [point, answer] = ["point", "answer"].map(|key| text(&case[key]));
    let fault = Fault { point, answer, code: code(case["code"].as_str().unwrap()) };
    registry.add_plugin(Arc::new(fault)).unwrap();
    let frameworks =
        config.frameworks(&registry, id).unwrap_or_else(|errors| panic!("{errors:#?}")).frameworks;
    Arc::new(Profiles { frameworks, revision: 1 })
}

/// The answer of the API server to the bind.
fn answer_to_bind(answer: &str) -> Option<CallError> {
    let (code, reason, message) = match answer {
        "conflict" => {
            let why = "pod new-000 is already assigned to node \"node-009\"";
            (409, "Conflict", format!("Operation cannot be fulfilled on pods/binding \"new-000\": {why}"))
        }
        "not found" => (404, "NotFound", "pods \"new-000\" not found".to_owned()),
        "forbidden" => (403, "Forbidden", "pods/binding \"new-000\" is forbidden: no".to_owned()),
        _ => return None,
    };
    Some(CallError::Refused { code, reason: reason.to_owned(), message })
}

/// What became of the pod of a case.
fn ours(case: &Value) -> Steps {
    let objects = case["nodes"].as_array().into_iter().flatten().chain([&case["pod"]]);
    let objects = objects.map(|object| {
        let row = KINDS.iter().find(|row| object["kind"] == row.name).unwrap();
        (row.from_value)(Arc::new(object.clone())).unwrap()
    });
    let options = Options { longest_wait: None, ..Options::default() };
    let mut steps = Steps::with_options(options, profiles(case), objects.collect());
    steps.step(Input::Cycle);
    match case["answer"].as_str() {
        Some("rejected") => {
            let annotated = case["nodes"][0].clone();
            let Object::Node(node) = (KINDS[1].from_value)(Arc::new(annotated)).unwrap() else { panic!() };
            let annotations = Annotations::from_iter([(Symbol::new("a"), "b".into())]);
            steps.put(Object::Node(Arc::new(Node { annotations, ..(*node).clone() })));
        }
        Some("timeout") => steps.wait(Duration::from_millis(10)),
        _ => {}
    }
    while let Some((_, call)) = steps.open.first() {
        let failure = match call {
            ApiCall::Bind { .. } => answer_to_bind(&text(&case["answer"])),
            _ => None,
        };
        match failure {
            Some(failure) => steps.reply(Err(failure)),
            None => {
                let (ticket, call) = steps.open.remove(0);
                let answer = steps.server.answer(&call, steps.now, None);
                steps.step(Input::Reply(ticket, answer));
                steps.watch();
            }
        }
    }
    steps
}

#[test]
fn pods_end_where_kube_scheduler_leaves_them() {
    for version in KubernetesVersion::ALL {
        let cases = recorded(version, "outcomes");
        let compared = compare(&cases);
        assert!(compared >= 150 && cases.len() >= 200, "{compared} of {}", cases.len());
    }
}

#[test]
#[ignore = "needs further vectors in BAYPLAN_VECTORS"]
fn further_pods_end_where_kube_scheduler_leaves_them() {
    let folder = std::env::var("BAYPLAN_VECTORS").expect("a folder with *.jsonl.gz");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("outcomes") && name.ends_with(".jsonl.gz") {
            println!("{name}: {} cases", compare(&vectors_of(&path)));
        }
    }
}

/// Compares what became of the pods of these cases; how many were compared.
fn compare(cases: &[Value]) -> usize {
    let mut compared = 0;
    for case in cases {
        let [name, point, code, answer] = ["name", "point", "code", "answer"].map(|key| text(&case[key]));
        if is_ruled_out(&point, &code, &answer) {
            continue;
        }
        compared += 1;
        let steps = ours(case);
        let place = format!("{name} {answer}");
        let key = steps.key("new-000");
        let queue = match steps.scheduler.queue_place(&key) {
            Some(QueuePlace::Active) => "active",
            Some(QueuePlace::Backoff) => "backoff",
            Some(QueuePlace::Unschedulable) => "unschedulable",
            _ => "none",
        };
        assert_eq!(queue, case["queue"], "{place}: queue");
        let events: Vec<String> = case["events"].as_array().into_iter().flatten().map(text).collect();
        let events: Vec<&str> = events
            .iter()
            .map(|event| event.split_once(" Binding ").or(event.split_once(" Scheduling ")).unwrap().1)
            .collect();
        let written = steps.events.iter().map(|event| event.split_once(' ').unwrap().1);
        // Upstream draws among nodes that are equally good.
        let any_node = |event: &str| match event.split_once(" to node-") {
            Some((pod, _)) => format!("{pod} to a node"),
            None => event.to_owned(),
        };
        let written: Vec<String> = written.map(any_node).collect();
        let events: Vec<String> = events.into_iter().map(any_node).collect();
        assert_eq!(written, events, "{place}: events");
        // Only nodes that exist were looked at.
        let exists = |node: &String| {
            case["nodes"].as_array().unwrap().iter().any(|of| of["metadata"]["name"] == **node)
        };
        let nominated = steps.scheduler.nominations().map(|(_, node)| node.to_string()).find(exists);
        assert_eq!(nominated.unwrap_or_default(), text(&case["nominated"]), "{place}: nomination in memory");
        compare_status(&place, case, &steps);
    }
    compared
}

/// The status after upstream's patches, against ours.
fn compare_status(place: &str, case: &Value, steps: &Steps) {
    let pod = steps.pod("new-000");
    let mut nominated = text(&case["pod"]["status"]["nominatedNodeName"]);
    let mut condition = case["pod"]["status"]["conditions"][0].clone();
    for patch in case["patches"].as_array().into_iter().flatten() {
        let status = patch["status"].as_object().unwrap();
        if let Some(name) = status.get("nominatedNodeName") {
            nominated = text(name);
        }
        // A patch of a condition names only the fields that change.
        for (field, value) in status.get("conditions").and_then(|of| of[0].as_object()).into_iter().flatten()
        {
            condition[field] = value.clone();
        }
    }
    if case["events"][0].as_str().is_some_and(|event| event.starts_with("Normal Scheduled")) {
        return;
    }
    let written =
        pod.scheduled_condition.as_deref().map(|of| [&of.0, &of.1].map(|symbol| symbol.to_string()));
    let expected = ["status", "reason"].map(|field| text(&condition[field]));
    assert_eq!(written, Some(expected), "{place}: condition");
    let message = pod.scheduled_condition.as_deref().map(|of| of.2.to_string());
    assert_eq!(message, Some(text(&condition["message"])), "{place}: message");
    let ours = pod.nominated_node.as_ref().map(|node| node.to_string()).unwrap_or_default();
    assert_eq!(ours, nominated, "{place}: nominatedNodeName");
}
