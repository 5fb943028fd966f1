package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var families = []string{
	"basic", "resources", "strategies", "taints", "nodeaffinity", "ports", "images", "profiles", "hints",
	"spread", "defaults", "interpod", "mixed", "preempt", "volumes", "capacity", "ephemeral", "attach",
	"imagevolumes", "resized", "drivers", "namespaces",
	"hints-pods", "hints-volumes", "extenders", "outcomes",
	"devices-exact", "devices-all", "devices-pools", "devices-match", "devices-prioritized", "devices-admin", "devices-counters",
	"devices-capacity", "devices-taints", "devices-conditions", "devices-cel", "devices-config", "devices-allocated",
	"devices-extended", "devices-names", "devices-mixed", "devices-writes", "devices-worked", "hints-devices",
}

// ofPods are the families whose pods look at other pods, ofVolumes those with storage.
var ofPods = []string{"spread", "defaults", "interpod", "mixed", "preempt"}
var ofVolumes = []string{"volumes", "capacity", "ephemeral", "attach"}

func familyNames() []string { return families }

// makeCase draws case i of a family and lets kube-scheduler decide it.
func makeCase(family string, seed uint64, i int) (any, error) {
	if !slices.Contains(families, family) {
		return nil, errors.New("no such family")
	}
	g := newGen(family, seed, i)
	if of := strings.Split(family, "-"); of[0] == "hints" {
		return makeHints(g, family, seed, i)
	}
	if family == "outcomes" {
		return makeOutcome(g, seed, i)
	}
	if family == "devices-worked" {
		return makeWorked(i)
	}
	for {
		draw := drawCase
		if isOfDevices(family) {
			draw = drawDevices
		}
		made := draw(g, family, seed, i)
		// A drawn configuration may be invalid, or enable a plugin at one point without the point that prepares it,
		// which upstream reports for each pod; another is drawn then, and where upstream panics.
		err := made.run()
		if err == nil && isOfDevices(family) && made.isDull() && !g.chance(20) {
			continue
		}
		if err == nil && rare[family] != nil && made.isPlain(family) && !g.chance(25) {
			continue
		}
		if !errors.Is(err, errConfig) && !errors.Is(err, errPanic) && (err != nil || !made.unprepared() && made.isStable(family)) {
			return made, err
		}
	}
}

// isStable says whether nothing in the case depends on what upstream leaves to chance: the order of maps in which it
// tries volumes of equal size, and the offset at which it begins to look for victims.
func (s *schedulingCase) isStable(family string) bool {
	if !isOfDevices(family) && family != "preempt" && family != "extenders" && !slices.Contains(ofVolumes, drawnAs(family)) {
		return true
	}
	first := canonical(raw(s))
	for range 9 {
		if s.run() != nil || string(canonical(raw(s))) != string(first) {
			return false
		}
	}
	return true
}

func (s *schedulingCase) unprepared() bool {
	return slices.ContainsFunc(s.Decisions, func(d decision) bool { return strings.Contains(d.Error, "from cycleState") })
}

func drawCase(g gen, family string, seed uint64, i int) *schedulingCase {
	name := fmt.Sprintf("%s-%d-%d", family, seed, i)
	of := family
	family = drawnAs(of)
	made := &schedulingCase{Name: name, Config: raw(g.config(family)), draw: &g}
	objects, store, nodes := g.cluster(family)
	pods := []object{}
	for p := range g.between(4, 8) {
		pod := g.pod(family, fmt.Sprintf("new-%03d", p), p)
		if family == "profiles" && g.chance(50) {
			pod["spec"].(object)["schedulerName"] = "second"
		}
		if g.chance(3) {
			pod["status"].(object)["nominatedNodeName"] = fmt.Sprintf("node-%03d", g.between(0, 9))
		}
		objects = append(objects, g.relations(family, pod, store, nodes, false)...)
		if family == "preempt" || family == "extenders" && g.chance(60) {
			g.preempts(pod, nodes)
		}
		pods = append(pods, pod)
	}
	g.differs(of, objects, pods)
	made.Pending = raws(pods)
	made.Objects = raws(objects)
	return made
}

