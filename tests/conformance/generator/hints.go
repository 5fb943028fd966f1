package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// hintCase is one unschedulable pod and changes that may wake it.
type hintCase struct {
	Name       string            `json:"name"`
	Kubernetes string            `json:"kubernetes,omitempty"`
	Objects    []json.RawMessage `json:"objects"`
	Pod        json.RawMessage   `json:"pod"`
	RejectedBy []string          `json:"rejectedBy"`
	Changes    []change          `json:"changes"`
}

type change struct {
	Old    json.RawMessage              `json:"old"`
	New    json.RawMessage              `json:"new"`
	Events []string                     `json:"events"`
	Hints  map[string]map[string]string `json:"hints"`
	Moves  bool                         `json:"moves"`
}

const defaultConfig = `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"}`

// run fills in what upstream says of the case; false when the pod fits.
func (h *hintCase) run() (bool, error) {
	h.Kubernetes = kubernetesVersion
	c, err := newCluster(json.RawMessage(defaultConfig), h.Objects, true)
	if err != nil {
		return false, err
	}
	defer c.stop()
	object, err := decode(h.Pod)
	if err != nil {
		return false, err
	}
	pod := object.(*v1.Pod)
	if h.RejectedBy = c.decide(pod).UnschedulablePlugins; len(h.RejectedBy) == 0 {
		return false, nil
	}
	fw := c.sched.Profiles[v1.DefaultSchedulerName]
	registered, err := registrations(c, fw)
	if err != nil {
		return false, err
	}
	for i := range h.Changes {
		if err := h.Changes[i].run(c, pod, h.RejectedBy, registered); err != nil {
			return false, err
		}
	}
	return true, nil
}

type registration struct {
	plugin string
	fwk.ClusterEventWithHint
}

// registrations is scheduler.go's buildQueueingHintMap as a list.
func registrations(c *cluster, fw framework.Framework) ([]registration, error) {
	var all []registration
	queue := func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { return fwk.Queue, nil }
	for _, extension := range fw.EnqueueExtensions() {
		events, err := extension.EventsToRegister(c.ctx)
		if err != nil {
			return nil, err
		}
		var nodeAdd, nodeTaint bool
		for _, event := range events {
			if event.QueueingHintFn == nil {
				event.QueueingHintFn = queue
			}
			if event.Event.Resource == fwk.Node {
				nodeAdd = nodeAdd || event.Event.ActionType&fwk.Add != 0
				nodeTaint = nodeTaint || event.Event.ActionType&fwk.UpdateNodeTaint != 0
			}
			all = append(all, registration{extension.Name(), event})
		}
		if taintsWake && nodeAdd && !nodeTaint {
			event := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeTaint}
			all = append(all, registration{extension.Name(), fwk.ClusterEventWithHint{Event: event, QueueingHintFn: queue}})
		}
	}
	return all, nil
}

func (ch *change) run(c *cluster, pod *v1.Pod, rejectedBy []string, registered []registration) error {
	before, err := optional(ch.Old)
	if err != nil {
		return err
	}
	after, err := optional(ch.New)
	if err != nil {
		return err
	}
	ch.Events, ch.Hints, ch.Moves = []string{}, map[string]map[string]string{}, false
	// Claims and classes are looked up by hints, which come after the change is known.
	if filled := c.filled[fmt.Sprintf("%T", first(after, before))]; filled != nil {
		if err := filled.replace(before, after); err != nil {
			return err
		}
		defer filled.takeBack(before, after)
	}
	var oldObject, newObject any
	if before != nil {
		oldObject = before
	}
	if after != nil {
		newObject = after
	}
	for _, event := range eventsOf(before, after, pod) {
		label := event.Label()
		ch.Events = append(ch.Events, label)
		for _, r := range registered {
			if !framework.MatchClusterEvents(r.Event, event) {
				continue
			}
			hint, err := r.QueueingHintFn(c.log, pod, oldObject, newObject)
			if err != nil {
				hint = fwk.Queue
			}
			if ch.Hints[label] == nil {
				ch.Hints[label] = map[string]string{}
			}
			if ch.Hints[label][r.plugin] != fwk.Queue.String() {
				ch.Hints[label][r.plugin] = hint.String()
			}
			ch.Moves = ch.Moves || hint == fwk.Queue && slices.Contains(rejectedBy, r.plugin)
		}
	}
	return nil
}

func optional(raw json.RawMessage) (runtime.Object, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	return decode(raw)
}

// eventsOf is what eventhandlers.go passes to the queue for a change, of the waiting pod or another object.
func eventsOf(before, after runtime.Object, waiting *v1.Pod) []fwk.ClusterEvent {
	switch object := first(after, before).(type) {
	case *v1.Node:
		switch {
		case before == nil:
			return []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: fwk.Add}}
		case after == nil:
			return []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: fwk.Delete}}
		}
		return framework.NodeSchedulingPropertiesChange(object, before.(*v1.Node))
	case *v1.Pod:
		assigned := object.Spec.NodeName != ""
		switch {
		case before == nil && assigned:
			return []fwk.ClusterEvent{framework.EventAssignedPodAdd}
		case after == nil && (assigned || object.Status.NominatedNodeName != ""):
			return []fwk.ClusterEvent{framework.EventAssignedPodDelete}
		case before == nil || after == nil:
			return nil
		case assigned && before.(*v1.Pod).Spec.NodeName == "":
			return []fwk.ClusterEvent{framework.EventAssignedPodAdd}
		}
		return updatesOf(object, before.(*v1.Pod), object.UID == waiting.UID)
	default:
		action := fwk.Update
		switch {
		case before == nil:
			action = fwk.Add
		case after == nil:
			action = fwk.Delete
		}
		if resource, has := resources[reflect.TypeOf(object)]; has {
			return []fwk.ClusterEvent{{Resource: resource, ActionType: action}}
		}
	}
	return nil
}

// resources has the resource of events about objects of the kinds of storage and devices.
var resources = map[reflect.Type]fwk.EventResource{
	reflect.TypeFor[*v1.PersistentVolume]():          fwk.PersistentVolume,
	reflect.TypeFor[*v1.PersistentVolumeClaim]():     fwk.PersistentVolumeClaim,
	reflect.TypeFor[*storagev1.StorageClass]():       fwk.StorageClass,
	reflect.TypeFor[*storagev1.CSINode]():            fwk.CSINode,
	reflect.TypeFor[*storagev1.CSIDriver]():          fwk.CSIDriver,
	reflect.TypeFor[*storagev1.CSIStorageCapacity](): fwk.CSIStorageCapacity,
	reflect.TypeFor[*storagev1.VolumeAttachment]():   fwk.VolumeAttachment,
	reflect.TypeFor[*resourceapi.ResourceClaim]():    fwk.ResourceClaim,
	reflect.TypeFor[*resourceapi.ResourceSlice]():    fwk.ResourceSlice,
	reflect.TypeFor[*resourceapi.DeviceClass]():      fwk.DeviceClass,
}

func first(a, b runtime.Object) runtime.Object {
	if a != nil {
		return a
	}
	return b
}
