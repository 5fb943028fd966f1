package main

import "fmt"

func (g gen) pod(family, name string, i int) object {
	labels := object{"app": pick(g, "web", "db", "cache", "batch")}
	if g.chance(30) {
		labels["tier"] = pick(g, "gold", "silver", "bronze")
	}
	spec := object{}
	var containers []object
	for c := range pick(g, 1, 1, 2, 2, 3) {
		containers = append(containers, g.container(family, fmt.Sprintf("c%d", c)))
	}
	spec["containers"] = containers
	wide := family == "resources" || family == "strategies" || family == "hints"
	if wide && g.chance(35) || g.chance(8) {
		var inits []object
		for c := range g.between(1, 3) {
			init := g.container(family, fmt.Sprintf("i%d", c))
			if g.chance(40) {
				init["restartPolicy"] = "Always"
			}
			inits = append(inits, init)
		}
		spec["initContainers"] = inits
	}
	if wide && g.chance(12) {
		spec["overhead"] = g.someRequests(60)
	}
	if wide && g.chance(12) {
		spec["resources"] = object{"requests": g.podLevel()}
	}
	if family == "taints" || g.chance(10) {
		var all []object
		for range pick(g, 0, 1, 1, 2, 3, 4) {
			all = append(all, g.toleration())
		}
		if all != nil {
			spec["tolerations"] = all
		}
	}
	if family == "nodeaffinity" || g.chance(5) {
		g.affinity(spec)
	}
	if family == "images" && g.chance(15) {
		spec["volumes"] = []object{{"name": "v", "image": object{"reference": pick(g, imageNames...)}}}
	}
	if g.chance(10) {
		spec["priority"] = 0
	}
	return object{
		"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": object{"phase": "Pending"},
		"metadata": object{
			"name": name, "namespace": "default", "labels": labels, "uid": "uid-" + name,
			"creationTimestamp": fmt.Sprintf("2026-01-01T%02d:%02d:00Z", i/60, i%60),
		},
	}
}

func (g gen) container(family, name string) object {
	image := pick(g, imageNames[:4]...)
	if family == "images" {
		image = pick(g, imageNames...)
		if g.chance(5) {
			image = pick(g, "", "unheard-of", "a/b:c@sha256:1")
		}
	}
	container := object{"name": name, "image": image}
	requests := object{}
	if g.chance(80) {
		requests["cpu"] = pick(g, "100m", "250m", "500m", "1", "1500m", "2", "3500m")
	}
	if g.chance(75) {
		requests["memory"] = pick(g, "64Mi", "128Mi", "256Mi", "512Mi", "1Gi", "1500M", "2Gi", "6Gi")
	}
	if g.chance(15) {
		requests["ephemeral-storage"] = pick(g, "1Gi", "10Gi")
	}
	limits := object{}
	if family == "resources" || family == "strategies" || family == "hints" {
		for key, value := range g.someRequests(12) {
			requests[key] = value
		}
		for _, key := range some(g, 25, "nvidia.com/gpu", "example.com/widget") {
			requests[key] = fmt.Sprint(g.between(0, 4))
			limits[key] = requests[key]
		}
	}
	if family == "extenders" {
		for _, key := range some(g, 30, "nvidia.com/gpu", "example.com/widget") {
			requests[key], limits[key] = "1", "1"
		}
	}
	resources := object{}
	if len(requests) > 0 {
		resources["requests"] = requests
	}
	if len(limits) > 0 {
		resources["limits"] = limits
	}
	if len(resources) > 0 {
		container["resources"] = resources
	}
	if family == "ports" && g.chance(55) || g.chance(4) {
		var ports []object
		for range pick(g, 1, 1, 2, 3) {
			ports = append(ports, g.port())
		}
		container["ports"] = ports
	}
	return container
}

func (g gen) port() object {
	port := object{"containerPort": pick(g, 80, 9090)}
	if g.chance(85) {
		port["hostPort"] = pick(g, 80, 80, 443, 8080, 9090, 0)
	}
	if protocol := pick(g, "TCP", "UDP", "SCTP", ""); protocol != "" {
		port["protocol"] = protocol
	}
	if g.chance(45) {
		port["hostIP"] = pick(g, "0.0.0.0", "127.0.0.1", "10.0.0.1", "::", "::1", "")
	}
	return port
}

