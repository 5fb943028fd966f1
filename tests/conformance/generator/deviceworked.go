package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// workedCase is a case that a person thought of: one node n1 unless it says otherwise, driver d.ex, class c that takes every
// device, claims and pods in the namespace ns.
type workedCase struct {
	name    string
	config  object
	objects []object
	pending []object
	// ends is how the attempts end after Reserve; without it that is not tried.
	ends []string
}

// through takes the pods of a case through PreBind.
func (w workedCase) through(name string, ends ...string) workedCase {
	w.name, w.ends = name, ends
	return w
}

func worked(name string, parts ...any) workedCase {
	w := workedCase{name: name}
	nodes, classes := 0, 0
	for _, part := range parts {
		switch part := part.(type) {
		case object:
			switch part["kind"] {
			case "Node":
				nodes++
			case "DeviceClass":
				classes++
			case "KubeSchedulerConfiguration":
				w.config = part
				continue
			case "Pod":
				if part["spec"].(object)["nodeName"] == nil {
					w.pending = append(w.pending, part)
					continue
				}
			}
			w.objects = append(w.objects, part)
		case []object:
			w.objects = append(w.objects, part...)
		}
	}
	first := []object{{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "ns", "labels": object{}}}}
	if nodes == 0 {
		first = append(first, wNode("n1"))
	}
	if classes == 0 {
		first = append(first, wClass("c"))
	}
	w.objects = append(first, w.objects...)
	return w
}

// with adds fields to an object, which it also returns.
func with(of object, more object) object {
	for key, value := range more {
		of[key] = value
	}
	return of
}

func wObject(kind, name string, parts object) object {
	return with(object{"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": object{"name": name, "uid": "uid-" + name,
		"resourceVersion": "10", "creationTimestamp": "2026-01-01T00:00:00Z"}}, parts)
}

func wNode(name string) object {
	amounts := object{"cpu": "4", "memory": "8Gi", "pods": "10"}
	return object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name, "labels": object{"kubernetes.io/hostname": name}},
		"spec": object{}, "status": object{"allocatable": amounts, "capacity": amounts}}
}

func wClass(name string, expressions ...string) object {
	spec := object{}
	var selectors []object
	for _, expression := range expressions {
		selectors = append(selectors, celSelector(expression))
	}
	if selectors != nil {
		spec["selectors"] = selectors
	}
	return wObject("DeviceClass", name, object{"spec": spec})
}

// wDev is a device with attributes, each `name=value`; a value of digits is an int.
func wDev(name string, attributes ...string) object {
	made := object{"name": name}
	all := object{}
	for _, attribute := range attributes {
		key, value, _ := strings.Cut(attribute, "=")
		if strings.Trim(value, "0123456789") == "" {
			all[key] = object{"int": json.Number(value)}
		} else {
			all[key] = object{"string": strings.Trim(value, `"`)}
		}
	}
	if len(all) > 0 {
		made["attributes"] = all
	}
	return made
}

func wDevs(names ...string) []object {
	var all []object
	for _, name := range names {
		all = append(all, wDev(name))
	}
	return all
}

// many is devices d00, d01 and so on.
func many(count int) []object {
	var all []object
	for n := range count {
		all = append(all, wDev(fmt.Sprintf("d%02d", n)))
	}
	return all
}

// wSlice is a slice of a complete pool of one slice on n1; more may say otherwise.
func wSlice(name, pool string, devices []object, more ...object) object {
	spec := object{"driver": "d.ex", "pool": object{"name": pool, "generation": 1, "resourceSliceCount": 1}, "nodeName": "n1", "devices": devices}
	for _, one := range more {
		if one["allNodes"] != nil || one["perDeviceNodeSelection"] != nil {
			delete(spec, "nodeName")
		}
		if one["sharedCounters"] != nil {
			delete(spec, "devices")
		}
		for key, value := range one {
			if key == "count" {
				spec["pool"].(object)["resourceSliceCount"] = value
			} else if key == "generation" {
				spec["pool"].(object)["generation"] = value
			} else {
				spec[key] = value
			}
		}
	}
	return wObject("ResourceSlice", name, object{"spec": spec})
}

