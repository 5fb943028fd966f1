package main

// extendedNames are extended resources that classes may back.
var extendedNames = []string{"example.com/gpu", "example.com/nic", "deviceclass.resource.kubernetes.io/any", "deviceclass.resource.kubernetes.io/nic"}

// extends lets a class back an extended resource, sometimes the one of another class.
func (d *deviceDraw) extends(class string, made object) {
	name := "example.com/" + class
	if d.chance(25) {
		name = pick(d.gen, "example.com/gpu", "example.com/nic")
	}
	made["spec"].(object)["extendedResourceName"] = name
}

// scoresExtended are arguments with which the scores of other plugins count extended resources.
func (g gen) scoresExtended() []object {
	resources := []object{{"name": "cpu", "weight": 1}}
	for _, name := range some(g, 60, extendedNames...) {
		resources = append(resources, object{"name": name, "weight": g.between(1, 3)})
	}
	strategy := object{"type": pick(g, "LeastAllocated", "MostAllocated"), "resources": resources}
	all := []object{arguments("NodeResourcesFit", object{"scoringStrategy": strategy})}
	if g.chance(50) {
		var balanced []object
		for _, resource := range resources {
			balanced = append(balanced, object{"name": resource["name"], "weight": 1})
		}
		all = append(all, arguments("NodeResourcesBalancedAllocation", object{"resources": balanced}))
	}
	return all
}

// wantsExtended gives containers of a pod extended resources, and sometimes the claim of an earlier attempt.
func (d *deviceDraw) wantsExtended(pod object) {
	spec := pod["spec"].(object)
	containers := spec["containers"].([]object)
	if d.chance(40) {
		containers = append(containers, object{"name": "c1", "image": "registry.example/app"})
		spec["containers"] = containers
	}
	var inits []object
	for n := range pick(d.gen, 0, 0, 1, 1, 2) {
		init := object{"name": pick(d.gen, "i", "a") + string(rune('0'+n)), "image": "registry.example/init"}
		if d.chance(40) {
			init["restartPolicy"] = "Always"
		}
		inits = append(inits, init)
	}
	if inits != nil {
		spec["initContainers"] = inits
	}
	for _, container := range append(append([]object{}, containers...), inits...) {
		amounts := object{}
		for _, name := range some(d.gen, 35, append([]string{"example.com/any", "example.com/unknown"}, extendedNames...)...) {
			if name == "example.com/unknown" && d.chance(85) {
				continue
			}
			amounts[name] = pick(d.gen, "1", "1", "1", "2", "0")
		}
		requests := copyOf(amounts)
		if d.chance(60) {
			requests["cpu"] = "50m"
		}
		if d.chance(40) {
			requests["memory"] = "64Mi"
		}
		resources, _ := container["resources"].(object)
		if resources == nil {
			resources = object{}
		}
		resources["requests"], resources["limits"] = requests, amounts
		container["resources"] = resources
	}
	if d.chance(20) {
		d.earlierClaim(pod)
	}
}

// earlierClaim is the claim of extended resources that a failed attempt left.
func (d *deviceDraw) earlierClaim(pod object) {
	name := pod["metadata"].(object)["name"].(string)
	request := object{"name": "container-0-request-0", "exactly": object{"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}}
	claim := d.add("ResourceClaim", d.claimName(), "default", object{"spec": object{"devices": object{"requests": []object{request}}}})
	metadata := claim["metadata"].(object)
	metadata["annotations"] = object{"resource.kubernetes.io/extended-resource-claim": "true"}
	// An owner that is not a controller makes 1.36 panic.
	metadata["ownerReferences"] = []object{{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "uid-" + name, "controller": true}}
	if d.chance(25) {
		metadata["ownerReferences"].([]object)[0]["uid"] = "uid-another"
	}
	if d.chance(50) {
		d.allocated(claim, name)
	}
}
