package main

import (
	"fmt"
)

// devicePool is a pool while it is drawn: what claims that are allocated already point at.
type devicePool struct {
	driver, name string
	// node is where the pool is; empty when that is up to a selector or to each device.
	node    string
	devices []object
}

func (d *deviceDraw) drawPools() {
	drivers := pick(d.gen, []string{"gpu.ex"}, []string{"gpu.ex", "nic.ex"})
	absent := 15
	if d.mix.pools >= 40 {
		absent = 60
	}
	for n := range d.nodes {
		for _, driver := range drivers {
			if d.chance(absent) {
				continue
			}
			for p := range pick(d.gen, 1, 1, 1, 2) {
				name := nodeName(n)
				if p > 0 || d.chance(40) {
					name = fmt.Sprintf("%s-%s-%d", pick(d.gen, "p", "a", "z"), nodeName(n), p)
				}
				if kubernetesVersion == "" && d.mix.counters > 0 {
					// 1.36 takes counters of two drivers' pools of one name for those of one pool.
					name = fmt.Sprintf("%s-%.3s", name, driver)
				}
				d.drawPool(driver, name, nodeName(n))
			}
		}
	}
	if d.chance(d.mix.pools) || len(d.pools) == 0 {
		for range pick(d.gen, 1, 1, 2, 3) {
			d.drawPool(pick(d.gen, drivers...), fmt.Sprintf("net-%d", len(d.pools)), "")
		}
	}
}

// where is a choice of nodes as slices and devices have it.
func (d *deviceDraw) where() object {
	switch d.IntN(5) {
	case 0:
		return object{"nodeName": nodeName(d.IntN(len(d.nodes)))}
	case 1:
		return object{"allNodes": true}
	case 2:
		requirements := []object{{"key": zoneKey, "operator": "In", "values": []string{pick(d.gen, "z1", "z2")}}}
		if d.chance(50) {
			requirements = append(requirements, object{"key": "disktype", "operator": pick(d.gen, "In", "NotIn"), "values": []string{pick(d.gen, "ssd", "hdd")}})
		}
		return object{"nodeSelector": object{"nodeSelectorTerms": []object{{"matchExpressions": requirements}}}}
	case 3:
		requirement := object{"key": "disktype", "operator": "Exists"}
		if d.chance(60) {
			requirement = object{"key": "disktype", "operator": "In", "values": pick(d.gen, []string{"ssd"}, []string{"ssd", "hdd"}, []string{"hdd", "ssd"})}
		}
		return object{"nodeSelector": object{"nodeSelectorTerms": []object{{"matchExpressions": []object{requirement}}}}}
	}
	name := nodeName(d.IntN(len(d.nodes)))
	return object{"nodeSelector": object{"nodeSelectorTerms": []object{{"matchFields": []object{{"key": "metadata.name", "operator": "In", "values": []string{name}}}}}}}
}

