package main

// workedRest are cases of claims that are allocated already, of names, writes and extended resources.
func workedRest() []workedCase {
	x := func() object { return wClaim("x", wRequest("r", 1)) }
	pod := func(name string, claims ...string) object { return wPod(name, claims...) }
	one := func() object { return wSlice("s1", "p", wDevs("d1", "d2")) }
	d1 := object{"device": "d1"}
	cordoned := func() object {
		return with(wNode("n2"), object{"spec": object{"unschedulable": true, "taints": []object{{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}}}})
	}
	onN2 := func() object { return wSlice("s2", "p2", wDevs("d1"), object{"nodeName": "n2"}) }
	y := func() object { return wClaim("y", wRequest("r", 3)) }
	full := func() object {
		made := wNode("n1")
		made["status"].(object)["allocatable"] = object{"cpu": "0", "memory": "8Gi", "pods": "10"}
		return made
	}
	plain := pod("a")
	plain["spec"].(object)["containers"].([]object)[0]["resources"] = object{"requests": object{"cpu": "1"}}
	unknown := wClaim("x", wRequest("r", 1, object{"deviceClassName": "missing"}))
	unheard := wClaim("x", firstOf("r", wRequest("s0", 1), wRequest("s1", 1, object{"deviceClassName": "missing"})))
	state := func(claim object, kind, status string) object {
		claim["status"].(object)["devices"] = []object{{"driver": "d.ex", "pool": "p", "device": "d1", "conditions": []object{
			{"type": kind, "status": status, "reason": "R", "message": "M", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}}
		return claim
	}
	waiting := object{"device": "d1", "bindingConditions": []string{"ex.io/ready"}, "bindingFailureConditions": []string{"ex.io/failed"}}
	deep := object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": []object{{
		"schedulerName": "default-scheduler", "pluginConfig": []object{arguments("DynamicResources", object{"filterTimeout": "10ms"})}}}}
	all := []workedCase{
		worked("case-39", wNode("n1"), cordoned(), one(), onN2(), took(x(), "n2", object{"device": "d1", "pool": "p2"}), pod("a", "x")),
		worked("case-39-second", wNode("n1"), cordoned(), one(), onN2(), took(x(), "n2", object{"device": "d1", "pool": "p2"}), y(), pod("a", "x", "y")),
		worked("case-39-reserved", wNode("n1"), cordoned(), one(), onN2(), reserved(took(x(), "n2", object{"device": "d1", "pool": "p2"}), "other"), pod("a", "x")),
		worked("case-39-own", wNode("n1"), cordoned(), one(), onN2(), reserved(took(x(), "n2", object{"device": "d1", "pool": "p2"}), "a"), pod("a", "x")),
		worked("case-40", one(), x(), pod("a", "x"), pod("b", "x")),
		worked("case-40-class", one(), unknown, pod("a", "x")),
		worked("case-40-subclass", one(), unheard, pod("a", "x")),
		worked("case-40-claim", one(), pod("a", "x")),
		worked("case-41", full(), plain),
		worked("case-43", one(), reserved(state(took(x(), "n1", waiting), "ex.io/failed", "True"), "a"), pod("a", "x")),
		worked("case-43-ready", one(), reserved(state(took(x(), "n1", waiting), "ex.io/ready", "True"), "a"), pod("a", "x")),
		worked("case-43-timeout", one(), reserved(took(x(), "n1", waiting), "a"), pod("a", "x")),
		worked("case-44", one(), reserved(took(x(), "n1", d1), "other"), pod("a", "x")),
		worked("case-46", deep, wNode("n1"), wSlice("s1", "p", many(20)), wClaim("x", wRequest("r", 21)), pod("a", "x")),
		worked("case-50", one(), x(), pod("a", "x", "x")),
	}
	backed := func(name, created string) object {
		made := wClass(name)
		made["metadata"].(object)["creationTimestamp"] = created
		made["spec"].(object)["extendedResourceName"] = "e.ex/gpu"
		return made
	}
	wants := func(container object, amount string, more object) object {
		requests := with(object{"e.ex/gpu": amount}, more)
		container["resources"] = object{"requests": requests, "limits": object{"e.ex/gpu": amount}}
		return container
	}
	container := func(name string) object { return object{"name": name, "image": "registry.example/app"} }
	extended := func(inits ...object) object {
		made := pod("a")
		spec := made["spec"].(object)
		spec["containers"] = []object{wants(container("c0"), "1", object{"cpu": "100m"})}
		if inits != nil {
			spec["initContainers"] = inits
		}
		delete(spec, "resourceClaims")
		return made
	}
	left := func(reserving bool) object {
		made := wClaim("left", wRequest("container-0-request-0", 1))
		metadata := made["metadata"].(object)
		metadata["annotations"] = object{"resource.kubernetes.io/extended-resource-claim": "true"}
		metadata["ownerReferences"] = []object{{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "uid-a", "controller": true}}
		if reserving {
			took(made, "n1", object{"device": "d1", "request": "container-0-request-0"})
		}
		return made
	}
	three := func() object { return wSlice("s1", "p", wDevs("d1", "d2", "d3")) }
	c := func() object { return backed("c", "2026-01-01T00:00:00Z") }
	device := func(amount string) object {
		made := wNode("n1")
		made["status"].(object)["allocatable"].(object)["e.ex/gpu"] = amount
		return made
	}
	sidecar := func(name string) object { return with(container(name), object{"restartPolicy": "Always"}) }
	both := extended()
	both["spec"].(object)["resourceClaims"] = []object{{"name": "e0", "resourceClaimName": "x"}}
	all = append(all,
		worked("case-47", three(), c(), extended(wants(container("i0"), "2", nil))),
		worked("case-47-sidecar", three(), c(), extended(wants(sidecar("i0"), "1", nil), wants(container("i1"), "2", object{"memory": "1Mi"}))),
		worked("case-47-two", wSlice("s1", "p", many(5)), c(), extended(wants(container("i0"), "3", nil), wants(container("i1"), "4", object{"cpu": "1"}))),
		worked("case-47-device-plugin", device("1"), c(), extended()),
		worked("case-47-zero", device("0"), three(), c(), extended()),
		worked("case-47-nodes", device("1"), wNode("n2"), wSlice("s1", "p", wDevs("d1"), object{"nodeName": "n2"}), c(), extended()),
		worked("case-47-claims", three(), c(), x(), both),
		worked("case-47-claims-plugin", device("1"), three(), c(), x(), copyOf(both)),
		worked("case-48", three(), backed("c1", "2026-01-01T00:00:00Z"), backed("c2", "2026-01-02T00:00:00Z"), extended()),
		worked("case-48-same-time", three(), backed("c2", "2026-01-01T00:00:00Z"), backed("c1", "2026-01-01T00:00:00Z"), extended()),
		worked("case-49", three(), c(), left(false), extended()),
		worked("case-49-allocated", three(), c(), left(true), extended()))
	elsewhere := func() object { return took(x(), "n2", object{"device": "d1", "pool": "p2"}) }
	return append(all,
		worked("", one(), x(), pod("a", "x")).through("case-1-bound", "bound"),
		worked("", one(), x(), pod("a", "x")).through("case-1-conflict", "conflict"),
		worked("", one(), x(), pod("a", "x"), pod("b", "x")).through("case-1-forbidden", "forbidden", "bound"),
		worked("", one(), x(), pod("a", "x"), pod("b", "x")).through("case-1-unreserved", "unreserved", "bound"),
		worked("", wNode("n1"), cordoned(), one(), onN2(), elsewhere(), pod("a", "x"), pod("a", "x")).through("case-39-again", "bound", "bound"),
		worked("", one(), x(), pod("a", "x"), pod("b", "x")).through("case-40-bound", "bound", "bound"),
		worked("", one(), x(), pod("a", "x"), pod("b", "x")).through("case-40-failed", "failed", "bound"),
		worked("", one(), reserved(took(x(), "n1", d1), "other"), pod("a", "x")).through("case-44-bound", "bound"),
		worked("", three(), c(), extended(wants(container("i0"), "2", nil))).through("case-47-bound", "bound"),
		worked("", three(), c(), extended()).through("case-47-failed", "failed"),
		worked("", three(), c(), extended()).through("case-47-forbidden", "forbidden"),
		worked("", device("1"), c(), extended()).through("case-47-device-plugin-bound", "bound"),
		worked("", three(), c(), x(), copyOf(both)).through("case-47-claims-bound", "bound"),
		worked("", device("1"), three(), c(), x(), copyOf(both)).through("case-47-claims-plugin-bound", "bound"),
		worked("", three(), c(), left(true), extended(), extended()).through("case-49-again", "bound", "bound"),
		worked("", one(), x(), pod("a", "x", "x")).through("case-50-bound", "bound"))
}