// relations gives a pod what the family is about beyond the pod itself, and returns objects that go with it.
func (g gen) relations(family string, pod object, store storage, nodes int, running bool) []object {
	var with []object
	if family != "preempt" && (slices.Contains(ofPods, family) || slices.Contains(ofVolumes, family)) && g.chance(70) {
		// Few pods may fail for what other families are about.
		for _, container := range pod["spec"].(object)["containers"].([]object) {
			container["resources"] = object{"requests": object{"cpu": "50m"}}
		}
	}
	if slices.Contains(ofPods, family) {
		g.looksAtPods(family, pod, running)
	}
	if slices.Contains(ofVolumes, family) || len(store.claims) > 0 && g.chance(30) {
		with = g.volumes(family, pod, store, nodes)
	}
	return with
}

func (g gen) objects(family string) []object {
	objects, _, _ := g.cluster(family)
	return objects
}

// cluster draws objects, and returns the storage and the number of nodes too.
func (g gen) cluster(family string) ([]object, storage, int) {
	all := []object{}
	if slices.Contains(ofPods, family) || slices.Contains(ofVolumes, family) {
		all = append(all, g.namespaceObjects()...)
	} else {
		all = append(all, object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "default", "labels": object{}}})
	}
	count := g.between(2, 24)
	switch {
	case g.chance(8):
		count = 1
	case g.chance(4):
		count = g.between(60, 140)
	}
	for n := range count {
		node := g.node(family, n)
		if slices.Contains(ofPods, family) {
			g.racks(node)
		}
		all = append(all, node)
	}
	store := storage{}
	if slices.Contains(ofVolumes, family) || family == "preempt" && g.chance(35) {
		store = g.storage(family, count)
		all = append(all, store.objects...)
	}
	if family == "spread" && g.chance(30) || family == "defaults" || family == "mixed" && g.chance(40) {
		all = append(all, g.selectors()...)
	}
	running := g.between(0, count+count/2)
	if family == "preempt" {
		all = append(all, g.disruptionBudgets()...)
		running = g.between(count, 5*count)
	}
	if family == "extenders" {
		running = g.between(0, 4*count)
	}
	for p := range running {
		pod := g.pod(family, fmt.Sprintf("run-%03d", p), p)
		pod["spec"].(object)["nodeName"] = fmt.Sprintf("node-%03d", g.IntN(count))
		pod["status"] = object{"phase": "Running", "startTime": fmt.Sprintf("2026-01-02T00:%02d:00Z", p%60)}
		all = append(all, g.relations(family, pod, store, count, true)...)
		if family == "preempt" || family == "extenders" {
			g.mayBeEvicted(pod)
		}
		all = append(all, pod)
	}
	for range pick(g, 0, 0, 0, 1, 2) {
		if family != "preempt" && !g.chance(15) {
			continue
		}
		pod := g.pod(family, fmt.Sprintf("nominated-%d", len(all)), 0)
		all = append(all, g.relations(family, pod, store, count, false)...)
		pod["status"] = object{"phase": "Pending", "nominatedNodeName": fmt.Sprintf("node-%03d", g.IntN(count))}
		pod["spec"].(object)["priority"] = pick(g, 0, 10, -10, 100, 1000)
		all = append(all, pod)
	}
	return all, store, count
}

func arguments(plugin string, values object) object {
	values["apiVersion"] = "kubescheduler.config.k8s.io/v1"
	values["kind"] = plugin + "Args"
	return object{"name": plugin, "args": values}
}

func (g gen) config(family string) object {
	profile := func(name string) object {
		args := []object{arguments("DefaultPreemption", object{"minCandidateNodesPercentage": 100, "minCandidateNodesAbsolute": 1000})}
		if family == "strategies" || family == "resources" && g.chance(30) {
			args = append(args, arguments("NodeResourcesFit", g.fitArgs()))
			if g.chance(50) {
				var resources []object
				for _, resource := range some(g, 50, "cpu", "memory", "nvidia.com/gpu", "ephemeral-storage", "hugepages-2Mi") {
					resources = append(resources, object{"name": resource, "weight": 1})
				}
				if resources != nil {
					args = append(args, arguments("NodeResourcesBalancedAllocation", object{"resources": resources}))
				}
			}
		}
		if defaults := g.spreadArgs(); defaults != nil && (family == "defaults" || family == "spread" && g.chance(20)) {
			args = append(args, arguments("PodTopologySpread", defaults))
		}
		if (family == "interpod" || family == "mixed") && g.chance(50) {
			args = append(args, arguments("InterPodAffinity", g.affinityArgs()))
		}
		if family == "nodeaffinity" && g.chance(40) {
			args = append(args, arguments("NodeAffinity", object{"addedAffinity": g.addedAffinity()}))
		}
		made := object{"schedulerName": name, "pluginConfig": args}
		if family == "profiles" {
			made["plugins"] = g.plugins()
		}
		return made
	}
	profiles := []object{profile("default-scheduler")}
	if family == "profiles" {
		profiles = append(profiles, profile("second"))
	}
	made := object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": profiles}
	if family == "extenders" {
		made["extenders"] = g.extenders()
	}
	return made
}