func (d *deviceDraw) drawPool(driver, name, node string) {
	pool := &devicePool{driver: driver, name: name, node: node}
	d.pools = append(d.pools, pool)
	var sets []object
	if d.chance(d.mix.counters) {
		for s := range pick(d.gen, 1, 1, 2) {
			counters := object{"memory": object{"value": pick(d.gen, "8Gi", "16Gi")}, "lanes": object{"value": pick(d.gen, "2", "4", "7")}}
			sets = append(sets, object{"name": fmt.Sprintf("set-%d", s), "counters": counters})
		}
	}
	sliceCount := pick(d.gen, 1, 1, 1, 2, 2, 3)
	names := []string{"d0", "d1", "d2", "d3", "d4", "d5", "d6", "a", "z", "m", "d10", "b"}
	d.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	generation := 1
	if d.chance(d.mix.pools) {
		generation = 2
	}
	place, perDevice := object{"nodeName": node}, false
	if node == "" {
		place = d.where()
		if d.chance(35) {
			place, perDevice = object{"perDeviceNodeSelection": true}, true
		}
	}
	fault := ""
	if d.chance(d.mix.pools / 3) {
		fault = pick(d.gen, "missing", "twice", "older", "newer elsewhere", "one elsewhere", "unknown counter")
	}
	if fault == "twice" {
		sliceCount = max(2, sliceCount)
	}
	count := sliceCount + min(1, len(sets))
	if fault == "missing" || fault == "one elsewhere" {
		count++
	}
	spec := func(generation int, place object) object {
		made := object{"driver": driver, "pool": object{"name": name, "generation": generation, "resourceSliceCount": count}}
		for key, value := range place {
			made[key] = value
		}
		return made
	}
	for s := range sliceCount {
		of := spec(generation, place)
		devices := []object{}
		earlier := pool.devices
		for range pick(d.gen, 0, 1, 2, 2, 3, 4) {
			if len(names) == 0 {
				break
			}
			device := d.device(driver, names[0], sets)
			names = names[1:]
			if perDevice {
				for key, value := range d.where() {
					device[key] = value
				}
			}
			if node == "" && d.chance(30) {
				device["bindsToNode"] = true
			}
			devices = append(devices, device)
			pool.devices = append(pool.devices, device)
		}
		if fault == "twice" && s == sliceCount-1 && len(earlier) > 0 {
			again := copyOf(pick(d.gen, earlier...))
			devices = append(devices, again)
		}
		if fault == "unknown counter" && len(devices) > 0 {
			devices[0]["consumesCounters"] = []object{{"counterSet": "set-9", "counters": object{"memory": object{"value": "1Gi"}}}}
		}
		of["devices"] = devices
		d.slice(of)
	}
	if sets != nil {
		of := spec(generation, place)
		if perDevice {
			of = spec(generation, object{"allNodes": true})
		}
		of["sharedCounters"] = sets
		d.slice(of)
	}
	other := object{"nodeName": nodeName(d.IntN(len(d.nodes)))}
	switch fault {
	case "older":
		of := spec(generation-1, place)
		of["devices"] = []object{d.placed(d.device(driver, "old", nil), perDevice)}
		d.slice(of)
	case "newer elsewhere":
		of := spec(generation+1, other)
		of["pool"].(object)["resourceSliceCount"] = 1
		of["devices"] = []object{d.device(driver, "new", nil)}
		d.slice(of)
	case "one elsewhere":
		of := spec(generation, other)
		of["devices"] = []object{d.device(driver, pick(d.gen, "other", "d0"), nil)}
		d.slice(of)
	}
}

// placed gives a device a choice of nodes of its own when its slice wants that.
func (d *deviceDraw) placed(device object, perDevice bool) object {
	if perDevice {
		for key, value := range d.where() {
			device[key] = value
		}
	}
	return device
}

// slice adds a slice under a name whose order has nothing to do with the order in which slices are made.
func (d *deviceDraw) slice(spec object) {
	d.sliced++
	d.add("ResourceSlice", fmt.Sprintf("%s-slice-%02d", pick(d.gen, "a", "b", "c", "x"), d.sliced), "", object{"spec": spec})
}

func (d *deviceDraw) device(driver, name string, sets []object) object {
	attributes := object{
		"size":  object{"string": pick(d.gen, "small", "large")},
		"numa":  object{"int": d.between(0, 1)},
		"model": object{"string": pick(d.gen, "m1", "m2", "m3")},
	}
	if d.chance(d.mix.match) {
		switch d.IntN(5) {
		case 0:
			delete(attributes, "numa")
		case 1:
			attributes["numa"] = object{"string": pick(d.gen, "0", "1")}
		case 2:
			delete(attributes, "numa")
			attributes[driver+"/numa"] = object{"int": d.between(0, 1)}
		case 3:
			attributes["shared.ex/rack"] = pick(d.gen, object{"string": pick(d.gen, "r1", "r2")}, object{"bool": d.chance(50)}, object{"int": 1})
		}
		attributes["version"] = object{"version": pick(d.gen, "1.0.0", "1.0.0", "1.0.1", "1.0.0-rc1")}
	}
	if d.chance(d.mix.selectors) {
		d.moreAttributes(attributes)
	}
	capacity := object{"memory": object{"value": pick(d.gen, "10Gi", "20Gi", "40Gi")}}
	device := object{"name": name, "attributes": attributes, "capacity": capacity}
	if d.chance(d.mix.capacity) {
		d.consumable(device)
	}
	if len(sets) > 0 && d.chance(85) {
		var consumes []object
		for _, set := range some(d.gen, 60, sets...) {
			counters := object{}
			for _, counter := range some(d.gen, 70, "memory", "lanes") {
				if counter == "memory" {
					counters[counter] = object{"value": pick(d.gen, "2Gi", "4Gi", "5Gi", "8Gi")}
				} else {
					counters[counter] = object{"value": pick(d.gen, "1", "1", "2", "3")}
				}
			}
			if len(counters) > 0 {
				consumes = append(consumes, object{"counterSet": set["name"], "counters": counters})
			}
		}
		if consumes != nil {
			device["consumesCounters"] = consumes
		}
	}
	if d.chance(d.mix.taints) {
		var taints []object
		for range pick(d.gen, 1, 1, 2) {
			taints = append(taints, d.deviceTaint())
		}
		device["taints"] = taints
	}
	if d.chance(d.mix.conditions) {
		device["bindingConditions"] = pick(d.gen, []string{"ex.io/ready"}, []string{"ex.io/ready", "ex.io/attached"})
		device["bindingFailureConditions"] = []string{"ex.io/failed"}
		if d.chance(30) {
			device["bindsToNode"] = true
		}
	}
	return device
}

