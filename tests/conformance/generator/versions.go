package main

import (
	"fmt"
	"slices"
)

// ofVersions are families of what 1.36 and 1.37 decide otherwise, each with the family that it is drawn as.
var ofVersions = map[string]string{"imagevolumes": "images", "resized": "resources", "drivers": "attach", "namespaces": "interpod"}

// drawnAs is the family whose clusters and pods a family has.
func drawnAs(family string) string {
	if of, ok := ofVersions[family]; ok {
		return of
	}
	return family
}

// differs gives the objects and the pods of a case what the versions decide otherwise.
func (g gen) differs(family string, objects, pods []object) {
	switch family {
	case "imagevolumes":
		for _, pod := range pods {
			volumes := []object{}
			for n := range g.between(0, 3) {
				reference := pick(g, imageNames...)
				volumes = append(volumes, object{"name": "image-" + string(rune('a'+n)), "image": object{"reference": reference}})
			}
			pod["spec"].(object)["volumes"] = volumes
		}
	case "resized":
		for _, o := range objects {
			if o["kind"] == "Pod" && g.chance(60) {
				g.resize(o)
			}
		}
	case "namespaces":
		g.unknownNamespaces(objects, pods)
	case "drivers":
		for _, o := range objects {
			switch {
			case o["kind"] == "CSIDriver" && g.chance(80):
				o["spec"].(object)["preventPodSchedulingIfMissing"] = true
			case o["kind"] == "CSINode" && g.chance(50):
				o["spec"] = object{"drivers": []object{}}
			}
		}
	}
}

// unknownNamespaces takes Namespace objects away, and lets terms select namespaces by labels that they do not have.
func (g gen) unknownNamespaces(objects, pods []object) {
	for i, o := range objects {
		if o["kind"] == "Namespace" && g.chance(40) {
			o["metadata"] = object{"name": fmt.Sprintf("unused-%d", i), "labels": object{}}
		}
	}
	for _, pod := range append(slices.Clone(objects), pods...) {
		spec, _ := pod["spec"].(object)
		affinity, _ := spec["affinity"].(object)
		for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
			lists, _ := affinity[kind].(object)
			required, _ := lists["requiredDuringSchedulingIgnoredDuringExecution"].([]object)
			preferred, _ := lists["preferredDuringSchedulingIgnoredDuringExecution"].([]object)
			for _, term := range required {
				g.selectsNamespaces(term)
			}
			for _, weighted := range preferred {
				g.selectsNamespaces(weighted["podAffinityTerm"].(object))
			}
		}
	}
}

// selectsNamespaces gives a term a selector of namespaces, most of which match a namespace without labels.
func (g gen) selectsNamespaces(term object) {
	if g.chance(60) {
		term["namespaceSelector"] = object{"matchExpressions": []object{pick(g,
			object{"key": "team", "operator": "NotIn", "values": []string{"a"}},
			object{"key": "team", "operator": "NotIn", "values": []string{"b"}},
			object{"key": "env", "operator": "DoesNotExist"}, object{"key": "team", "operator": "Exists"})}}
	}
}

// resize gives a pod statuses of a resize that is under way, was done, or cannot be.
func (g gen) resize(pod object) {
	status := pod["status"].(object)
	amounts := func() object {
		all := object{"cpu": pick(g, "50m", "100m", "500m", "1500m", "3")}
		if g.chance(60) {
			all["memory"] = pick(g, "64Mi", "256Mi", "1Gi", "3Gi")
		}
		return all
	}
	containers := pod["spec"].(object)["containers"].([]object)
	statuses := []object{}
	for _, container := range containers {
		of := object{"name": container["name"]}
		if g.chance(70) {
			of["resources"] = object{"requests": amounts()}
		}
		if g.chance(70) {
			of["allocatedResources"] = amounts()
		}
		statuses = append(statuses, of)
	}
	status["containerStatuses"] = statuses
	if g.chance(30) {
		reason := pick(g, "Infeasible", "Deferred")
		status["conditions"] = []object{{"type": "PodResizePending", "status": "True", "reason": reason}}
	}
	if g.chance(25) {
		status["resources"] = object{"requests": amounts()}
		status["allocatedResources"] = amounts()
	}
}
