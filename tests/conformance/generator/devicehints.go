package main

import (
	"fmt"
	"slices"
)

// makeDeviceHints draws clusters with devices until a pod waits for some, then changes them.
func makeDeviceHints(g gen, seed uint64, i int) (any, error) {
	for {
		family := pick(g, "devices-exact", "devices-exact", "devices-allocated", "devices-names", "devices-names", "devices-conditions", "devices-extended", "devices-extended", "devices-mixed")
		d := g.devices(family)
		pod := d.pods[0]
		made := &hintCase{Name: fmt.Sprintf("hints-devices-%d-%d", seed, i), Objects: raws(d.objects), Pod: raw(pod)}
		for range g.between(8, 14) {
			before, after := d.changeDevices(pod)
			made.Changes = append(made.Changes, change{Old: optionalRaw(before), New: optionalRaw(after)})
		}
		waits, err := made.run()
		if err != nil {
			return made, err
		}
		isAbout := slices.Contains(made.RejectedBy, "DynamicResources") || family == "devices-extended" && slices.Contains(made.RejectedBy, "NodeResourcesFit")
		if !waits || !isAbout {
			continue
		}
		// Ten runs agree, or the case is drawn again.
		first, stable := canonical(raw(made)), true
		for range 9 {
			if _, err := made.run(); err != nil || string(canonical(raw(made))) != string(first) {
				stable = false
			}
		}
		if stable {
			return made, nil
		}
	}
}

// ofKind is one of the drawn objects of a kind; nil without one.
func (d *deviceDraw) ofKind(kind string) object {
	var all []object
	for _, one := range d.objects {
		if one["kind"] == kind {
			all = append(all, one)
		}
	}
	if all == nil {
		return nil
	}
	return pick(d.gen, all...)
}

// changeDevices is one object before and after; nil where it is absent.
func (d *deviceDraw) changeDevices(pod object) (object, object) {
	for {
		kind := pick(d.gen, "ResourceClaim", "ResourceClaim", "ResourceClaim", "ResourceClaim", "own claim", "own claim", "DeviceClass", "DeviceClass",
			"ResourceSlice", "Node", "Node", "Pod", "Pod", "Pod")
		if kind == "Node" {
			before := d.ofKind("Node")
			if d.chance(20) {
				return nil, d.deviceNode(90)
			}
			after := copyOf(before)
			d.changeNode("basic", after)
			return before, after
		}
		if kind == "Pod" {
			return d.changeDevicePod(pod)
		}
		before := d.ofKind(kind)
		if kind == "own claim" {
			before = d.ownClaim(pod)
		}
		if before == nil {
			continue
		}
		after := copyOf(before)
		metadata := after["metadata"].(object)
		metadata["resourceVersion"] = "11"
		switch before["kind"] {
		case "ResourceClaim":
			if d.chance(12) {
				added := copyOf(before)
				metadata := added["metadata"].(object)
				metadata["name"] = fmt.Sprint(metadata["name"], "-added")
				metadata["uid"] = fmt.Sprint(metadata["uid"], "-added")
				return nil, added
			}
			if d.chance(12) {
				return before, nil
			}
			d.changeClaim(after)
		case "DeviceClass":
			if d.chance(30) {
				added := copyOf(before)
				metadata := added["metadata"].(object)
				metadata["name"], metadata["uid"] = "added", "uid-deviceclass-added"
				d.changeClass(added)
				return nil, added
			}
			if d.chance(15) {
				return before, nil
			}
			d.changeClass(after)
		case "ResourceSlice":
			if d.chance(25) {
				return before, nil
			}
			if d.chance(25) {
				metadata["name"] = "added"
				return nil, after
			}
			after["spec"].(object)["pool"].(object)["generation"] = 7
		}
		return before, after
	}
}

// ownClaim is a claim that the pod names; nil without one.
func (d *deviceDraw) ownClaim(pod object) object {
	for _, one := range d.objects {
		if one["kind"] != "ResourceClaim" {
			continue
		}
		name := one["metadata"].(object)["name"]
		for _, entry := range pod["spec"].(object)["resourceClaims"].([]object) {
			if entry["resourceClaimName"] == name {
				return one
			}
		}
		statuses, _ := pod["status"].(object)["resourceClaimStatuses"].([]object)
		for _, status := range statuses {
			if status["resourceClaimName"] == name {
				return one
			}
		}
	}
	return nil
}

func (d *deviceDraw) changeClaim(claim object) {
	metadata := claim["metadata"].(object)
	status, _ := claim["status"].(object)
	switch d.IntN(6) {
	case 0:
		metadata["annotations"] = object{"note": "changed"}
	case 1, 2:
		delete(claim, "status")
		if d.chance(20) {
			metadata["deletionTimestamp"] = "2026-01-03T00:00:00Z"
			metadata["finalizers"] = []string{"resource.kubernetes.io/delete-protection"}
		}
	case 3:
		if status["allocation"] == nil {
			fresh := copyOf(claim)
			fresh["spec"] = d.claimSpec()
			d.allocated(fresh, "stranger")
			claim["status"] = fresh["status"]
		} else {
			status["reservedFor"] = []object{{"resource": "pods", "name": "new-000", "uid": "uid-new-000"}}
		}
	case 4:
		if status != nil {
			delete(status, "reservedFor")
		}
	case 5:
		metadata["labels"] = object{"note": "changed"}
		if status["devices"] != nil {
			delete(status, "devices")
		}
	}
}

func (d *deviceDraw) changeClass(class object) {
	spec := class["spec"].(object)
	switch d.IntN(4) {
	case 0:
		spec["extendedResourceName"] = pick(d.gen, append([]string{"example.com/any", "example.com/unknown"}, extendedNames[:2]...)...)
	case 1:
		delete(spec, "extendedResourceName")
	case 2:
		spec["selectors"] = []object{celSelector("true")}
	case 3:
		class["metadata"].(object)["annotations"] = object{"note": "changed"}
	}
}

// changeDevicePod changes the pod that waits, or another one.
func (d *deviceDraw) changeDevicePod(pod object) (object, object) {
	before := pod
	if d.chance(25) {
		before = pick(d.gen, d.pods...)
	}
	after := copyOf(before)
	status := after["status"].(object)
	statuses, _ := status["resourceClaimStatuses"].([]any)
	switch d.IntN(5) {
	case 0:
		status["resourceClaimStatuses"] = append(statuses, object{"name": "another", "resourceClaimName": "another"})
	case 1:
		delete(status, "resourceClaimStatuses")
	case 2:
		for _, entry := range before["spec"].(object)["resourceClaims"].([]object) {
			if entry["resourceClaimTemplateName"] != nil && d.ofKind("ResourceClaim") != nil {
				claim := d.ofKind("ResourceClaim")
				status["resourceClaimStatuses"] = []object{{"name": entry["name"], "resourceClaimName": claim["metadata"].(object)["name"]}}
			}
		}
	case 3:
		mapping := object{"containerName": "c0", "resourceName": "example.com/gpu", "requestName": "container-0-request-0"}
		status["extendedResourceClaimStatus"] = object{"requestMappings": []object{mapping}, "resourceClaimName": "left"}
	case 4:
		after["metadata"].(object)["labels"] = object{"app": "changed"}
	}
	return before, after
}