func (d *deviceDraw) deviceTaint() object {
	taint := object{"key": pick(d.gen, "ex.io/hot", "ex.io/broken"), "effect": pick(d.gen, "NoSchedule", "NoSchedule", "NoExecute", "None"),
		"timeAdded": "2026-01-01T00:00:00Z"}
	if value := pick(d.gen, "", "a", "b"); value != "" {
		taint["value"] = value
	}
	return taint
}

// taintRules are rules of 1.37, which 1.36 does not watch.
func (d *deviceDraw) taintRules() {
	for n := range pick(d.gen, 1, 1, 2) {
		selector := object{}
		pool := pick(d.gen, d.pools...)
		for _, key := range some(d.gen, 55, "driver", "pool", "device") {
			switch key {
			case "driver":
				selector[key] = pool.driver
			case "pool":
				selector[key] = pool.name
			case "device":
				selector[key] = pick(d.gen, "d0", "d1", "d2", "a", "z")
			}
		}
		spec := object{"taint": d.deviceTaint()}
		if len(selector) > 0 || d.chance(50) {
			spec["deviceSelector"] = selector
		}
		if kubernetesVersion != "" {
			d.add("DeviceTaintRule", fmt.Sprintf("rule-%d", n), "", object{"spec": spec})
		}
	}
}

// consumable lets several claims share a device.
func (d *deviceDraw) consumable(device object) {
	if d.chance(15) {
		delete(device, "capacity")
		device["allowMultipleAllocations"] = true
		return
	}
	capacity := device["capacity"].(object)
	if d.chance(30) {
		capacity["lanes"] = object{"value": pick(d.gen, "6", "8", "2k")}
	}
	if d.chance(20) {
		return
	}
	device["allowMultipleAllocations"] = true
	d.policy(capacity["memory"].(object), []string{"1Gi", "2Gi", "4Gi", "6Gi", "10Gi"})
	if lanes, ok := capacity["lanes"].(object); ok {
		d.policy(lanes, []string{"1", "2", "3", "4", "6"})
	}
}

// policy says how much of a capacity a request takes; amounts are five, the smaller first.
func (d *deviceDraw) policy(of object, amounts []string) {
	switch d.IntN(5) {
	case 0:
		of["requestPolicy"] = object{"default": amounts[d.IntN(3)]}
	case 1:
		values := append([]string{amounts[1]}, some(d.gen, 60, amounts[2:]...)...)
		of["requestPolicy"] = object{"default": amounts[1], "validValues": values}
	case 2:
		span := object{"min": amounts[0]}
		if d.chance(60) {
			span["max"] = amounts[d.between(3, 4)]
		}
		of["requestPolicy"] = object{"default": amounts[d.IntN(2)], "validRange": span}
	case 3:
		span := object{"min": amounts[1], "step": amounts[1]}
		if d.chance(70) {
			span["max"] = amounts[3]
		}
		of["requestPolicy"] = object{"default": amounts[1], "validRange": span}
	}
}
