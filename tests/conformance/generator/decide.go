package main

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// decision is what is recorded of one pod; ../README.md of the vectors names
// the fields.
type decision struct {
	Pod                  string                      `json:"pod"`
	Feasible             []string                    `json:"feasible"`
	Rejected             map[string]rejection        `json:"rejected,omitempty"`
	Prefilter            string                      `json:"prefilter,omitempty"`
	Scores               map[string]map[string]int64 `json:"scores,omitempty"`
	Total                map[string]int64            `json:"total,omitempty"`
	Best                 []string                    `json:"best,omitempty"`
	Chosen               string                      `json:"chosen,omitempty"`
	Message              string                      `json:"message,omitempty"`
	Nominated            string                      `json:"nominated,omitempty"`
	Victims              []string                    `json:"victims,omitempty"`
	UnschedulablePlugins []string                    `json:"unschedulablePlugins,omitempty"`
	PendingPlugins       []string                    `json:"pendingPlugins,omitempty"`
	Error                string                      `json:"error,omitempty"`
	// Gated is why the plugin of devices keeps the pod out of the queue.
	Gated string `json:"gated,omitempty"`
	// Allocations are what each feasible node would give the claims without an allocation.
	Allocations map[string][]claimAllocation `json:"allocations,omitempty"`
	// Deallocated and DeletedClaims are what PostFilter writes of claims.
	Deallocated   []string `json:"deallocated,omitempty"`
	DeletedClaims []string `json:"deletedClaims,omitempty"`
	// Writes are the calls of the attempt and PreBind why it failed there, in cases whose pods go on after Reserve.
	Writes  []write `json:"writes,omitempty"`
	PreBind string  `json:"preBind,omitempty"`

	state fwk.CycleState
}

type rejection struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

// decide goes the way of schedule_one.go's schedulePod and schedulingAlgorithm
// over all nodes, one after the other, and keeps what those drop.
func (c *cluster) decide(pod *v1.Pod) decision {
	d := decision{Pod: pod.Namespace + "/" + pod.Name, Feasible: []string{}}
	fw := c.sched.Profiles[pod.Spec.SchedulerName]
	if fw == nil {
		d.Error = fmt.Sprintf("profile not found for scheduler name %q", pod.Spec.SchedulerName)
		return d
	}
	snapshot := fw.SnapshotSharedLister().(*cache.Snapshot)
	if err := c.sched.Cache.UpdateSnapshot(c.log, snapshot); err != nil {
		d.Error = err.Error()
		return d
	}
	for _, plugin := range fw.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(c.ctx, pod); plugin.Name() == "DynamicResources" && !status.IsSuccess() {
			d.Gated = status.Message()
		}
	}
	all, _ := snapshot.NodeInfos().List()
	state := framework.NewCycleState()
	d.state = state
	diagnosis := framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}
	feasible, err := c.filter(fw, state, pod, snapshot, all, &diagnosis)
	d.UnschedulablePlugins = sets.List(diagnosis.UnschedulablePlugins)
	d.PendingPlugins = sets.List(diagnosis.PendingPlugins)
	d.Prefilter = diagnosis.PreFilterMsg
	if err != nil {
		d.Error = err.Error()
		return d
	}
	for _, node := range feasible {
		d.Feasible = append(d.Feasible, node.Node().Name)
	}
	slices.Sort(d.Feasible)
	d.Rejected = map[string]rejection{}
	for _, node := range all {
		name := node.Node().Name
		if status := diagnosis.NodeToStatus.Get(name); !slices.Contains(d.Feasible, name) && len(status.Reasons()) > 0 {
			d.Rejected[name] = rejection{status.Plugin(), status.Code().String(), status.Reasons()}
		}
	}
	if len(feasible) > 0 {
		if err := d.score(c, fw, state, pod, feasible); err != nil {
			d.Error = err.Error()
		}
		d.Allocations = allocationsOf(state, d.Feasible)
		return d
	}
	fit := &framework.FitError{Pod: pod, NumAllNodes: len(all), Diagnosis: diagnosis}
	if fw.HasPostFilterPlugins() {
		c.deleted, c.claims.deallocated, c.claims.deleted = nil, nil, nil
		result, status := fw.RunPostFilterPlugins(c.ctx, state, pod, diagnosis.NodeToStatus)
		fit.Diagnosis.PostFilterMsg = status.Message()
		if result != nil && result.NominatingInfo != nil {
			d.Nominated = result.NominatedNodeName
		}
		slices.Sort(c.deleted)
		d.Victims = c.deleted
		d.Deallocated, d.DeletedClaims = c.claims.deallocated, c.claims.deleted
	}
	d.Message = fit.Error()
	return d
}

