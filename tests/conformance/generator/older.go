//go:build kubernetes1_36

package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// kubernetesVersion is the version whose packages decide, as cases name it: those of 1.36 do not.
const kubernetesVersion = ""

// taintsWake says that plugins which wait for nodes wait for their taints too.
const taintsWake = true

// newerKinds are examples of the kinds of devices that 1.37 watches and the version does not.
var newerKinds []runtime.Object

// updatesOf is the events of an update of a pod, whichever it is.
func updatesOf(now, before *v1.Pod, _ bool) []fwk.ClusterEvent {
	return framework.PodSchedulingPropertiesChange(now, before)
}

// queued is what the queue knows of a pod.
func queued(in queue.SchedulingQueue, pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return in.GetPod(pod.Name, pod.Namespace)
}
