package main

import (
	"fmt"
	"slices"
)

// The namespaces of families whose pods look at other pods.
var namespaces = map[string]object{
	"default": {}, "team-a": {"team": "a"}, "team-b": {"team": "b", "env": "prod"},
}

var topologyKeys = []string{zoneKey, zoneKey, "kubernetes.io/hostname", "topology.kubernetes.io/region", "rack"}

func (g gen) namespaceObjects() []object {
	var all []object
	for _, name := range []string{"default", "team-a", "team-b"} {
		all = append(all, object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name, "labels": namespaces[name]}})
	}
	return all
}

func (g gen) namespace() string { return pick(g, "default", "default", "team-a", "team-b") }

// racks gives nodes labels that not all of them have.
func (g gen) racks(node object) {
	labels := node["metadata"].(object)["labels"].(object)
	if g.chance(70) {
		labels["rack"] = fmt.Sprintf("k%d", g.between(1, 5))
	}
	if g.chance(4) {
		delete(labels, "kubernetes.io/hostname")
	}
	if g.chance(4) {
		node["metadata"].(object)["labels"] = object{}
	}
}

// selector is a label selector; nil where the field is left out.
func (g gen) selector() any {
	switch {
	case g.chance(4):
		return nil
	case g.chance(6):
		return object{}
	case g.chance(2):
		return object{"matchExpressions": []object{pick(g,
			object{"key": "app", "operator": "In"}, object{"key": "app", "operator": "Near", "values": []string{"web"}},
			object{"key": "app", "operator": "Exists", "values": []string{"web"}}, object{"key": "-bad-", "operator": "Exists"})}}
	case g.chance(60):
		labels := object{"app": pick(g, "web", "db", "cache", "batch")}
		if g.chance(20) {
			labels["tier"] = pick(g, "gold", "silver", "bronze")
		}
		return object{"matchLabels": labels}
	}
	var expressions []object
	for range pick(g, 1, 1, 2) {
		key := pick(g, "app", "tier", "version")
		expression := object{"key": key, "operator": pick(g, "In", "In", "NotIn", "Exists", "DoesNotExist")}
		if operator := expression["operator"]; operator == "In" || operator == "NotIn" {
			values := map[string][]string{
				"app": {"web", "db", "cache"}, "tier": {"gold", "silver"}, "version": {"v1", "v2"},
			}[key]
			if expression["values"] = some(g, 60, values...); expression["values"].([]string) == nil {
				expression["values"] = values[:1]
			}
		}
		expressions = append(expressions, expression)
	}
	return object{"matchExpressions": expressions}
}

// withLabelKeys merges values of the pod's labels into the selector of an affinity term, as the API server does.
func withLabelKeys(term object, pod object, keys []string, field, operator string) {
	selector, ok := term["labelSelector"].(object)
	if !ok || keys == nil {
		return
	}
	term[field] = keys
	labels := pod["metadata"].(object)["labels"].(object)
	expressions, _ := selector["matchExpressions"].([]object)
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			expressions = append(expressions, object{"key": key, "operator": operator, "values": []any{value}})
		}
	}
	selector["matchExpressions"] = expressions
}

func (g gen) spreadConstraint(hardPercent int) object {
	made := object{"maxSkew": pick(g, 1, 1, 1, 2, 3, 5), "topologyKey": pick(g, topologyKeys...), "whenUnsatisfiable": "ScheduleAnyway"}
	if g.chance(2) {
		made["maxSkew"] = 2147483647
	}
	if g.chance(hardPercent) {
		made["whenUnsatisfiable"] = "DoNotSchedule"
		if g.chance(25) {
			made["minDomains"] = g.between(1, 6)
		}
	}
	if selector := g.selector(); selector != nil {
		made["labelSelector"] = selector
		if g.chance(20) {
			made["matchLabelKeys"] = pick(g, []string{"version"}, []string{"tier"}, []string{"absent"}, []string{"version", "tier"})
		}
	}
	if g.chance(30) {
		made["nodeAffinityPolicy"] = pick(g, "Honor", "Ignore")
	}
	if g.chance(30) {
		made["nodeTaintsPolicy"] = pick(g, "Honor", "Ignore")
	}
	return made
}

func (g gen) affinityTerm(pod object) object {
	term := object{"topologyKey": pick(g, topologyKeys...)}
	if selector := g.selector(); selector != nil {
		term["labelSelector"] = selector
	}
	if g.chance(20) {
		term["namespaces"] = pick(g, []string{"default"}, []string{"team-a"}, []string{"team-a", "team-b"}, []string{"nowhere"})
	}
	if g.chance(25) {
		term["namespaceSelector"] = pick(g, object{}, object{"matchLabels": object{"team": "a"}},
			object{"matchExpressions": []object{{"key": "team", "operator": "NotIn", "values": []string{"a"}}}},
			object{"matchExpressions": []object{{"key": "env", "operator": "DoesNotExist"}}},
			object{"matchExpressions": []object{{"key": "team", "operator": "Exists"}}})
	}
	if g.chance(12) {
		withLabelKeys(term, pod, pick(g, []string{"version"}, []string{"tier"}), "matchLabelKeys", "In")
	} else if g.chance(12) {
		withLabelKeys(term, pod, pick(g, []string{"version"}, []string{"tier"}), "mismatchLabelKeys", "NotIn")
	}
	return term
}

