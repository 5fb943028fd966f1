package main

// workedSharing are cases of taints, admin access, shared devices, scores, selectors and results.
func workedSharing() []workedCase {
	x := func(requests ...object) object { return wClaim("x", requests...) }
	y := func(requests ...object) object { return wClaim("y", requests...) }
	pod := func(claims ...string) object {
		if claims == nil {
			claims = []string{"x"}
		}
		return wPod("a", claims...)
	}
	one := func() object { return wSlice("s1", "p", wDevs("d1", "d2")) }
	taint := func(effect string) object {
		return object{"taints": []object{{"key": "k", "value": "v", "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"}}}
	}
	tolerates := object{"tolerations": []object{{"key": "k", "operator": "Exists", "tolerationSeconds": 1}}}
	admin := object{"adminAccess": true}
	tainted := func(effect string) object {
		return wSlice("s1", "p", []object{with(wDev("d1"), taint(effect)), wDev("d2")})
	}
	mem := func(of ...object) object { return wSlice("s1", "p", of) }
	span := object{"default": "2", "validRange": object{"min": "2", "max": "6", "step": "2"}}
	values := object{"default": "1", "validValues": []string{"1", "2", "4"}}
	steps := object{"default": "1", "validRange": object{"min": "1", "step": "1"}}
	half := object{"default": "500m", "validRange": object{"min": "500m", "step": "500m"}}
	ask := func(name, amount string, devices ...object) workedCase {
		request := wRequest("r", 1)
		if amount != "" {
			request = wRequest("r", 1, wantsMem(amount))
		}
		return worked(name, mem(devices...), x(request), pod())
	}
	shared := func(share, amount string) object {
		made := object{"device": "d1", "shareID": "00000000-0000-0000-0000-00000000000" + share}
		if amount != "" {
			made["consumedCapacity"] = object{"mem": amount}
		}
		return made
	}
	ten := shareable("d1", "10Gi", nil)
	four := wRequest("r", 1, wantsMem("4Gi"))
	all := []workedCase{
		worked("case-23", tainted("NoSchedule"), x(wRequest("r", 1)), pod()),
		worked("case-23-tolerated", tainted("NoSchedule"), x(wRequest("r", 1, tolerates)), pod()),
		worked("case-23-none", tainted("None"), x(wRequest("r", 1)), pod()),
		worked("case-25", one(), x(wRequest("r", 1, admin)), y(wRequest("r", 1)), pod("x", "y")),
		worked("case-25-reversed", one(), x(wRequest("r", 1, admin)), y(wRequest("r", 1)), pod("y", "x")),
		worked("case-25-one-claim", one(), x(wRequest("r0", 1, admin), wRequest("r1", 1, admin)), pod()),
		worked("case-25-two-claims", one(), x(wRequest("r", 1, admin)), y(wRequest("r", 1, admin)), pod("x", "y")),
		worked("case-26-whole", mem(ten), x(wRequest("r", 1)), y(wRequest("r", 1)), pod("x", "y")),
		worked("case-26", mem(ten), x(four), y(four), pod("x", "y")),
		worked("case-26-third", mem(ten), x(four), y(four), wClaim("z", four), pod("x", "y", "z")),
		worked("case-26-twice", mem(ten), x(wRequest("r", 2, wantsMem("4Gi"))), pod()),
		ask("case-27-1", "1", shareable("d1", "10", span)), ask("case-27-3", "3", shareable("d1", "10", span)),
		ask("case-27-none", "", shareable("d1", "10", span)), ask("case-27-7", "7", shareable("d1", "10", span)),
		ask("case-27-values-3", "3", shareable("d1", "10", values)), ask("case-27-values-5", "5", shareable("d1", "10", values)),
		ask("case-28-2000", "2000", shareable("d1", "1M", steps)), ask("case-28-1024", "1024", shareable("d1", "1M", steps)),
		ask("case-29", "1200m", shareable("d1", "10", half)),
	}
	usedUp := func() []object {
		return []object{mem(shareable("d1", "1", nil), shareable("d2", "1", nil)), took(y(wRequest("r", 1)), "n1", shared("1", "1"))}
	}
	charged := func(device object) []object {
		return []object{wSlice("s0", "p", nil, object{"sharedCounters": []object{{"name": "cs", "counters": counters("n", "1")}}, "count": 2}),
			wSlice("s1", "p", []object{consumes(device, "cs", "n", "1")}, object{"count": 2})}
	}
	all = append(all,
		worked("case-31", usedUp(), x(wRequest("r", 0, wantsMem("1"))), pod()),
		worked("case-31-small", mem(shareable("d1", "1", nil), shareable("d2", "4", nil)), x(wRequest("r", 0, wantsMem("2"))), pod()),
		worked("case-32", charged(shareable("d1", "", nil)), x(wRequest("r", 1)), y(wRequest("r", 1)), pod("x", "y")),
		worked("case-32-later", charged(shareable("d1", "", nil)), took(y(wRequest("r", 1)), "n1", shared("1", "")), x(wRequest("r", 1)), pod()),
		worked("case-32-with-room", charged(shareable("d1", "10", nil)), took(y(wRequest("r", 1)), "n1", shared("1", "2")), x(wRequest("r", 1, wantsMem("2"))), pod()))
	sized := func(name string) object { return selects(`device.attributes["d.ex"].size == "` + name + `"`) }
	on := func(node string, devices ...object) object {
		return wSlice("s"+node, node, devices, object{"nodeName": node})
	}
	s, b, c := wDev("s", "size=small"), wDev("b", "size=big"), wDev("c", "size=mid")
	kinds := func(claim string, sizes ...string) object {
		var of []object
		for _, size := range sizes {
			of = append(of, wRequest(size, 1, sized(size)))
		}
		return wClaim(claim, firstOf("r", of...))
	}
	model := selects(`device.attributes["d.ex"].model == "x"`)
	models := func() object { return wSlice("s1", "p", []object{wDev("d1", "model=x"), wDev("d2")}) }
	listed := func() object {
		device := wDev("d1")
		device["attributes"] = object{"n": object{"int": 1}}
		return wSlice("s1", "p", []object{device})
	}
	all = append(all,
		worked("case-33", wNode("n1"), wNode("n2"), on("n1", s), on("n2", b), kinds("x", "big", "small"), pod()),
		worked("case-34", wNode("n1"), wNode("n2"), wNode("n3"), on("n1", s, s2("s2", "small")), on("n2", b, s2("b2", "big")), on("n3", c, s2("c2", "mid")),
			kinds("x", "small", "big", "mid"), kinds("y", "big", "mid", "small"), pod("x", "y")),
		worked("case-35", models(), took(y(wRequest("r", 1)), "n1", object{"device": "d1"}), x(wRequest("r", 1, model)), pod()),
		worked("case-35-free", models(), took(y(wRequest("r", 1)), "n1", object{"device": "d2"}), x(wRequest("r", 1, model)), pod()),
		worked("case-35-all", models(), took(y(wRequest("r", 1)), "n1", object{"device": "d2"}), x(wRequest("r", 0, model)), pod()),
		worked("case-36", listed(), x(wRequest("r", 1, selects(`device.attributes["d.ex"].n.exists(v, v == 1)`))), pod()),
		worked("case-36-dyn", listed(), x(wRequest("r", 1, selects(`dyn(true)`))), pod()),
		worked("case-37", wSlice("s1", "p", wDevs("d1"), object{"allNodes": true}), x(wRequest("r", 1)), pod()),
		worked("case-37-binds", wSlice("s1", "p", []object{with(wDev("d1"), object{"bindsToNode": true})}, object{"allNodes": true}), x(wRequest("r", 1)), pod()))
	opaque := func(of string, requests ...string) object {
		made := object{"opaque": object{"driver": "d.ex", "parameters": object{"of": of}}}
		if requests != nil {
			made["requests"] = requests
		}
		return made
	}
	configured := func() object {
		return with(wClass("c"), object{"spec": object{"config": []object{{"opaque": object{"driver": "d.ex", "parameters": object{"of": "class"}}}}}})
	}
	var names []string
	var requests []object
	for _, device := range many(32) {
		names = append(names, "r"+device["name"].(string))
		requests = append(requests, wRequest("r"+device["name"].(string), 1))
	}
	all = append(all,
		worked("case-38", one(), under(x(wRequest("r0", 1), wRequest("r1", 1)), "config", opaque("claim", "r0", "r1")), pod()),
		worked("case-38-part", one(), under(x(wRequest("r0", 1), wRequest("r1", 1)), "config", opaque("first", "r0"), opaque("second", "r1"), opaque("third")), pod()),
		worked("case-38-class", configured(), one(), x(wRequest("r", 1)), pod()),
		worked("case-38-classes", configured(), wClass("other"), one(), x(wRequest("r0", 1), wRequest("r1", 1, object{"deviceClassName": "other"})), pod()),
		worked("case-38-alternative", configured(), one(), under(x(firstOf("r0", wRequest("s0", 3), wRequest("s1", 1)), wRequest("r1", 1)), "config",
			opaque("parent", "r0"), opaque("taken", "r0/s1"), opaque("left", "r0/s0"), opaque("both", "r0/s1", "r1")), pod()),
		worked("case-38-many", wSlice("s1", "p", many(32)), under(x(requests...), "config", opaque("a", names...), opaque("b", names...), opaque("c", names...)), pod()))
	if kubernetesVersion == "" {
		return all
	}
	rule := func(spec object) object {
		return wObject("DeviceTaintRule", "rule", object{"spec": with(spec, object{"taint": taint("NoSchedule")["taints"].([]object)[0]})})
	}
	huge := "18446744073709551616"
	return append(all,
		worked("case-24", one(), rule(object{"deviceSelector": object{"driver": "d.ex"}}), x(wRequest("r", 1)), pod()),
		worked("case-24-one", one(), rule(object{"deviceSelector": object{"driver": "d.ex", "pool": "p", "device": "d1"}}), x(wRequest("r", 1)), pod()),
		worked("case-24-every", one(), rule(object{"deviceSelector": object{}}), x(wRequest("r", 1)), pod()),
		worked("case-24-without", one(), rule(object{}), x(wRequest("r", 1)), pod()),
		ask("case-30", huge, shareable("d1", "1M", steps)),
		ask("case-30-second", huge, shareable("d1", "1M", steps), shareable("d2", "100E", nil)),
		worked("case-36-list", wSlice("s1", "p", []object{{"name": "d1", "attributes": object{"l": object{"ints": []int{1}}}}}),
			x(wRequest("r", 1, selects(`device.attributes["d.ex"].l.exists(v, v == 1)`))), pod()))
}

// s2 is another device of a size.
func s2(name, size string) object { return wDev(name, "size="+size) }
