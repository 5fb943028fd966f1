package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// outcomeCase is one attempt in which one plugin answers with one code at one point, and what becomes of the pod.
type outcomeCase struct {
	Name       string `json:"name"`
	Kubernetes string `json:"kubernetes,omitempty"`
	// Config is the configuration; the plugin that fails is called Fault.
	Config json.RawMessage   `json:"config"`
	Nodes  []json.RawMessage `json:"nodes"`
	Pod    json.RawMessage   `json:"pod"`
	// Point and Code say where and how it fails; Answer is what PostFilter promises, or the API server's answer to the bind.
	Point  string `json:"point"`
	Code   string `json:"code"`
	Answer string `json:"answer,omitempty"`

	// Queue is where the pod is afterwards: active, backoff, unschedulable or none.
	Queue                string            `json:"queue"`
	UnschedulableCount   int               `json:"unschedulableCount"`
	ErrorsCount          int               `json:"errorsCount"`
	UnschedulablePlugins []string          `json:"unschedulablePlugins"`
	PendingPlugins       []string          `json:"pendingPlugins"`
	Patches              []json.RawMessage `json:"patches"`
	Events               []string          `json:"events"`
	Nominated            string            `json:"nominated"`
}

// fault is a plugin at all points.
type fault struct {
	point, answer string
	code          fwk.Code
	handle        fwk.Handle
}

var codes = map[string]fwk.Code{
	"Success": fwk.Success, "Error": fwk.Error, "Unschedulable": fwk.Unschedulable,
	"UnschedulableAndUnresolvable": fwk.UnschedulableAndUnresolvable, "Wait": fwk.Wait, "Skip": fwk.Skip, "Pending": fwk.Pending,
}

const faultText = "out of luck"

func (f *fault) at(point string) *fwk.Status {
	if f.point != point {
		return nil
	}
	return fwk.NewStatus(f.code, faultText)
}

func (f *fault) Name() string { return "Fault" }

// EventsToRegister names an event that does not come.
func (f *fault) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAnnotation}}}, nil
}

func (f *fault) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if f.point == "PreFilter" && f.answer == "nowhere" {
		return &fwk.PreFilterResult{NodeNames: sets.New[string]()}, nil
	}
	return nil, f.at("PreFilter")
}
func (f *fault) PreFilterExtensions() fwk.PreFilterExtensions { return nil }
func (f *fault) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status {
	if f.point == "PostFilter" {
		return fwk.NewStatus(fwk.Unschedulable, "does not fit")
	}
	return f.at("Filter")
}
func (f *fault) PostFilter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if f.point != "PostFilter" {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	var result *fwk.PostFilterResult
	switch f.answer {
	case "keep":
		result = &fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{NominatingMode: fwk.ModeNoop}}
	case "clear":
		result = &fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride}}
	case "node-000":
		result = &fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: f.answer}}
	}
	if f.code == fwk.Success {
		return result, nil
	}
	return result, f.at("PostFilter")
}
func (f *fault) PreScore(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) *fwk.Status {
	return f.at("PreScore")
}
func (f *fault) Score(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	if f.point == "Score" && f.answer == "101" {
		return 101, nil
	}
	return 0, f.at("Score")
}
func (f *fault) ScoreExtensions() fwk.ScoreExtensions { return nil }
func (f *fault) Reserve(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	return f.at("Reserve")
}
func (f *fault) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}
func (f *fault) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	switch f.point {
	case "WaitOnPermit":
		if f.answer == "timeout" {
			return fwk.NewStatus(fwk.Wait), 10 * time.Millisecond
		}
		go func() {
			for {
				if waiting := f.handle.GetWaitingPod(pod.UID); waiting != nil {
					waiting.Reject("Fault", faultText)
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		return fwk.NewStatus(fwk.Wait), time.Minute
	}
	return f.at("Permit"), time.Minute
}
func (f *fault) PreBindPreFlight(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if f.point == "PreBind" {
		return nil, nil
	}
	if f.point == "PreBindPreFlight" {
		return nil, f.at("PreBindPreFlight")
	}
	return nil, fwk.NewStatus(fwk.Skip)
}
func (f *fault) PreBind(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	return f.at("PreBind")
}
func (f *fault) Bind(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	if f.point == "Bind" {
		return f.at("Bind")
	}
	return fwk.NewStatus(fwk.Skip)
}

// recordedEvents keeps what would be written.
type recordedEvents struct {
	events.FakeRecorder
	mutex *sync.Mutex
	notes *[]string
}

func (r *recordedEvents) Eventf(_ runtime.Object, _ runtime.Object, kind, reason, action, note string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	*r.notes = append(*r.notes, fmt.Sprintf("%s %s %s %s", kind, reason, action, fmt.Sprintf(note, args...)))
}

// WithLogger keeps the recorder.
func (r *recordedEvents) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

var transition = regexp.MustCompile(`,?"last(Transition|Probe)Time":("[^"]*"|null)`)

// bindErrors are answers of the API server to a bind.
var bindErrors = map[string]error{
	"conflict":  apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, "new-000", errors.New("pod new-000 is already assigned to node \"node-009\"")),
	"not found": apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "new-000"),
	"forbidden": apierrors.NewForbidden(schema.GroupResource{Resource: "pods/binding"}, "new-000", errors.New("no")),
}

