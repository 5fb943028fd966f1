package main

import (
	"fmt"
	"strings"
)

// request draws a request of a claim.
func (d *deviceDraw) request(name string) object {
	if d.chance(d.mix.prioritized) {
		var alternatives []object
		for n := range d.between(1, 3) {
			alternative := d.exactly()
			alternative["name"] = fmt.Sprintf("s%d", n)
			alternatives = append(alternatives, alternative)
		}
		return object{"name": name, "firstAvailable": alternatives}
	}
	exactly := d.exactly()
	if d.chance(d.mix.admin) {
		exactly["adminAccess"] = true
	}
	return object{"name": name, "exactly": exactly}
}

func (d *deviceDraw) exactly() object {
	class := pick(d.gen, "any", "any", "gpu", "gpu", "nic", "big")
	made := object{"deviceClassName": class}
	if d.chance(d.mix.all) {
		made["allocationMode"] = "All"
	} else {
		made["allocationMode"], made["count"] = "ExactCount", pick(d.gen, 1, 1, 1, 1, 1, 2, 2, 3)
	}
	var selectors []object
	if d.chance(25) {
		selectors = append(selectors, celSelector(pick(d.gen,
			`device.attributes[device.driver].size == "small"`, `device.attributes[device.driver].model in ["m1", "m2"]`,
			`device.attributes[device.driver].model != "m3"`)))
	}
	if d.chance(d.mix.selectors) {
		selectors = append(selectors, celSelector(d.expression()))
	}
	if selectors != nil {
		made["selectors"] = selectors
	}
	if d.chance(d.mix.taints) {
		var tolerations []object
		for range pick(d.gen, 1, 1, 2) {
			tolerations = append(tolerations, d.deviceToleration())
		}
		made["tolerations"] = tolerations
	}
	if d.chance(d.mix.capacity * 4 / 5) {
		requests := object{"memory": pick(d.gen, "1", "1Gi", "2Gi", "3Gi", "4Gi", "5Gi", "7Gi", "11Gi", "2000M")}
		if d.chance(30) {
			requests["lanes"] = pick(d.gen, "1", "2", "3", "5", "1024", "2000")
			if d.chance(40) {
				delete(requests, "memory")
			}
		}
		if d.chance(4) && kubernetesVersion != "" {
			// In 1.36 such amounts change in place what the claim asks for.
			requests["memory"] = pick(d.gen, "18446744073709551616", "9223372036854775807")
		}
		made["capacity"] = object{"requests": requests}
	}
	return made
}

func (d *deviceDraw) deviceToleration() object {
	made := object{"operator": "Exists"}
	if d.chance(85) {
		made["key"] = pick(d.gen, "ex.io/hot", "ex.io/broken")
		if d.chance(50) {
			made["operator"] = "Equal"
			made["value"] = pick(d.gen, "a", "b")
		}
	}
	if d.chance(40) {
		made["effect"] = pick(d.gen, "NoSchedule", "NoExecute")
		if made["effect"] == "NoExecute" && d.chance(40) {
			made["tolerationSeconds"] = pick(d.gen, 0, 60)
		}
	}
	return made
}

// claimSpec draws what a claim asks for.
func (d *deviceDraw) claimSpec() object {
	requests, names := []object{}, []string{}
	for r := range pick(d.gen, 1, 1, 1, 2, 2, 3) {
		name := fmt.Sprintf("r%d", r)
		made := d.request(name)
		requests, names = append(requests, made), append(names, name)
		if alternatives, ok := made["firstAvailable"].([]object); ok && d.chance(40) {
			names = append(names, name+"/"+pick(d.gen, alternatives...)["name"].(string))
		}
	}
	devices := object{"requests": requests}
	if d.chance(d.mix.match) {
		var constraints []object
		for range pick(d.gen, 1, 1, 2) {
			constraint := object{}
			attribute := pick(d.gen, "gpu.ex/numa", "gpu.ex/numa", "gpu.ex/model", "nic.ex/numa", "shared.ex/rack", "gpu.ex/version", "gpu.ex/size")
			constraint[pick(d.gen, "matchAttribute", "matchAttribute", "distinctAttribute")] = attribute
			if d.chance(50) {
				if of := some(d.gen, 60, names...); of != nil {
					constraint["requests"] = withoutParents(of)
				}
			}
			constraints = append(constraints, constraint)
		}
		devices["constraints"] = constraints
	}
	if d.chance(d.mix.config) {
		configs := d.opaques("claim", 3)
		for _, config := range configs {
			if of := some(d.gen, 50, names...); of != nil && d.chance(70) {
				config["requests"] = withoutParents(of)
			}
		}
		devices["config"] = configs
	}
	return object{"devices": devices}
}

