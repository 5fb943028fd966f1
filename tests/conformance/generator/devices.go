package main

import (
	"fmt"
	"strings"
)

// deviceMix says how many percent of the places where a drawn cluster could have a feature of devices have it.
type deviceMix struct {
	all, pools, match, prioritized, admin, counters, capacity, taints, conditions, selectors, config, allocated, extended, names, others int
}

// deviceFamilies are the families about devices; each has its feature often and few others.
var deviceFamilies = map[string]deviceMix{
	"devices-exact":       {},
	"devices-all":         {all: 55, admin: 10, allocated: 25, pools: 8},
	"devices-pools":       {pools: 75, all: 15},
	"devices-match":       {match: 85, all: 15, prioritized: 10},
	"devices-prioritized": {prioritized: 70, all: 10, match: 15},
	"devices-admin":       {admin: 50, all: 20, allocated: 30, capacity: 10},
	"devices-counters":    {counters: 80, all: 8, allocated: 25, capacity: 12},
	"devices-capacity":    {capacity: 75, all: 12, allocated: 25},
	"devices-taints":      {taints: 65, all: 12, prioritized: 12},
	"devices-conditions":  {conditions: 50, allocated: 45, all: 8},
	"devices-cel":         {selectors: 70, prioritized: 10, all: 12, pools: 10},
	"devices-config":      {config: 70, pools: 40, prioritized: 20},
	"devices-allocated":   {allocated: 70, admin: 10, capacity: 20, counters: 10, conditions: 10, others: 20},
	"devices-extended":    {extended: 85, allocated: 10},
	"devices-names":       {names: 60, allocated: 10},
	"devices-writes":      {all: 5, prioritized: 12, capacity: 25, config: 10, allocated: 35, extended: 45},
	"devices-mixed": {all: 10, pools: 15, match: 20, prioritized: 20, admin: 8, counters: 20, capacity: 25, taints: 20, conditions: 12,
		selectors: 20, config: 20, allocated: 25, extended: 25, names: 4, others: 50},
}

// deviceDraw is a cluster with devices while it is drawn.
type deviceDraw struct {
	gen
	mix     deviceMix
	nodes   []object
	pools   []*devicePool
	classes []string
	objects []object
	pods    []object
	// claimed counts the claims, named so that their order by name is not the order in which pods name them.
	claimed int
	// sliced counts the slices.
	sliced int
}

// isOfDevices also knows the names of worked cases, which begin with case.
func isOfDevices(family string) bool { return strings.HasPrefix(family, "devices") || family == "case" }

func (g gen) devices(family string) *deviceDraw {
	d := &deviceDraw{gen: g, mix: deviceFamilies[family]}
	d.objects = append(d.objects, object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "default", "labels": object{}}})
	count := pick(g, 1, 1, 2, 2, 3, 4)
	if d.mix.prioritized > 50 {
		count = max(2, count)
	}
	for n := range count {
		d.nodes = append(d.nodes, d.deviceNode(n))
	}
	d.objects = append(d.objects, d.nodes...)
	d.drawClasses()
	d.drawPools()
	if g.chance(d.mix.taints) {
		d.taintRules()
	}
	for range pick(g, 0, 1, 2, 3) * min(1, d.mix.allocated) {
		d.strangerClaim()
	}
	for p := range pick(g, 0, 0, 1, 2, 3) * min(2, d.mix.others/20) {
		d.runningPod(p)
	}
	for p := range g.between(2, 5) {
		d.devicePod(fmt.Sprintf("new-%03d", p), p)
	}
	return d
}

func drawDevices(g gen, family string, seed uint64, i int) *schedulingCase {
	config := g.config("basic")
	if g.chance(deviceFamilies[family].extended / 2) {
		profile := config["profiles"].([]object)[0]
		profile["pluginConfig"] = append(profile["pluginConfig"].([]object), g.scoresExtended()...)
	}
	made := &schedulingCase{Name: fmt.Sprintf("%s-%d-%d", family, seed, i), Config: raw(config), draw: &g}
	d := g.devices(family)
	made.Objects, made.Pending = raws(d.objects), raws(d.pods)
	if family == "devices-writes" {
		for range made.Pending {
			made.Ends = append(made.Ends, pick(g, ends...))
		}
	}
	if err := refusals(made.Objects); err != nil {
		panic(fmt.Sprintf("%s: %v", made.Name, err)) // A mistake of the draw.
	}
	return made
}

// isDull says that no pod of a case of devices gets any; few such cases are wanted.
func (s *schedulingCase) isDull() bool {
	for _, decision := range s.Decisions {
		for _, claims := range decision.Allocations {
			if len(claims) > 0 {
				return false
			}
		}
	}
	return true
}