// run makes one attempt.
func (o *outcomeCase) run() error {
	o.Kubernetes = kubernetesVersion
	var mutex sync.Mutex
	var notes []string
	failing := &fault{point: o.Point, code: codes[o.Code], answer: o.Answer}
	registry := frameworkruntime.Registry{"Fault": func(_ context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		failing.handle = handle
		return failing, nil
	}}
	recorder := &recordedEvents{mutex: &mutex, notes: &notes}
	c, err := newClusterWith(o.Config, o.Nodes, false, registry, recorder)
	if err != nil {
		return err
	}
	defer c.stop()
	object, err := decode(o.Pod)
	if err != nil {
		return err
	}
	pod := object.(*v1.Pod)
	o.Patches = nil
	c.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mutex.Lock()
		defer mutex.Unlock()
		patch := transition.ReplaceAll(action.(clienttesting.PatchAction).GetPatch(), nil)
		o.Patches = append(o.Patches, bytes.ReplaceAll(patch, []byte("{,"), []byte("{")))
		// The watch shows the nomination at once.
		var changed struct {
			Status struct{ NominatedNodeName *string }
		}
		if err := json.Unmarshal(patch, &changed); err == nil && changed.Status.NominatedNodeName != nil {
			seen := pod.DeepCopy()
			seen.Status.NominatedNodeName = *changed.Status.NominatedNodeName
			return true, seen, c.informers.Core().V1().Pods().Informer().GetIndexer().Update(seen)
		}
		return true, pod, nil
	})
	c.client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		if failure := bindErrors[o.Answer]; failure != nil && o.Point == "BindCall" {
			return true, nil, failure
		}
		return true, &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}, nil
	})
	if err := c.informers.Core().V1().Pods().Informer().GetIndexer().Add(pod); err != nil {
		return err
	}
	c.sched.SchedulingQueue.Add(c.ctx, pod)
	c.sched.ScheduleOne(c.ctx)
	for range 4000 {
		mutex.Lock()
		done := len(notes) > 0
		mutex.Unlock()
		if done {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(30 * time.Millisecond)
	mutex.Lock()
	defer mutex.Unlock()
	o.Events = slices.Clone(notes)
	o.Patches = slices.Clone(o.Patches)
	is := func(other *v1.Pod) bool { return other.UID == pod.UID }
	queue := c.sched.SchedulingQueue
	o.Queue, o.UnschedulablePlugins, o.PendingPlugins = "none", []string{}, []string{}
	switch {
	case slices.ContainsFunc(queue.PodsInActiveQ(), is):
		o.Queue = "active"
	case slices.ContainsFunc(queue.PodsInBackoffQ(), is):
		o.Queue = "backoff"
	case slices.ContainsFunc(queue.UnschedulablePods(), is):
		o.Queue = "unschedulable"
	}
	if info, ok := queued(queue, pod); ok {
		o.UnschedulableCount, o.ErrorsCount = info.UnschedulableCount, info.ConsecutiveErrorsCount
		o.UnschedulablePlugins, o.PendingPlugins = sets.List(info.UnschedulablePlugins), sets.List(info.PendingPlugins)
	}
	o.Nominated = ""
	for _, node := range o.Nodes {
		object, err := decode(node)
		if err != nil {
			return err
		}
		name := object.(*v1.Node).Name
		for _, nominated := range queue.NominatedPodsForNode(name) {
			if is(nominated.GetPod()) {
				o.Nominated = name
			}
		}
	}
	return nil
}

// outcomes are the ways to fail; the draw only chooses the pod and the cluster.
func outcomes() []outcomeCase {
	var all []outcomeCase
	add := func(point, code, answer string) {
		all = append(all, outcomeCase{Point: point, Code: code, Answer: answer})
	}
	add("none", "Success", "")
	for _, point := range []string{"PreFilter", "Filter", "PreScore", "Score", "Reserve", "Permit", "PreBindPreFlight", "PreBind", "Bind"} {
		for _, code := range []string{"Error", "Unschedulable", "UnschedulableAndUnresolvable", "Pending"} {
			add(point, code, "")
		}
	}
	add("PreFilter", "Success", "nowhere")
	add("Score", "Success", "101")
	for _, promise := range []string{"", "keep", "clear", "node-000"} {
		for _, code := range []string{"Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable"} {
			add("PostFilter", code, promise)
		}
	}
	add("WaitOnPermit", "Wait", "rejected")
	add("WaitOnPermit", "Wait", "timeout")
	for _, answer := range []string{"conflict", "forbidden", "not found"} {
		add("BindCall", "Success", answer)
	}
	return all
}

func makeOutcome(g gen, seed uint64, i int) (any, error) {
	all := outcomes()
	made := all[i%len(all)]
	made.Name = fmt.Sprintf("outcomes-%d-%d-%s-%s", seed, i, strings.ToLower(made.Point), strings.ToLower(made.Code))
	plugins := object{"multiPoint": object{"enabled": []object{{"name": "Fault"}}}}
	if g.chance(50) {
		plugins = object{"multiPoint": object{"disabled": []object{{"name": "*"}}, "enabled": []object{
			{"name": "PrioritySort"}, {"name": "Fault", "weight": 1}, {"name": "DefaultBinder"}}}}
	}
	made.Config = raw(object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"profiles": []object{{"schedulerName": "default-scheduler", "plugins": plugins}}})
	nodes := pick(g, 1, 2, 3)
	if made.Point == "none" && g.chance(30) {
		nodes = 0
	}
	if made.Point == "PreScore" || made.Point == "Score" {
		nodes = g.between(2, 4)
	}
	for n := range nodes {
		name := fmt.Sprintf("node-%03d", n)
		amounts := object{"cpu": "4", "memory": "8Gi", "pods": "10"}
		made.Nodes = append(made.Nodes, raw(object{"apiVersion": "v1", "kind": "Node",
			"metadata": object{"name": name, "labels": object{}}, "status": object{"allocatable": amounts, "capacity": amounts}}))
	}
	status := object{"phase": "Pending"}
	if g.chance(50) {
		status["nominatedNodeName"] = fmt.Sprintf("node-%03d", g.between(0, 2))
	}
	if g.chance(30) {
		status["conditions"] = []object{{"type": "PodScheduled", "status": "False", "reason": pick(g, "Unschedulable", "SchedulerError"), "message": pick(g, faultText, "another")}}
	}
	made.Pod = raw(object{"apiVersion": "v1", "kind": "Pod", "spec": object{"containers": []object{{"name": "c", "image": "i"}}}, "status": status,
		"metadata": object{"name": "new-000", "namespace": "default", "uid": "uid-new-000", "labels": object{}, "generation": g.between(1, 3)}})
	return &made, made.run()
}
