package main

import (
	"encoding/json"
	"fmt"
)

// makeHints draws clusters until a pod fits nowhere, then changes them.
func makeHints(g gen, seed uint64, i int) (any, error) {
	for {
		family := pick(g, "hints", "hints", "taints", "nodeaffinity", "ports")
		objects := g.objects(family)
		pod := g.pod(family, "new-000", 0)
		spec := pod["spec"].(object)
		spec["schedulerName"] = "default-scheduler"
		if g.chance(50) {
			g.affinity(spec)
		}
		if g.chance(25) {
			spec["containers"].([]object)[0]["resources"] = object{"requests": object{"cpu": "7", "memory": "30Gi", "nvidia.com/gpu": "9"}}
		}
		made := &hintCase{Name: fmt.Sprintf("hints-%d-%d", seed, i), Objects: raws(objects), Pod: raw(pod)}
		for range g.between(6, 12) {
			before, after := g.change(family, objects, pod)
			made.Changes = append(made.Changes, change{Old: optionalRaw(before), New: optionalRaw(after)})
		}
		rejected, err := made.run()
		if rejected || err != nil {
			return made, err
		}
	}
}

func optionalRaw(value object) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return raw(value)
}

// change is one object before and after; nil where it is absent.
func (g gen) change(family string, objects []object, pod object) (object, object) {
	if g.chance(25) {
		after := copyOf(pod)
		g.changePod(after)
		return pod, after
	}
	if g.chance(15) {
		return nil, g.node(family, 900)
	}
	if g.chance(10) {
		added := g.pod(family, "added", 0)
		added["spec"].(object)["nodeName"] = "node-000"
		return nil, added
	}
	for {
		before := pick(g, objects...)
		if before["kind"] == "Namespace" {
			continue
		}
		if before["kind"] == "Pod" && before["spec"].(object)["nodeName"] == nil {
			continue
		}
		if g.chance(15) {
			return before, nil
		}
		after := copyOf(before)
		if before["kind"] == "Pod" {
			g.changePod(after)
		} else {
			g.changeNode(family, after)
		}
		return before, after
	}
}

func (g gen) changePod(pod object) {
	metadata, spec, status := pod["metadata"].(object), pod["spec"].(object), pod["status"].(object)
	for range pick(g, 1, 1, 1, 2) {
		switch g.IntN(7) {
		case 0:
			metadata["labels"] = object{"app": pick(g, "web", "db", "other")}
		case 1:
			spec["containers"].([]any)[0].(object)["resources"] = object{"requests": g.someRequests(40)}
		case 2:
			tolerations, _ := spec["tolerations"].([]any)
			spec["tolerations"] = append(tolerations, g.toleration())
		case 3:
			metadata["annotations"] = object{"note": "changed"}
		case 4:
			status["conditions"] = []object{{"type": "PodScheduled", "status": "False"}}
		case 5:
			spec["overhead"] = g.someRequests(30)
		case 6:
			if spec["nodeName"] != nil {
				metadata["deletionTimestamp"] = "2026-01-03T00:00:00Z"
			} else {
				g.affinity(spec)
			}
		}
	}
}

func (g gen) changeNode(family string, node object) {
	metadata, spec, status := node["metadata"].(object), node["spec"].(object), node["status"].(object)
	fresh := g.node(family, 0)
	for range pick(g, 1, 1, 1, 2, 3) {
		switch g.IntN(8) {
		case 0, 1:
			labels := metadata["labels"].(object)
			for _, key := range some(g, 40, "disktype", "tier", "rank", zoneKey) {
				delete(labels, key)
				if value, ok := fresh["metadata"].(object)["labels"].(object)[key]; ok {
					labels[key] = value
				}
			}
		case 2:
			var taints []object
			for range g.between(0, 2) {
				taints = append(taints, g.taint())
			}
			delete(spec, "taints")
			if taints != nil {
				spec["taints"] = taints
			}
		case 3:
			if spec["unschedulable"] == true {
				delete(spec, "unschedulable")
				delete(spec, "taints")
			} else {
				spec["unschedulable"] = true
			}
		case 4:
			if allocatable := g.allocatable(family); allocatable != nil {
				status["allocatable"] = allocatable
			} else {
				// The API server takes the capacity where there is no allocatable.
				delete(status, "allocatable")
				delete(status, "capacity")
			}
		case 5:
			if allocatable, ok := status["allocatable"].(object); ok {
				allocatable["cpu"] = pick(g, "64", "2", "2000m", "0")
			}
		case 6:
			metadata["annotations"] = object{"note": "changed"}
		case 7:
			status["conditions"] = []object{{"type": "Ready", "status": pick(g, "True", "False", "Unknown")}}
		}
	}
}