// withoutParents leaves out an alternative whose request is named itself.
func withoutParents(names []string) []string {
	var left []string
	for _, name := range names {
		parent, _, isAlternative := strings.Cut(name, "/")
		named := false
		for _, other := range names {
			named = named || isAlternative && other == parent
		}
		if !named {
			left = append(left, name)
		}
	}
	return left
}

func (d *deviceDraw) claimName() string {
	d.claimed++
	return fmt.Sprintf("%s-claim-%d", pick(d.gen, "a", "m", "x"), d.claimed)
}

// result is a device of a pool as an allocation has it; nil without devices.
func (d *deviceDraw) result(request string) (*devicePool, object) {
	pool := pick(d.gen, d.pools...)
	if len(pool.devices) == 0 {
		return pool, nil
	}
	device := pick(d.gen, pool.devices...)
	result := object{"request": request, "driver": pool.driver, "pool": pool.name, "device": device["name"]}
	if d.chance(d.mix.admin) {
		result["adminAccess"] = true
	}
	if device["allowMultipleAllocations"] == true {
		d.claimed++
		result["shareID"] = fmt.Sprintf("00000000-0000-0000-0000-%012d", d.claimed)
		consumed := object{}
		if capacity, ok := device["capacity"].(object); ok {
			for name := range capacity {
				consumed[name] = "1"
			}
			if _, ok := consumed["memory"]; ok {
				consumed["memory"] = pick(d.gen, "1Gi", "2Gi", "4Gi", "10Gi")
			}
			result["consumedCapacity"] = consumed
		}
	}
	for _, key := range []string{"bindingConditions", "bindingFailureConditions"} {
		if of, ok := device[key]; ok {
			result[key] = of
		}
	}
	return pool, result
}