// rare are what cases of a family seldom show; a case without it is often drawn again.
var rare = map[string]func(*decision) bool{
	"devices-prioritized": func(d *decision) bool {
		scores := map[int64]bool{}
		for _, of := range d.Scores {
			scores[of["DynamicResources"]] = true
		}
		return len(scores) > 1
	},
	"devices-pools":      hasTerms,
	"devices-config":     hasTerms,
	"devices-allocated":  isUnavailable,
	"devices-conditions": isUnavailable,
	"devices-mixed":      func(d *decision) bool { return d.Nominated != "" || isUnavailable(d) },
}

// hasTerms says that a claim would be bound to nodes by their labels.
func hasTerms(d *decision) bool {
	return strings.Contains(string(raw(d.Allocations)), "matchExpressions")
}

// isUnavailable says that an allocated claim keeps the pod off a node.
func isUnavailable(d *decision) bool {
	return len(d.Deallocated) > 0 || strings.Contains(string(raw(d.Rejected)), "resourceclaim not available")
}

// isPlain says that nothing in a case is what its family seldom shows.
func (s *schedulingCase) isPlain(family string) bool {
	for i := range s.Decisions {
		if rare[family](&s.Decisions[i]) {
			return false
		}
	}
	return true
}

func nodeName(n int) string { return fmt.Sprintf("node-%03d", n) }

func (d *deviceDraw) deviceNode(n int) object {
	name := nodeName(n)
	labels := object{"kubernetes.io/hostname": name, zoneKey: pick(d.gen, "z1", "z1", "z2"), "disktype": pick(d.gen, "ssd", "hdd")}
	allocatable := object{"cpu": "4", "memory": "8Gi", "pods": "20"}
	spec := object{}
	if d.chance(d.mix.others) {
		allocatable["cpu"] = pick(d.gen, "500m", "1", "2")
		if d.chance(30) {
			spec["taints"] = []object{{"key": "dedicated", "value": "a", "effect": pick(d.gen, effects...)}}
		}
		if d.chance(15) {
			spec["unschedulable"] = true
		}
	}
	if d.mix.allocated > 50 && d.chance(30) {
		spec["unschedulable"] = true
	}
	if d.chance(d.mix.extended) {
		for _, resource := range some(d.gen, 30, extendedNames...) {
			allocatable[resource] = pick(d.gen, "0", "1", "2")
		}
	}
	return object{"apiVersion": "v1", "kind": "Node", "spec": spec,
		"metadata": object{"name": name, "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"},
		"status":   object{"allocatable": allocatable, "capacity": allocatable, "conditions": []object{{"type": "Ready", "status": "True"}}}}
}

// add adds an object of the group of devices.
func (d *deviceDraw) add(kind, name, namespace string, parts object) object {
	metadata := object{"name": name, "uid": "uid-" + strings.ToLower(kind) + "-" + name, "resourceVersion": "10", "creationTimestamp": "2026-01-01T00:00:00Z"}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	made := object{"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata}
	for key, value := range parts {
		made[key] = value
	}
	d.objects = append(d.objects, made)
	return made
}

func celSelector(expression string) object { return object{"cel": object{"expression": expression}} }

func (d *deviceDraw) drawClasses() {
	for _, name := range []string{"any", "gpu", "nic", "big"} {
		spec := object{}
		switch name {
		case "gpu", "nic":
			spec["selectors"] = []object{celSelector(`device.driver == "` + name + `.ex"`)}
		case "big":
			spec["selectors"] = []object{celSelector(`device.driver == "gpu.ex"`), celSelector(`device.attributes["gpu.ex"].size == "large"`)}
		}
		if d.chance(d.mix.selectors / 3) {
			before, _ := spec["selectors"].([]object)
			spec["selectors"] = append(before, celSelector(d.expression()))
		}
		if d.chance(d.mix.config) {
			spec["config"] = d.opaques(name, 2)
		}
		made := object{"spec": spec}
		if d.chance(d.mix.extended) {
			d.extends(name, made)
		}
		of := d.add("DeviceClass", name, "", made)
		if d.mix.extended > 0 {
			of["metadata"].(object)["creationTimestamp"] = fmt.Sprintf("2026-01-01T00:0%d:00Z", d.between(0, 3))
		}
		d.classes = append(d.classes, name)
	}
}

// opaques are configurations with parameters that say where they come from.
func (d *deviceDraw) opaques(of string, most int) []object {
	var all []object
	for n := range d.between(1, most) {
		driver := pick(d.gen, "gpu.ex", "nic.ex")
		all = append(all, object{"opaque": object{"driver": driver, "parameters": object{"of": fmt.Sprintf("%s-%d", of, n)}}})
	}
	return all
}
