//! A panic in any task ends the process with status 1, so that another replica takes over.

use crate::extenders::{self, OurExtender};
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, daemon::Folder, wait_until};
use crate::workload::Workload;
use bayplan::cluster::process::supervisor::Task;
use std::time::Duration;

#[test]
fn a_panic_in_each_task_ends_the_process_with_status_1() {
    let plane = ControlPlane::shared();
    let namespace = plane.create_namespace("panic");
    let folder = Folder::new("panics");
    let extender = "{urlPrefix: 'http://127.0.0.1:1', filterVerb: filter}".to_owned();
    extenders::certificate(&folder, "webhook", false, &extenders::authority(&folder));
    let file = |name: &str| folder.join(name).display().to_string();
    let with_extender = extenders::config(&folder, "panic-extenders", &[extender]);
    // A few at a time, because each needs a CPU for a second.
    for tasks in Task::ALL.chunks(3) {
        let started = tasks.iter().map(|task| {
            let variable = ("BAYPLAN_PANIC_IN", task.name());
            let setup = Setup::new(&format!("panic-{}", task.name())).policies_from(&namespace);
            let setup = setup.variable(variable.0, variable.1);
            let setup = match task {
                Task::ExtenderPort => {
                    let folder = Folder::new("panics");
                    let ours = OurExtender::start_with(plane, &folder, folder.path(), &[], &[variable]);
                    return (task, ours.daemon, folder);
                }
                Task::Extenders => setup.config(with_extender.clone()),
                Task::AdmissionPort => setup
                    .flag("--admission-listen=127.0.0.1:0")
                    .flag(format!("--admission-cert-file={}", file("webhook.crt")))
                    .flag(format!("--admission-key-file={}", file("webhook.key")))
                    .elects(),
                Task::Statuses => setup.flag("--write-status=PodGroup").elects(),
                _ => setup.elects(),
            };
            let SchedulerProcess { daemon, folder, .. } = SchedulerProcess::spawn(plane, &setup);
            (task, daemon, folder)
        });
        for (task, mut daemon, _folder) in started.collect::<Vec<_>>() {
            let ended = daemon.wait_exit(Duration::from_secs(60));
            let said = daemon.log();
            assert_eq!(ended.and_then(|it| it.code()), Some(1), "{}: {said}", task.name());
            let text = format!("the task `{}` panicked: a panic for a test", task.name());
            assert!(said.contains(&text), "{}: {said}", task.name());
        }
    }
}

#[test]
fn after_a_panic_the_other_replica_binds_the_pods() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "panics", 5);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace).elects();
    let broken = setup.clone().variable("BAYPLAN_PANIC_IN", "watch");
    let mut broken = SchedulerProcess::spawn(plane, &broken);
    let ours = SchedulerProcess::spawn(plane, &setup);
    load.create_pods(20, "10m");
    load.wait_bound(20, Duration::from_secs(40));
    assert!(broken.daemon.wait_exit(Duration::from_secs(20)).is_some());
    wait_until("the other leads", Duration::from_secs(5), || ours.said().contains("became leader"));
    load.check();
}