func (g gen) fitArgs() object {
	strategy := object{"type": pick(g, "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")}
	var resources []object
	for _, name := range some(g, 45, "cpu", "memory", "nvidia.com/gpu", "example.com/widget", "ephemeral-storage", "hugepages-2Mi", "other.example/part") {
		resource := object{"name": name, "weight": pick(g, 1, 1, 2, 3, 5, 100)}
		if g.chance(10) {
			delete(resource, "weight")
		}
		resources = append(resources, resource)
	}
	if resources == nil {
		resources = []object{{"name": "cpu", "weight": 1}}
	}
	strategy["resources"] = resources
	if strategy["type"] == "RequestedToCapacityRatio" {
		var shape []object
		utilization := pick(g, 0, 0, 0, 10, 50)
		for range g.between(1, 5) {
			shape = append(shape, object{"utilization": utilization, "score": g.between(0, 10)})
			if utilization += g.between(1, 60); utilization > 100 {
				break
			}
		}
		strategy["requestedToCapacityRatio"] = object{"shape": shape}
	}
	args := object{"scoringStrategy": strategy}
	if ignored := some(g, 15, "nvidia.com/gpu", "example.com/widget", "cpu"); ignored != nil {
		args["ignoredResources"] = ignored
	}
	if groups := some(g, 15, "example.com", "other.example", "nvidia.com"); groups != nil {
		args["ignoredResourceGroups"] = groups
	}
	return args
}

func (g gen) addedAffinity() object {
	spec := object{}
	for spec["affinity"] == nil {
		g.affinity(spec)
	}
	return spec["affinity"].(object)["nodeAffinity"].(object)
}

var scorers = []string{"TaintToleration", "NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality", "PodTopologySpread", "InterPodAffinity"}
var filters = []string{"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"}

// plugins switches plugins off and on in each of the ways that profiles know.
func (g gen) plugins() object {
	named := func(names []string) []object {
		var all []object
		for _, name := range names {
			one := object{"name": name}
			if g.chance(40) {
				one["weight"] = g.between(0, 9)
			}
			all = append(all, one)
		}
		return all
	}
	shuffled := func(of []string, percent int) []string {
		taken := some(g, percent, of...)
		g.Shuffle(len(taken), func(i, j int) { taken[i], taken[j] = taken[j], taken[i] })
		return taken
	}
	all := object{}
	switch g.IntN(5) {
	case 0:
		enabled := append([]string{"PrioritySort", "DefaultBinder"}, shuffled(append(filters, "NodeResourcesBalancedAllocation", "ImageLocality"), 60)...)
		all["multiPoint"] = object{"disabled": []object{{"name": "*"}}, "enabled": named(enabled)}
	case 1:
		all["multiPoint"] = object{"disabled": named(shuffled(append(scorers, "DefaultPreemption", "DynamicResources"), 25))}
	case 2:
		all["multiPoint"] = object{"enabled": named(shuffled(scorers, 40))}
	}
	if g.chance(35) {
		off := shuffled(filters, 30)
		all["filter"] = object{"disabled": named(off), "enabled": named(shuffled(off, 30))}
	}
	if g.chance(50) {
		off := shuffled(scorers, 40)
		score := object{"disabled": named(off), "enabled": named(shuffled(off, 50))}
		if g.chance(25) {
			score = object{"disabled": []object{{"name": "*"}}, "enabled": named(shuffled(scorers, 40))}
		}
		all["score"] = score
	}
	return all
}
