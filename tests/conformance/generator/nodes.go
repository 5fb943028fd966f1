package main

import "fmt"

const zoneKey = "topology.kubernetes.io/zone"

var taintKeys = []string{"dedicated", "gpu", "maintenance", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"}
var effects = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}

// oddRanks are labels that Gt and Lt must read as strconv.ParseInt does.
var oddRanks = []string{"-3", "007", "abc", "", "+5", "1.5", "9223372036854775807", "9223372036854775808", "-0", "0x10", "1_0"}

var imageNames = []string{
	"registry.example/app-a:v1", "registry.example/app-b:v2", "registry.example/base:latest", "registry.example/ml:1",
	"registry.example/base", "localhost:5000/tool", "localhost:5000/tool:v3", "nginx", "docker.io/library/nginx:latest",
	"registry.example/app-a@sha256:0000000000000000000000000000000000000000000000000000000000000000",
	"registry.example/app-a:v1@sha256:0000000000000000000000000000000000000000000000000000000000000000",
}

func (g gen) node(family string, i int) object {
	name := fmt.Sprintf("node-%03d", i)
	labels := object{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
	if g.chance(92) {
		zone := g.between(1, 3)
		labels[zoneKey] = fmt.Sprintf("z%d", zone)
		labels["topology.kubernetes.io/region"] = fmt.Sprintf("r%d", (zone+1)/2)
	}
	if g.chance(60) {
		labels["disktype"] = pick(g, "ssd", "hdd", "ssd", "hdd", "")
	}
	if g.chance(60) {
		labels["tier"] = pick(g, "gold", "silver", "bronze")
	}
	if g.chance(60) {
		labels["rank"] = fmt.Sprint(g.between(0, 20))
		if family == "nodeaffinity" && g.chance(25) {
			labels["rank"] = pick(g, oddRanks...)
		}
	}
	spec := object{}
	if g.chance(7) {
		spec["unschedulable"] = true
		if g.chance(80) {
			spec["taints"] = []object{{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}}
		}
	}
	if family == "taints" || family == "hints" && g.chance(25) {
		var taints []object
		for range pick(g, 0, 1, 1, 2, 3, 6) {
			taints = append(taints, g.taint())
		}
		if taints != nil {
			spec["taints"] = taints
		}
	}
	allocatable := g.allocatable(family)
	status := object{"conditions": []object{{"type": "Ready", "status": "True"}}}
	if allocatable != nil {
		status["allocatable"], status["capacity"] = allocatable, allocatable
	}
	if family == "images" {
		if images := g.images(); images != nil {
			status["images"] = images
		}
	}
	return object{
		"apiVersion": "v1", "kind": "Node", "spec": spec, "status": status,
		"metadata": object{"name": name, "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"},
	}
}

func (g gen) taint() object {
	taint := object{"key": pick(g, taintKeys...), "effect": pick(g, effects...)}
	if value := pick(g, "a", "b", "", "absent", "10"); value != "absent" {
		taint["value"] = value
	}
	return taint
}

func (g gen) allocatable(family string) object {
	cores := pick(g, 2, 2, 4, 4, 8, 16)
	cpu := fmt.Sprintf("%dm", cores*1000-100*g.between(0, 3))
	if g.chance(30) {
		cpu = fmt.Sprint(cores)
	}
	memory := pick(g, 4096, 8192, 16384, 32768, 65536, 131072) - 128*g.between(0, 4)
	all := object{
		"cpu": cpu, "memory": fmt.Sprintf("%dMi", memory), "pods": pick(g, "4", "8", "110", "110"),
		"ephemeral-storage": pick(g, "20Gi", "100Gi"),
	}
	for _, name := range some(g, 30, "nvidia.com/gpu", "example.com/widget") {
		all[name] = fmt.Sprint(pick(g, 1, 2, 3, 4, 8))
	}
	if g.chance(25) {
		all["hugepages-2Mi"] = "512Mi"
	}
	if family != "resources" && family != "strategies" && family != "hints" {
		return all
	}
	if g.chance(3) {
		return nil
	}
	// Amounts above 92 P are left out: there upstream's scores wrap around.
	if g.chance(10) {
		all["cpu"] = pick(g, "0", "1m", "0.5", "1.0005", "100u", "1e3", "64k")
	}
	if g.chance(10) {
		all["memory"] = pick(g, "0", "1", "1500M", "1e9", "100m", "1.5Gi", "128Ti", "50P")
	}
	if g.chance(10) {
		all["pods"] = pick(g, "0", "1", "2")
	}
	for _, name := range some(g, 4, "cpu", "memory", "pods", "ephemeral-storage", "hugepages-2Mi") {
		delete(all, name)
	}
	for _, name := range some(g, 8, "hugepages-1Gi", "kubernetes.io/native", "other.example/part", "attachable-volumes-x") {
		all[name] = pick(g, "0", "1", "4", "2Gi", "100k")
	}
	return all
}

func (g gen) images() []object {
	var all []object
	for _, name := range some(g, 40, imageNames...) {
		size := pick[int64](g, 62914560, 314572800, 1258291200, 4194304000, 0, 1, 24117247, 24117248, 24117249, 9000000000000)
		image := object{"names": []string{name, name + "-again"}, "sizeBytes": size}
		switch g.IntN(8) {
		case 0:
			image["names"] = []string{name}
		case 1:
			image["names"] = []string{}
		case 2:
			image["names"] = []string{name, name}
		case 3:
			delete(image, "sizeBytes")
		}
		all = append(all, image)
	}
	return all
}