// someRequests are quantities in every spelling and size.
func (g gen) someRequests(percent int) object {
	all := object{}
	for _, name := range some(g, percent, "cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "other.example/part") {
		switch name {
		case "cpu":
			all[name] = pick(g, "0", "1m", "1u", "0.1", "1.0001", "100n", "1e1", "3k", "0m", "250m", "8")
		case "memory":
			all[name] = pick(g, "0", "1", "1k", "0.5", "100m", "1e9", "1.5Gi", "129M", "5P", "30Gi", "0Gi")
		case "ephemeral-storage":
			all[name] = pick(g, "0", "1Gi", "19Gi", "21Gi", "500m")
		case "hugepages-2Mi":
			all[name] = pick(g, "0", "2Mi", "128Mi", "512Mi", "514Mi")
		default:
			all[name] = pick(g, "0", "1", "4", "5", "1k")
		}
	}
	if g.chance(4) {
		all[pick(g, "kubernetes.io/native", "attachable-volumes-x", "storage", "pods", "hugepages-1Gi")] = pick(g, "1", "0", "2Gi")
	}
	return all
}

func (g gen) podLevel() object {
	all := object{}
	for _, name := range some(g, 60, "cpu", "memory", "hugepages-2Mi") {
		switch name {
		case "cpu":
			all[name] = pick(g, "0", "1", "2500m", "6", "100u")
		case "memory":
			all[name] = pick(g, "0", "1Gi", "5G", "20Gi", "1")
		default:
			all[name] = pick(g, "0", "4Mi", "256Mi", "512Mi")
		}
	}
	return all
}

func (g gen) toleration() object {
	toleration := object{}
	if g.chance(85) {
		toleration["key"] = pick(g, taintKeys...)
		toleration["operator"] = pick(g, "Exists", "Equal")
	} else {
		toleration["operator"] = "Exists"
	}
	if toleration["operator"] == "Equal" {
		toleration["value"] = pick(g, "a", "b", "", "10")
		if g.chance(30) {
			delete(toleration, "operator")
		}
	}
	if g.chance(65) {
		toleration["effect"] = pick(g, effects...)
		if toleration["effect"] == "NoExecute" && g.chance(40) {
			toleration["tolerationSeconds"] = pick(g, 0, 60, -1)
		}
	}
	return toleration
}

func (g gen) affinity(spec object) {
	if g.chance(25) {
		selector := object{}
		for _, key := range some(g, 50, "disktype", "tier", zoneKey) {
			selector[key] = pick(g, "ssd", "hdd", "gold", "silver", "z1", "z2", "")
		}
		spec["nodeSelector"] = selector
	}
	node := object{}
	if g.chance(40) {
		var terms []object
		for range pick(g, 1, 1, 2, 3) {
			terms = append(terms, g.term())
		}
		node["requiredDuringSchedulingIgnoredDuringExecution"] = object{"nodeSelectorTerms": terms}
	}
	if g.chance(65) {
		var preferred []object
		for range pick(g, 1, 2, 3, 4) {
			preferred = append(preferred, object{"weight": g.between(1, 100), "preference": g.term()})
		}
		node["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
	}
	if len(node) > 0 {
		spec["affinity"] = object{"nodeAffinity": node}
	}
}

func (g gen) term() object {
	term := object{}
	if g.chance(6) {
		return term
	}
	if g.chance(15) {
		var fields []object
		for range pick(g, 1, 1, 2) {
			name := fmt.Sprintf("node-%03d", g.between(0, 12))
			fields = append(fields, object{"key": "metadata.name", "operator": pick(g, "In", "In", "In", "NotIn"), "values": []string{name}})
		}
		term["matchFields"] = fields
		if g.chance(60) {
			return term
		}
	}
	var expressions []object
	for range pick(g, 1, 1, 2, 3) {
		expressions = append(expressions, g.expression())
	}
	term["matchExpressions"] = expressions
	return term
}

func (g gen) expression() object {
	if g.chance(30) {
		value := fmt.Sprint(g.between(0, 20))
		if g.chance(20) {
			value = pick(g, "-5", "007", "9223372036854775807", "-0", "+5")
		}
		return object{"key": "rank", "operator": pick(g, "Gt", "Lt"), "values": []string{value}}
	}
	key, values := "disktype", []string{"ssd", "hdd", ""}
	switch g.IntN(4) {
	case 0:
		key, values = "tier", []string{"gold", "silver", "bronze"}
	case 1:
		key, values = zoneKey, []string{"z1", "z2", "z3", "z9"}
	case 2:
		key, values = "rank", []string{"1", "5", "007", "10"}
	}
	operator := pick(g, "In", "In", "NotIn", "Exists", "DoesNotExist")
	expression := object{"key": key, "operator": operator}
	if operator == "In" || operator == "NotIn" {
		chosen := some(g, 50, values...)
		if chosen == nil {
			chosen = values[:1]
		}
		expression["values"] = chosen
	}
	return expression
}