// wRequest asks for a number of devices of class c; count 0 asks for all.
func wRequest(name string, count int, more ...object) object {
	exactly := object{"deviceClassName": "c", "allocationMode": "ExactCount", "count": count}
	if count == 0 {
		exactly = object{"deviceClassName": "c", "allocationMode": "All"}
	}
	for _, one := range more {
		with(exactly, one)
	}
	return object{"name": name, "exactly": exactly}
}

// firstOf makes alternatives of requests.
func firstOf(name string, requests ...object) object {
	var all []object
	for _, request := range requests {
		all = append(all, with(request["exactly"].(object), object{"name": request["name"]}))
	}
	return object{"name": name, "firstAvailable": all}
}

func selects(expression string) object { return object{"selectors": []object{celSelector(expression)}} }

func wClaim(name string, requests ...object) object {
	made := wObject("ResourceClaim", name, object{"spec": object{"devices": object{"requests": requests}}})
	made["metadata"].(object)["namespace"] = "ns"
	return made
}

// under gives a claim constraints or configurations.
func under(claim object, key string, of ...object) object {
	claim["spec"].(object)["devices"].(object)[key] = of
	return claim
}

func wPod(name string, claims ...string) object {
	entries, uses := []object{}, []object{}
	for n, claim := range claims {
		entries = append(entries, object{"name": fmt.Sprintf("e%d", n), "resourceClaimName": claim})
		uses = append(uses, object{"name": fmt.Sprintf("e%d", n)})
	}
	container := object{"name": "c0", "image": "registry.example/app", "resources": object{"claims": uses}}
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "namespace": "ns", "uid": "uid-" + name, "labels": object{},
		"creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": object{"containers": []object{container}, "resourceClaims": entries},
		"status": object{"phase": "Pending"}}
}

// took gives a claim an allocation of devices of pool p for a node; a device may say more.
func took(claim object, node string, devices ...object) object {
	var results []object
	for _, device := range devices {
		results = append(results, with(object{"request": "r", "driver": "d.ex", "pool": "p"}, device))
	}
	requirement := object{"key": "metadata.name", "operator": "In", "values": []string{node}}
	allocation := object{"devices": object{"results": results}, "allocationTimestamp": "2020-01-01T00:00:00Z",
		"nodeSelector": object{"nodeSelectorTerms": []object{{"matchFields": []object{requirement}}}}}
	claim["status"] = object{"allocation": allocation}
	claim["metadata"].(object)["finalizers"] = []string{"resource.kubernetes.io/delete-protection"}
	return claim
}

func reserved(claim object, pods ...string) object {
	var all []object
	for _, pod := range pods {
		all = append(all, object{"resource": "pods", "name": pod, "uid": "uid-" + pod})
	}
	claim["status"].(object)["reservedFor"] = all
	return claim
}

// counters is amounts of counters; alternately a name and an amount.
func counters(of ...string) object {
	all := object{}
	for n := 0; n < len(of); n += 2 {
		all[of[n]] = object{"value": of[n+1]}
	}
	return all
}

func consumes(device object, set string, of ...string) object {
	return with(device, object{"consumesCounters": []object{{"counterSet": set, "counters": counters(of...)}}})
}

// shareable is a device that several claims may share, with one capacity mem; without an amount it has none.
func shareable(name, amount string, policy object) object {
	device := object{"name": name, "allowMultipleAllocations": true}
	if amount != "" {
		of := object{"value": amount}
		if policy != nil {
			of["requestPolicy"] = policy
		}
		device["capacity"] = object{"mem": of}
	}
	return device
}

func wantsMem(amount string) object {
	return object{"capacity": object{"requests": object{"mem": amount}}}
}

// workedCases are in the order of their file.
func workedCases() []workedCase {
	return slices.Concat(workedSearch(), workedSharing(), workedRest())
}

func makeWorked(i int) (any, error) {
	w := workedCases()[i]
	if w.config == nil {
		w.config = object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
	}
	made := &schedulingCase{Name: w.name, Config: raw(w.config), Objects: raws(w.objects), Pending: raws(w.pending), Ends: w.ends}
	if err := refusals(made.Objects); err != nil {
		return nil, fmt.Errorf("%s: %w", w.name, err)
	}
	if err := made.run(); err != nil {
		return nil, fmt.Errorf("%s: %w", w.name, err)
	}
	if !made.isStable("devices-worked") {
		return nil, fmt.Errorf("%s: %w", w.name, errChance)
	}
	return made, nil
}