// podAffinity draws terms of both directions; each kind with the chance given.
func (g gen) podAffinity(pod object, required, preferred int) {
	of := func(percent, preferredPercent int) object {
		made := object{}
		if g.chance(percent) {
			var terms []object
			for range pick(g, 1, 1, 1, 2, 3) {
				terms = append(terms, g.affinityTerm(pod))
			}
			made["requiredDuringSchedulingIgnoredDuringExecution"] = terms
		}
		if g.chance(preferredPercent) {
			var terms []object
			for range pick(g, 1, 1, 2, 3) {
				terms = append(terms, object{"weight": g.between(1, 100), "podAffinityTerm": g.affinityTerm(pod)})
			}
			made["preferredDuringSchedulingIgnoredDuringExecution"] = terms
		}
		return made
	}
	spec := pod["spec"].(object)
	affinity, _ := spec["affinity"].(object)
	if affinity == nil {
		affinity = object{}
	}
	if made := of(required, preferred); len(made) > 0 {
		affinity["podAffinity"] = made
	}
	if made := of(required, preferred); len(made) > 0 {
		affinity["podAntiAffinity"] = made
	}
	if len(affinity) > 0 {
		spec["affinity"] = affinity
	}
}

func (g gen) spread(pod object, percent, hardPercent int) {
	if !g.chance(percent) {
		return
	}
	var all []object
	for range pick(g, 1, 1, 2, 2, 3) {
		all = append(all, g.spreadConstraint(hardPercent))
	}
	pod["spec"].(object)["topologySpreadConstraints"] = all
}

// looksAtPods gives a pod what families about other pods need.
func (g gen) looksAtPods(family string, pod object, running bool) {
	metadata, spec := pod["metadata"].(object), pod["spec"].(object)
	metadata["namespace"] = g.namespace()
	labels := metadata["labels"].(object)
	if g.chance(40) {
		labels["version"] = pick(g, "v1", "v2")
	}
	if g.chance(4) {
		metadata["labels"] = object{}
	}
	switch family {
	case "spread":
		g.spread(pod, 80, 55)
	case "defaults":
		g.spread(pod, 10, 50)
		g.owner(pod)
	case "interpod":
		g.podAffinity(pod, 35, 30)
	case "mixed", "preempt":
		if family == "mixed" || g.chance(50) {
			g.spread(pod, 25, 60)
			g.podAffinity(pod, 12, 12)
		}
	}
	if family != "defaults" && g.chance(15) {
		g.affinity(spec)
	}
	if running && g.chance(6) {
		metadata["deletionTimestamp"] = "2026-01-03T00:00:00Z"
	}
}

var controllers = []string{"ReplicationController", "ReplicaSet", "StatefulSet"}

// owner names a controller that may exist, in a namespace of its own or not.
func (g gen) owner(pod object) {
	if !g.chance(65) {
		return
	}
	kind := pick(g, controllers...)
	version := "apps/v1"
	if kind == "ReplicationController" {
		version = "v1"
	}
	if g.chance(5) {
		version, kind = "batch/v1", "Job"
	}
	metadata := pod["metadata"].(object)
	owner := object{"apiVersion": version, "kind": kind, "name": fmt.Sprintf("of-%d", g.IntN(3)), "uid": "uid-owner"}
	if g.chance(90) {
		owner["controller"] = true
	}
	metadata["ownerReferences"] = []object{owner}
}

// selectors are Services and controllers that select pods.
func (g gen) selectors() []object {
	var all []object
	for i := range g.between(0, 4) {
		spec := object{}
		switch {
		case g.chance(8):
		case g.chance(8):
			spec["selector"] = object{}
		default:
			labels := object{"app": pick(g, "web", "db", "cache", "batch")}
			if g.chance(25) {
				labels["tier"] = pick(g, "gold", "silver")
			}
			spec["selector"] = labels
		}
		metadata := object{"name": fmt.Sprintf("service-%d", i), "namespace": g.namespace()}
		all = append(all, object{"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
	}
	for _, kind := range controllers {
		for i := range 3 {
			for _, namespace := range some(g, 30, "default", "team-a", "team-b") {
				made := object{"apiVersion": "apps/v1", "kind": kind, "metadata": object{"name": fmt.Sprintf("of-%d", i), "namespace": namespace}}
				spec := object{}
				if kind == "ReplicationController" {
					made["apiVersion"] = "v1"
					if g.chance(92) {
						spec["selector"] = object{"app": pick(g, "web", "db", "cache")}
					}
				} else if selector := g.selector(); selector != nil {
					spec["selector"] = selector
				}
				made["spec"] = spec
				all = append(all, made)
			}
		}
	}
	return all
}

// spreadArgs are list defaults; nil keeps those of the system.
func (g gen) spreadArgs() object {
	if g.chance(45) {
		return nil
	}
	var constraints []object
	var seen []string
	for range g.between(0, 3) {
		made := object{"maxSkew": g.between(1, 4), "topologyKey": pick(g, topologyKeys...), "whenUnsatisfiable": pick(g, "DoNotSchedule", "ScheduleAnyway")}
		id := fmt.Sprint(made["topologyKey"], made["whenUnsatisfiable"])
		if slices.Contains(seen, id) {
			continue
		}
		seen = append(seen, id)
		if made["whenUnsatisfiable"] == "DoNotSchedule" && g.chance(20) {
			made["minDomains"] = g.between(1, 4)
		}
		if g.chance(20) {
			made["nodeTaintsPolicy"] = pick(g, "Honor", "Ignore")
		}
		constraints = append(constraints, made)
	}
	args := object{"defaultingType": "List"}
	if constraints != nil {
		args["defaultConstraints"] = constraints
	}
	return args
}

func (g gen) affinityArgs() object {
	return object{"hardPodAffinityWeight": pick(g, 0, 1, 5, 100), "ignorePreferredTermsOfExistingPods": g.chance(50)}
}
