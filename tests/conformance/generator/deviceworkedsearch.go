package main

// workedSearch are cases of the search for devices: order, constraints, All, alternatives, pools.
func workedSearch() []workedCase {
	x := func(requests ...object) object { return wClaim("x", requests...) }
	pod := func(claims ...string) object {
		if claims == nil {
			claims = []string{"x"}
		}
		return wPod("a", claims...)
	}
	one := wSlice("s1", "p", wDevs("d1", "d2"))
	sizes := func() object {
		return wSlice("s1", "p", []object{wDev("large", "size=large"), wDev("small", "size=small")})
	}
	numas := func(key string) object {
		return wSlice("s1", "p", []object{wDev("d1", key+"=0"), wDev("d2", key+"=1"), wDev("d3", key+"=1")})
	}
	match := func(claim object) object { return under(claim, "constraints", object{"matchAttribute": "d.ex/numa"}) }
	distinct := func(claim object) object {
		return under(claim, "constraints", object{"distinctAttribute": "d.ex/color"})
	}
	colors := func() object {
		return wSlice("s1", "p", []object{wDev("d1", "color=red"), wDev("d2", "color=blue"), wDev("d3", "color=red")})
	}
	waits := func(name string) object {
		return object{"name": name, "bindingConditions": []string{"ex.io/ready"}, "bindingFailureConditions": []string{"ex.io/failed"}}
	}
	none := selects("false")
	half := func(devices ...string) object { return wSlice("s1", "p", wDevs(devices...), object{"count": 2}) }
	mem := func(set string) object {
		return object{"sharedCounters": []object{{"name": set, "counters": counters("mem", "8")}}, "count": 2}
	}
	all := []workedCase{
		worked("case-1", wSlice("s1", "node-2", wDevs("a")), wSlice("s2", "node-10", wDevs("b")), x(wRequest("r", 2)), pod()),
		worked("case-2", wSlice("s2", "p", wDevs("a"), object{"count": 2}), wSlice("s1", "p", wDevs("z", "b"), object{"count": 2}), x(wRequest("r", 1)), pod()),
		worked("case-3-one", wSlice("s1", "a", []object{wDev("a1"), waits("a2")}), wSlice("s2", "b", wDevs("b1")), x(wRequest("r", 1)), pod()),
		worked("case-3-three", wSlice("s1", "a", []object{wDev("a1"), waits("a2")}), wSlice("s2", "b", wDevs("b1")), x(wRequest("r", 3)), pod()),
		worked("case-4", sizes(), x(wRequest("r0", 1), wRequest("r1", 1, selects(`device.attributes["d.ex"].size == "large"`))), pod()),
		worked("case-5", one, wClaim("x", wRequest("r", 1)), wClaim("y", wRequest("r", 1)), pod("y", "x")),
		worked("case-6", numas("numa"), match(x(wRequest("r", 2))), pod()),
		worked("case-6-qualified", numas("d.ex/numa"), match(x(wRequest("r", 2))), pod()),
		worked("case-6-foreign", wSlice("s1", "p", []object{wDev("d2", "numa=1"), wDev("d3", "numa=1")}, object{"driver": "e.ex"}), match(x(wRequest("r", 2))), pod()),
		worked("case-6-types", wSlice("s1", "p", []object{wDev("d1", "numa=1"), wDev("d2", `numa="1"`)}), match(x(wRequest("r", 2))), pod()),
		worked("case-7", numas("numa"), match(x(wRequest("r", 0))), pod()),
		worked("case-8-one", colors(), distinct(x(wRequest("r", 3))), pod()),
		worked("case-8-three", colors(), distinct(x(wRequest("r0", 1), wRequest("r1", 1), wRequest("r2", 1))), pod()),
		worked("case-9", one, took(wClaim("y", wRequest("r", 1)), "n1", object{"device": "d1"}), x(wRequest("r", 0)), pod()),
		worked("case-9-admin", one, took(wClaim("y", wRequest("r", 1)), "n1", object{"device": "d1"}), x(wRequest("r", 0, object{"adminAccess": true})), pod()),
		worked("case-10", wSlice("s1", "p", many(40)), x(wRequest("r", 33)), pod()),
		worked("case-10-all", wSlice("s1", "p", many(33)), x(wRequest("r", 0)), pod()),
		worked("case-11", wSlice("s1", "p", many(40)), x(wRequest("r0", 20), wRequest("r1", 20)), pod()),
		worked("case-11-incomplete", half("d1"), x(wRequest("r0", 40), wRequest("r1", 0)), pod()),
		worked("case-12", one, x(firstOf("r", wRequest("a", 0, none), wRequest("b", 1))), pod()),
		worked("case-12-all", one, x(wRequest("r", 0, none)), pod()),
		worked("case-13", wSlice("s1", "p", many(40)), x(wRequest("r0", 20), firstOf("r1", wRequest("s0", 20), wRequest("s1", 12))), pod()),
		worked("case-14", half("d1"), x(wRequest("r", 1)), pod()),
		worked("case-14-all", half("d1"), x(wRequest("r", 0)), pod()),
	}
	two := []object{wNode("n1"), wNode("n2")}
	newer := wSlice("s3", "p", wDevs("d3"), object{"nodeName": "n2", "generation": 2})
	second := wSlice("s2", "p", wDevs("d2"), object{"count": 2})
	all = append(all,
		worked("case-15", two, half("d1"), newer, x(wRequest("r", 1)), pod()),
		worked("case-15-all", half("d1"), newer, x(wRequest("r", 0)), pod()),
		worked("case-15-both", two, half("d1"), second, newer, x(wRequest("r", 1)), pod()),
		worked("case-15-both-all", two, half("d1"), second, newer, x(wRequest("r", 0)), pod()))
	twice := []object{half("dev"), wSlice("s2", "p", wDevs("dev"), object{"count": 2})}
	all = append(all,
		worked("case-16", twice, x(wRequest("r", 1)), pod()),
		worked("case-16-other", twice, wSlice("s3", "q", wDevs("free")), x(wRequest("r", 1)), pod()),
		worked("case-16-all", twice, x(wRequest("r", 0)), pod()))
	// 1.36 sees counters of every node, so which node comes first decides; n1 does.
	foreign := wSlice("s3", "n2", nil, mem("cs"), object{"nodeName": "n2"})
	all = append(all,
		worked("case-17", two, one, foreign, x(wRequest("r", 1)), pod()),
		worked("case-17-all", two, one, foreign, x(wRequest("r", 0)), pod()),
		worked("case-17-n1", one, foreign, x(wRequest("r", 0)), pod()),
		worked("case-18", two, wSlice("s1", "n2", nil, mem("cs"), object{"nodeName": "n2"}), wSlice("s2", "n2", nil, mem("cs"), object{"nodeName": "n2"}), x(wRequest("r", 1)), pod()))
	budget := func() []object {
		return []object{wSlice("s0", "p", nil, mem("cs")), wSlice("s1", "p", []object{consumes(wDev("d1"), "cs", "mem", "5"),
			consumes(wDev("d2"), "cs", "mem", "4"), consumes(wDev("d3"), "cs", "mem", "4")}, object{"count": 2})}
	}
	overdrawn := func(devices ...object) []object {
		sets := []object{{"name": "s1", "counters": counters("mem", "18")}, {"name": "s2", "counters": counters("mem", "10")}}
		return []object{wSlice("s0", "p", nil, object{"sharedCounters": sets, "count": 2}), wSlice("s1", "p", devices, object{"count": 2}),
			took(wClaim("y", wRequest("r", 1)), "n1", object{"device": "d2"})}
	}
	all = append(all,
		worked("case-19-one", budget(), x(wRequest("r", 1)), pod()),
		worked("case-19-two", budget(), x(wRequest("r", 2)), pod()),
		worked("case-20", overdrawn(consumes(wDev("d1"), "s2", "mem", "1"), consumes(wDev("d2"), "s1", "mem", "20"), wDev("d3")), x(wRequest("r", 1)), pod()),
		worked("case-20-gone", overdrawn(consumes(wDev("d1"), "s2", "mem", "1"), wDev("d3")), x(wRequest("r", 1)), pod()))
	if kubernetesVersion == "" {
		return all
	}
	// What 1.36 does with two drivers' pools of one name, and with fields that it does not know, is its own.
	side := func(driver, amount, device string) []object {
		of := object{"driver": driver, "count": 2}
		set := object{"sharedCounters": []object{{"name": "cs", "counters": counters("mem", amount)}}}
		return []object{wSlice("s0"+driver, "n1", nil, of, set), wSlice("s1"+driver, "n1", []object{consumes(wDev(device), "cs", "mem", "4")}, of)}
	}
	ofDriver := func(driver string) object { return selects(`device.driver == "` + driver + `"`) }
	grouped := consumes(wDev("d1"), "cs", "mem", "1")
	grouped["consumesCounters"].([]object)[0]["compatibilityGroups"] = []string{"mig"}
	mixed := func() []object {
		return []object{wSlice("s0", "p", nil, mem("cs"), object{"count": 3}), wSlice("s1", "p", []object{grouped}, object{"count": 3}),
			wSlice("s2", "p", wDevs("d2"), object{"count": 3})}
	}
	return append(all,
		worked("case-21", side("a.ex", "8", "a1"), side("b.ex", "2", "b1"), x(wRequest("r0", 1, ofDriver("a.ex")), wRequest("r1", 1, ofDriver("b.ex"))), pod()),
		worked("case-21-b", side("a.ex", "8", "a1"), side("b.ex", "2", "b1"), x(wRequest("r1", 1, ofDriver("b.ex"))), pod()),
		worked("case-22", mixed(), x(wRequest("r", 1)), pod()),
		worked("case-22-all", mixed(), x(wRequest("r", 0)), pod()))
}
