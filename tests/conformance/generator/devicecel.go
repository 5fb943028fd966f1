package main

// moreAttributes gives a device what selectors stumble over.
func (d *deviceDraw) moreAttributes(attributes object) {
	for _, key := range some(d.gen, 40, "healthy", "driverVersion", "family", "foreign", "speed") {
		switch key {
		case "healthy":
			attributes[key] = object{"bool": d.chance(60)}
		case "driverVersion":
			attributes[key] = object{"version": pick(d.gen, "1.0.0", "1.2.3", "2.0.0-beta.1", "10.0.0")}
		case "family":
			attributes[key] = pick(d.gen, object{"string": "f1"}, object{"int": 1})
		case "foreign":
			attributes["shared.ex/group"] = object{"string": pick(d.gen, "g1", "g2")}
		case "speed":
			attributes[key] = object{"int": pick(d.gen, 1, 100, -5, 9007199254740993)}
		}
	}
}

// expression draws a selector: of attributes, capacity and the driver, sometimes with faults.
func (d *deviceDraw) expression() string {
	if d.chance(8) {
		return pick(d.gen,
			`device.driver`, `device.attributes["gpu.ex"].size = "large"`, `nodevice == 1`, `size(device.driver)`, `device.unknown == 1`,
			`dyn(true)`, `device.attributes["gpu.ex"].healthy`)
	}
	return pick(d.gen,
		`device.attributes["gpu.ex"].healthy`,
		`device.attributes["gpu.ex"].?healthy.orValue(false)`,
		`has(device.attributes["gpu.ex"].healthy) && device.attributes["gpu.ex"].healthy`,
		`device.attributes[device.driver].numa == 0`,
		`device.attributes[device.driver].numa < 1`,
		`device.attributes["gpu.ex"].driverVersion.isGreaterThan(semver("1.1.0"))`,
		`has(device.attributes["gpu.ex"].driverVersion) && device.attributes["gpu.ex"].driverVersion.compareTo(semver("1.2.3")) >= 0`,
		`device.capacity[device.driver].memory.compareTo(quantity("20Gi")) >= 0`,
		`device.capacity[device.driver].memory.isGreaterThan(quantity("10Gi"))`,
		`device.capacity["unheard.of"].memory.isGreaterThan(quantity("10Gi"))`,
		`device.attributes["unheard.of"].size == "large"`,
		`"gpu.ex" in device.attributes`,
		`"shared.ex" in device.attributes && device.attributes["shared.ex"].group == "g1"`,
		`"family" in device.attributes[device.driver]`,
		`device.attributes[device.driver].?family.orValue("f0") == "f1"`,
		`device.attributes[device.driver].family == 1 || device.driver == "gpu.ex"`,
		`device.driver.startsWith("g") || device.attributes["nic.ex"].speed > 10`,
		`device.attributes[device.driver].?speed.orValue(0) >= 100`,
		`!(device.attributes[device.driver].model in ["m1"])`,
		`["m1", "m2"].exists(m, m == device.attributes[device.driver].model)`,
		`device.attributes[device.driver].model.matches("^m[12]$")`,
		`device.allowMultipleAllocations`,
		`!device.allowMultipleAllocations && device.attributes[device.driver].size == "small"`,
		`cel.bind(a, device.attributes[device.driver], a.size == "large" && a.numa == 1)`,
		`device.attributes.size() > 0`,
		`semver("1.0.0").isLessThan(semver("2.0.0"))`,
		`device.attributes[device.driver].size.upperAscii() == "LARGE"`,
	)
}
