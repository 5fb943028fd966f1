package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// makeHints draws clusters until a pod fits nowhere, then changes them.
func makeHints(g gen, name string, seed uint64, i int) (any, error) {
	if name == "hints-devices" {
		return makeDeviceHints(g, seed, i)
	}
	for {
		family := pick(g, "hints", "hints", "taints", "nodeaffinity", "ports")
		switch name {
		case "hints-pods":
			family = pick(g, "spread", "spread", "interpod", "interpod", "mixed", "defaults")
		case "hints-volumes":
			family = pick(g, ofVolumes...)
		}
		objects, store, nodes := g.cluster(family)
		pod := g.pod(family, "new-000", 0)
		objects = append(objects, g.relations(family, pod, store, nodes, false)...)
		spec := pod["spec"].(object)
		spec["schedulerName"] = "default-scheduler"
		if name == "hints" && g.chance(50) {
			g.affinity(spec)
		}
		if name == "hints" && g.chance(25) {
			spec["containers"].([]object)[0]["resources"] = object{"requests": object{"cpu": "7", "memory": "30Gi", "nvidia.com/gpu": "9"}}
		}
		made := &hintCase{Name: fmt.Sprintf("%s-%d-%d", name, seed, i), Objects: raws(objects), Pod: raw(pod)}
		for range g.between(6, 12) {
			before, after := g.change(family, objects, pod)
			made.Changes = append(made.Changes, change{Old: optionalRaw(before), New: optionalRaw(after)})
		}
		rejected, err := made.run()
		if err != nil {
			return made, err
		}
		// Pods that other families are about are left to them.
		if rejected && (name == "hints" || slices.ContainsFunc(made.RejectedBy, isAbout[name])) {
			return made, nil
		}
	}
}

var isAbout = map[string]func(string) bool{
	"hints-pods":    func(plugin string) bool { return plugin == "PodTopologySpread" || plugin == "InterPodAffinity" },
	"hints-volumes": func(plugin string) bool { return strings.Contains(plugin, "Volume") },
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
	if slices.Contains(ofVolumes, family) && g.chance(60) {
		return g.changeStorage(family, objects)
	}
	for {
		before := pick(g, objects...)
		if before["kind"] != "Pod" && before["kind"] != "Node" {
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
			metadata["labels"] = object{"app": pick(g, "web", "db", "other"), "version": pick(g, "v1", "v2")}
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
			for _, key := range some(g, 40, "disktype", "tier", "rank", zoneKey, "rack", "kubernetes.io/hostname") {
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

// changeStorage adds, changes or deletes an object of a storage kind.
func (g gen) changeStorage(family string, objects []object) (object, object) {
	fresh := g.storage(family, 10).objects
	for {
		before := pick(g, objects...)
		after := copyOf(before)
		metadata := after["metadata"].(object)
		spec, _ := after["spec"].(object)
		annotations, _ := metadata["annotations"].(object)
		if annotations == nil {
			annotations = object{}
			metadata["annotations"] = annotations
		}
		switch before["kind"] {
		case "PersistentVolume":
			switch g.IntN(4) {
			case 0:
				metadata["labels"] = object{zoneKey: pick(g, "z1", "z2", "z2__z1", "z1__z2", " z1")}
			case 1:
				after["status"] = object{"phase": pick(g, "Available", "Bound", "Released")}
			case 2:
				annotations["note"] = "changed"
			case 3:
				metadata["labels"] = object{"failure-domain.beta.kubernetes.io/region": "r1"}
			}
		case "PersistentVolumeClaim":
			switch g.IntN(3) {
			case 0:
				annotations["pv.kubernetes.io/bind-completed"] = "yes"
			case 1:
				delete(annotations, "volume.kubernetes.io/selected-node")
			case 2:
				spec["volumeName"] = "free-0"
			}
		case "StorageClass":
			switch g.IntN(3) {
			case 0:
				after["allowedTopologies"] = []object{{"matchLabelExpressions": []object{{"key": zoneKey, "values": []string{"z3"}}}}}
			case 1:
				after["reclaimPolicy"] = "Retain"
			case 2:
				after["volumeBindingMode"] = pick(g, "Immediate", "WaitForFirstConsumer")
				return nil, after
			}
		case "CSINode":
			switch drivers := spec["drivers"].([]any); g.IntN(4) {
			case 0:
				annotations["storage.alpha.kubernetes.io/migrated-plugins"] = "kubernetes.io/aws-ebs"
			case 1:
				annotations["note"] = "changed"
			case 2, 3:
				if len(drivers) > 0 {
					driver := drivers[g.IntN(len(drivers))].(object)
					driver["allocatable"] = pick(g, object{}, object{"count": 0}, object{"count": 1}, object{"count": 2}, object{"count": 30})
				}
			}
		case "CSIDriver":
			spec["storageCapacity"] = pick(g, true, false)
		case "CSIStorageCapacity":
			switch g.IntN(3) {
			case 0:
				after["capacity"] = g.size()
			case 1:
				after["maximumVolumeSize"] = g.size()
			case 2:
				delete(after, "capacity")
				delete(after, "maximumVolumeSize")
			}
		case "VolumeAttachment":
			if g.chance(30) {
				return before, after
			}
			return before, nil
		default:
			continue
		}
		switch {
		case g.chance(15):
			return before, nil
		case g.chance(20):
			return nil, before
		case g.chance(10):
			return nil, pick(g, fresh...)
		}
		return before, after
	}
}