// allocated gives a claim an allocation that was made earlier, by a scheduler that need not be one of these.
func (d *deviceDraw) allocated(claim object, pod string) {
	results, statuses := []object{}, []object{}
	allocation := object{"devices": object{}, "allocationTimestamp": pick(d.gen, "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z")}
	if d.chance(15) {
		delete(allocation, "allocationTimestamp")
	}
	for range pick(d.gen, 1, 1, 2) {
		request := pick(d.gen, claim["spec"].(object)["devices"].(object)["requests"].([]object)...)
		name := request["name"].(string)
		if alternatives, ok := request["firstAvailable"].([]object); ok {
			name += "/" + pick(d.gen, alternatives...)["name"].(string)
		}
		pool, result := d.result(name)
		if result == nil || result["shareID"] == nil && len(results) > 0 && results[0]["device"] == result["device"] {
			continue
		}
		results = append(results, result)
		if pool.node != "" {
			requirement := object{"key": "metadata.name", "operator": "In", "values": []string{pool.node}}
			allocation["nodeSelector"] = object{"nodeSelectorTerms": []object{{"matchFields": []object{requirement}}}}
		}
		if of, ok := result["bindingConditions"].([]string); ok && d.chance(80) {
			conditions := []object{}
			for _, kind := range append([]string{"ex.io/failed"}, of...) {
				if state := pick(d.gen, "True", "True", "False", ""); state != "" && (kind != "ex.io/failed" || d.chance(40)) {
					conditions = append(conditions, object{"type": kind, "status": state, "reason": "Drawn", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
				}
			}
			status := object{"driver": result["driver"], "pool": result["pool"], "device": result["device"], "conditions": conditions}
			if share, ok := result["shareID"]; ok {
				status["shareID"] = share
			}
			statuses = append(statuses, status)
		}
	}
	allocation["devices"] = object{"results": results}
	status := object{"allocation": allocation}
	if len(statuses) > 0 {
		status["devices"] = statuses
	}
	var reserved []object
	switch d.IntN(6) {
	case 0:
		reserved = []object{{"resource": "pods", "name": "other", "uid": "uid-other"}}
	case 1:
		reserved = []object{{"resource": "pods", "name": pod, "uid": "uid-" + pod}, {"resource": "pods", "name": "other", "uid": "uid-other"}}
	case 2:
		reserved = []object{{"resource": "pods", "name": pod, "uid": "uid-" + pod}}
	}
	if reserved != nil {
		status["reservedFor"] = reserved
	}
	claim["status"] = status
	claim["metadata"].(object)["finalizers"] = []string{"resource.kubernetes.io/delete-protection"}
}

// strangerClaim is a claim that takes devices and that a pod of the case does not use.
func (d *deviceDraw) strangerClaim() {
	claim := d.add("ResourceClaim", d.claimName(), "default", object{"spec": d.claimSpec()})
	d.allocated(claim, "stranger")
}

// devicePod draws a pending pod with its claims.
func (d *deviceDraw) devicePod(name string, i int) {
	entries, statuses := []object{}, []object{}
	container := object{"name": "c0", "image": "registry.example/app", "resources": object{"requests": object{"cpu": "100m"}}}
	spec := object{"containers": []object{container}}
	metadata := object{"name": name, "namespace": "default", "labels": object{"app": "web"}, "uid": "uid-" + name,
		"creationTimestamp": fmt.Sprintf("2026-01-01T00:%02d:00Z", i)}
	count := pick(d.gen, 1, 1, 1, 2, 2, 3)
	switch {
	case d.mix.prioritized > 50 || d.mix.pools >= 40:
		count = pick(d.gen, 1, 1, 2)
	case d.mix.allocated > 50:
		count = pick(d.gen, 1, 1, 1, 2)
	case d.mix.others > 40:
		count = pick(d.gen, 0, 1, 1, 1, 2, 2, 3)
	case d.mix.extended > 50:
		count = pick(d.gen, 0, 0, 0, 1)
	}
	single := 0
	for n := range count {
		entry := object{"name": fmt.Sprintf("e%d", n)}
		claimName := d.claimName()
		template := d.chance(30)
		if template {
			entry["resourceClaimTemplateName"] = "template"
			statuses = append(statuses, object{"name": entry["name"], "resourceClaimName": claimName})
		} else {
			entry["resourceClaimName"] = claimName
		}
		entries = append(entries, entry)
		claim := d.add("ResourceClaim", claimName, "default", object{"spec": d.claimSpec()})
		if template {
			claim["metadata"].(object)["ownerReferences"] = []object{{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "uid-" + name, "controller": true, "blockOwnerDeletion": true}}
		}
		if d.chance(d.mix.allocated*2/3) && single == 0 {
			// One claim at most: which of several PostFilter takes is chance.
			d.allocated(claim, name)
			single++
		}
		if d.chance(d.mix.names / 2) {
			statuses = d.misnamed(claim, entry, statuses)
		}
	}
	// A claim that an earlier pod names too.
	if len(d.pods) > 0 && d.chance(10) {
		before := pick(d.gen, d.pods...)["spec"].(object)
		for _, entry := range before["resourceClaims"].([]object) {
			if shared, ok := entry["resourceClaimName"]; ok {
				entries = append(entries, object{"name": "shared", "resourceClaimName": shared})
				break
			}
		}
	}
	spec["resourceClaims"] = entries
	var uses []object
	for _, entry := range entries {
		uses = append(uses, object{"name": entry["name"]})
	}
	if uses != nil {
		container["resources"].(object)["claims"] = uses
	}
	status := object{"phase": "Pending"}
	if len(statuses) > 0 {
		status["resourceClaimStatuses"] = statuses
	}
	pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
	if d.chance(d.mix.extended) {
		d.wantsExtended(pod)
	}
	if d.chance(d.mix.others) {
		d.wantsOthers(pod)
	}
	if d.chance(3) && d.mix.others > 0 {
		status["nominatedNodeName"] = nodeName(d.IntN(len(d.nodes)))
	}
	d.pods = append(d.pods, pod)
}

// wantsOthers gives a pod what other plugins are about.
func (d *deviceDraw) wantsOthers(pod object) {
	spec := pod["spec"].(object)
	if d.chance(60) {
		spec["priority"] = pick(d.gen, 0, 100, 100)
	}
	switch d.IntN(5) {
	case 0, 1:
		requests := spec["containers"].([]object)[0]["resources"].(object)["requests"].(object)
		requests["cpu"], requests["memory"] = pick(d.gen, "400m", "900m", "1", "1500m"), "1Gi"
	case 2:
		spec["nodeSelector"] = object{pick(d.gen, zoneKey, "disktype"): pick(d.gen, "z1", "ssd")}
	case 3:
		spec["tolerations"] = []object{{"key": "dedicated", "operator": "Exists"}}
	case 4:
		preference := object{"matchExpressions": []object{{"key": "disktype", "operator": "In", "values": []string{pick(d.gen, "ssd", "hdd")}}}}
		spec["affinity"] = object{"nodeAffinity": object{"preferredDuringSchedulingIgnoredDuringExecution": []object{{"weight": d.between(1, 100), "preference": preference}}}}
	}
}

// runningPod takes some of a node, and may be evicted.
func (d *deviceDraw) runningPod(i int) {
	name := fmt.Sprintf("run-%03d", i)
	container := object{"name": "c0", "image": "registry.example/app", "resources": object{"requests": object{"cpu": pick(d.gen, "200m", "500m", "1", "2")}}}
	d.objects = append(d.objects, object{"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": name, "namespace": "default", "uid": "uid-" + name, "labels": object{"app": "db"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
		"spec":     object{"nodeName": nodeName(d.IntN(len(d.nodes))), "priority": pick(d.gen, -10, 0, 50), "containers": []object{container}},
		"status":   object{"phase": "Running", "startTime": fmt.Sprintf("2026-01-02T00:%02d:00Z", i)}})
}

// misnamed breaks the way from a pod to its claim.
func (d *deviceDraw) misnamed(claim, entry object, statuses []object) []object {
	metadata := claim["metadata"].(object)
	request := claim["spec"].(object)["devices"].(object)["requests"].([]object)[0]
	of, _ := request["exactly"].(object)
	if alternatives, ok := request["firstAvailable"].([]object); ok {
		of = alternatives[len(alternatives)-1]
	}
	template := entry["resourceClaimTemplateName"] != nil
	switch d.IntN(8) {
	case 0:
		metadata["name"] = "other-" + metadata["name"].(string)
	case 1:
		metadata["deletionTimestamp"], metadata["finalizers"] = "2026-01-02T00:00:00Z", []string{"resource.kubernetes.io/delete-protection"}
	case 2:
		of["deviceClassName"] = "unheard-of"
	case 3:
		of["deviceClassName"] = ""
	case 4:
		metadata["namespace"] = "elsewhere"
	default:
		if !template {
			break
		}
		switch d.IntN(5) {
		case 0:
			return statuses[:len(statuses)-1]
		case 1:
			delete(statuses[len(statuses)-1], "resourceClaimName")
		case 2:
			metadata["ownerReferences"].([]object)[0]["uid"] = "uid-another"
		case 3:
			delete(metadata["ownerReferences"].([]object)[0], "controller")
		case 4:
			delete(metadata, "ownerReferences")
		}
	}
	return statuses
}
