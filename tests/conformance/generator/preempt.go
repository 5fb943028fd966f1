package main

import "fmt"

var priorities = []int{-10, 0, 0, 10, 50, 50, 100}

// disruptionBudgets are PodDisruptionBudgets over the pods of the namespaces.
func (g gen) disruptionBudgets() []object {
	var all []object
	for i := range pick(g, 0, 1, 2, 3, 4) {
		metadata := object{"name": fmt.Sprintf("pdb-%d", i), "namespace": g.namespace()}
		spec, status := object{}, object{"disruptionsAllowed": pick(g, 0, 0, 1, 1, 2), "expectedPods": 1, "currentHealthy": 1, "desiredHealthy": 1}
		if selector := g.selector(); selector != nil {
			spec["selector"] = selector
		}
		if g.chance(25) {
			status["disruptedPods"] = object{fmt.Sprintf("run-%03d", g.between(0, 20)): "2026-01-02T00:00:00Z"}
		}
		all = append(all, object{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec, "status": status})
	}
	return all
}

// preempts makes a pending pod one that evicts others.
func (g gen) preempts(pod object, nodes int) {
	spec := pod["spec"].(object)
	spec["priority"] = pick(g, 0, 50, 100, 100, 1000, 1000)
	if g.chance(6) {
		spec["preemptionPolicy"] = pick(g, "Never", "PreemptLowerPriority")
	}
	if g.chance(8) {
		pod["status"].(object)["nominatedNodeName"] = fmt.Sprintf("node-%03d", g.IntN(nodes))
	}
	g.hostPort(pod, 15)
}

func (g gen) hostPort(pod object, percent int) {
	if g.chance(percent) {
		pod["spec"].(object)["containers"].([]object)[0]["ports"] = []object{g.port()}
	}
}

// mayBeEvicted gives a running pod a priority, and sometimes an end that has begun.
func (g gen) mayBeEvicted(pod object) {
	metadata, spec, status := pod["metadata"].(object), pod["spec"].(object), pod["status"].(object)
	if g.chance(90) {
		spec["priority"] = pick(g, priorities...)
	} else {
		delete(spec, "priority")
	}
	if g.chance(8) {
		delete(status, "startTime")
	}
	g.hostPort(pod, 10)
	delete(metadata, "deletionTimestamp")
	if g.chance(7) {
		metadata["deletionTimestamp"] = "2026-01-03T00:00:00Z"
		if g.chance(60) {
			status["conditions"] = []object{{"type": "DisruptionTarget", "status": "True", "reason": pick(g, "PreemptionByScheduler", "PreemptionByScheduler", "EvictionByEvictionAPI")}}
		}
	}
}