func (c *cluster) filter(fw framework.Framework, state fwk.CycleState, pod *v1.Pod, snapshot *cache.Snapshot,
	all []fwk.NodeInfo, diagnosis *framework.Diagnosis) ([]fwk.NodeInfo, error) {
	result, status, plugins := fw.RunPreFilterPlugins(c.ctx, state, pod)
	diagnosis.UnschedulablePlugins = plugins
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return nil, status.AsError()
		}
		diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		diagnosis.PreFilterMsg = status.Message()
		diagnosis.AddPluginStatus(status)
		return nil, nil
	}
	passing := func(nodes []fwk.NodeInfo) (feasible []fwk.NodeInfo, err error) {
		if !fw.HasFilterPlugins() {
			return nodes, nil
		}
		for _, node := range nodes {
			status := fw.RunFilterPluginsWithNominatedPods(c.ctx, state, pod, node)
			switch {
			case status.Code() == fwk.Error:
				return nil, status.AsError()
			case status.IsSuccess():
				feasible = append(feasible, node)
			default:
				diagnosis.NodeToStatus.Set(node.Node().Name, status)
				diagnosis.AddPluginStatus(status)
			}
		}
		return feasible, nil
	}
	if name := pod.Status.NominatedNodeName; name != "" {
		if node, err := snapshot.NodeInfos().Get(name); err == nil {
			// Upstream passes the diagnosis by value here: statuses stay, plugins that were not set do not.
			plugins := diagnosis.UnschedulablePlugins
			feasible, err := passing([]fwk.NodeInfo{node})
			if err == nil {
				// Upstream does not note here that an extender refused the node.
				copied := *diagnosis
				copied.UnschedulablePlugins = sets.New[string]()
				feasible, err = c.filterByExtenders(pod, feasible, &copied)
			}
			if plugins == nil {
				diagnosis.UnschedulablePlugins, diagnosis.PendingPlugins = nil, nil
			}
			if err == nil && len(feasible) > 0 {
				return feasible, nil
			}
		}
	}
	nodes := all
	if !result.AllNodes() {
		nodes = nil
		for _, node := range all {
			if result.NodeNames.Has(node.Node().Name) {
				nodes = append(nodes, node)
			}
		}
		text := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(plugins))
		diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text))
	}
	feasible, err := passing(nodes)
	if err != nil {
		return nil, err
	}
	return c.filterByExtenders(pod, feasible, diagnosis)
}

func (d *decision) score(c *cluster, fw framework.Framework, state fwk.CycleState, pod *v1.Pod, feasible []fwk.NodeInfo) error {
	d.Scores, d.Total = map[string]map[string]int64{}, map[string]int64{}
	if fw.HasScorePlugins() {
		if status := fw.RunPreScorePlugins(c.ctx, state, pod, feasible); !status.IsSuccess() {
			return status.AsError()
		}
		scored, status := fw.RunScorePlugins(c.ctx, state, pod, feasible)
		if !status.IsSuccess() {
			return status.AsError()
		}
		for _, node := range scored {
			d.Scores[node.Name] = map[string]int64{}
			for _, score := range node.Scores {
				d.Scores[node.Name][score.Name] = score.Score
			}
			d.Total[node.Name] = node.TotalScore
		}
	} else {
		for _, name := range d.Feasible {
			d.Total[name] = 1
		}
	}
	d.scoreByExtenders(c, pod, feasible)
	for _, name := range d.Feasible {
		if len(d.Best) > 0 && d.Total[name] > d.Total[d.Best[0]] {
			d.Best = nil
		}
		if len(d.Best) == 0 || d.Total[name] == d.Total[d.Best[0]] {
			d.Best = append(d.Best, name)
		}
	}
	if len(d.Best) == 0 {
		return errors.New("no node has a score")
	}
	d.Chosen = d.Best[0]
	return nil
}

// place lets the following pods see the pod where it was decided to go, with what Reserve assumes for it.
func (c *cluster) place(pod *v1.Pod, d *decision) error {
	placed := pod.DeepCopy()
	placed.Spec.NodeName = d.Chosen
	c.sched.SchedulingQueue.DeleteNominatedPodIfExists(pod)
	fw := c.sched.Profiles[pod.Spec.SchedulerName]
	if status := fw.RunReservePluginsReserve(c.ctx, d.state, placed, d.Chosen); !status.IsSuccess() {
		d.Error = status.AsError().Error()
		return nil
	}
	return c.sched.Cache.AddPod(c.log, placed)
}
