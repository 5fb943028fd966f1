package main

import (
	"fmt"
	"strings"
)

const (
	csiDriver      = "csi.example.com"
	capacityDriver = "capacity.example.com"
	ebsDriver      = "ebs.csi.aws.com"
)

// storage is what a cluster of a volume family has besides nodes and pods.
type storage struct {
	objects []object
	claims  map[string][]string
}

func named(apiVersion, kind, namespace, name string) object {
	metadata := object{"name": name, "uid": "uid-" + strings.ToLower(kind) + "-" + namespace + name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}

func (g gen) storageClasses(family string) []object {
	class := func(name, provisioner, mode string) object {
		made := named("storage.k8s.io/v1", "StorageClass", "", name)
		made["provisioner"] = provisioner
		if mode != "" {
			made["volumeBindingMode"] = mode
		}
		return made
	}
	dynamic := class("dynamic", csiDriver, "WaitForFirstConsumer")
	if g.chance(50) {
		dynamic["allowedTopologies"] = pick(g, []object{}, []object{{}},
			[]object{{"matchLabelExpressions": []object{{"key": zoneKey, "values": []string{"z1", "z2"}}}}},
			[]object{{"matchLabelExpressions": []object{{"key": zoneKey, "values": []string{"z1"}}, {"key": "disktype", "values": []string{"ssd"}}}},
				{"matchLabelExpressions": []object{{"key": "tier", "values": []string{"gold"}}}}})
	}
	all := []object{
		class("wait", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"), dynamic,
		class("now", csiDriver, "Immediate"), class("capacity", capacityDriver, "WaitForFirstConsumer"),
		class("ebs", "kubernetes.io/aws-ebs", "WaitForFirstConsumer"),
	}
	if g.chance(2) {
		all = append(all, class("nomode", csiDriver, ""))
	}
	driver := named("storage.k8s.io/v1", "CSIDriver", "", capacityDriver)
	driver["spec"] = object{"storageCapacity": g.chance(85)}
	other := named("storage.k8s.io/v1", "CSIDriver", "", csiDriver)
	other["spec"] = object{}
	return append(all, driver, other)
}

func (g gen) size() string {
	return pick(g, "1Gi", "5Gi", "10Gi", "20Gi", "50Gi", "100Gi", "1500M", "1.5Gi")
}

func (g gen) nodeTerm(nodes int) object {
	expression := func() object {
		return pick(g,
			object{"key": "kubernetes.io/hostname", "operator": "In", "values": []string{fmt.Sprintf("node-%03d", g.IntN(nodes)), fmt.Sprintf("node-%03d", g.IntN(nodes))}},
			object{"key": zoneKey, "operator": "In", "values": []string{pick(g, "z1", "z2", "z3")}},
			object{"key": zoneKey, "operator": "NotIn", "values": []string{pick(g, "z1", "z2")}},
			object{"key": "disktype", "operator": pick(g, "Exists", "DoesNotExist")},
			object{"key": "topology.ebs.csi.aws.com/zone", "operator": "In", "values": []string{pick(g, "z1", "z2")}})
	}
	if g.chance(4) {
		return object{"matchFields": []object{{"key": "metadata.name", "operator": "In", "values": []string{"node-999"}}}}
	}
	if g.chance(2) {
		return object{"matchExpressions": []object{{"key": "rank", "operator": "Gt", "values": []string{"many"}}}}
	}
	term := object{"matchExpressions": []object{expression()}}
	if g.chance(20) {
		term["matchExpressions"] = []object{expression(), expression()}
	}
	return term
}

func (g gen) volumeSource(spec object, name string, inTree int) {
	if !g.chance(inTree) {
		spec["csi"] = object{"driver": pick(g, csiDriver, csiDriver, capacityDriver, ebsDriver), "volumeHandle": "handle-" + pick(g, name, name, name, "shared")}
		return
	}
	switch g.IntN(8) {
	case 0, 1:
		spec["awsElasticBlockStore"] = object{"volumeID": pick(g, "vol-"+name, "aws://z1/vol-"+name, "vol-shared")}
	case 2, 3:
		spec["gcePersistentDisk"] = object{"pdName": "pd-" + pick(g, name, "shared")}
	case 4:
		spec["azureDisk"] = object{"diskName": name, "diskURI": "/subscriptions/1/" + name, "kind": pick(g, "Managed", "Managed", "Managed", "Dedicated")}
	case 5:
		spec["cinder"] = object{"volumeID": "cinder-" + name}
	case 6:
		spec["portworxVolume"] = object{"volumeID": "px-" + name}
	default:
		spec["nfs"] = object{"server": "nfs.example", "path": "/" + name}
	}
}

func (g gen) volume(name, class string, nodes, inTree int) object {
	made := named("v1", "PersistentVolume", "", name)
	modes := pick(g, []string{"ReadWriteOnce"}, []string{"ReadWriteOnce"}, []string{"ReadWriteOnce", "ReadWriteMany"}, []string{"ReadOnlyMany"}, []string{"ReadWriteOncePod"})
	spec := object{"capacity": object{"storage": g.size()}, "accessModes": modes}
	if class != "" {
		spec["storageClassName"] = class
	}
	g.volumeSource(spec, name, inTree)
	if g.chance(55) {
		var terms []object
		for range pick(g, 1, 1, 1, 2) {
			terms = append(terms, g.nodeTerm(nodes))
		}
		spec["nodeAffinity"] = object{"required": object{"nodeSelectorTerms": terms}}
	}
	if g.chance(5) {
		spec["volumeMode"] = pick(g, "Block", "Filesystem")
	}
	if g.chance(4) {
		spec["volumeAttributesClassName"] = pick(g, "fast", "slow")
	}
	labels := object{}
	if g.chance(30) {
		labels[pick(g, zoneKey, zoneKey, "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/region")] =
			pick(g, "z1", "z2", "z1__z2", "z1__z3", " z1 __z2", "z1__", "r1")
	}
	if g.chance(30) {
		labels["disk"] = pick(g, "fast", "slow")
	}
	metadata := made["metadata"].(object)
	metadata["labels"] = labels
	if g.chance(4) {
		metadata["annotations"] = object{"volume.beta.kubernetes.io/storage-class": pick(g, "wait", "dynamic", "")}
	}
	if g.chance(3) {
		metadata["deletionTimestamp"] = "2026-01-03T00:00:00Z"
	}
	made["spec"] = spec
	made["status"] = object{"phase": "Available"}
	return made
}

// claim draws a claim of a namespace; what it is bound to goes with it.
func (g gen) claim(namespace, name string, classes []string, nodes, inTree int) []object {
	made := named("v1", "PersistentVolumeClaim", namespace, name)
	metadata := made["metadata"].(object)
	annotations := object{}
	class := pick(g, classes...)
	size := g.size()
	modes := pick(g, []string{"ReadWriteOnce"}, []string{"ReadWriteOnce"}, []string{"ReadWriteOnce"}, []string{"ReadWriteOncePod"}, []string{"ReadWriteMany"}, []string{"ReadOnlyMany"})
	spec := object{"accessModes": modes, "resources": object{"requests": object{"storage": size}}}
	if class != "absent" {
		spec["storageClassName"] = class
	}
	status := object{"phase": "Pending"}
	all := []object{made}
	uid := metadata["uid"]
	reference := object{"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": namespace, "name": name, "uid": uid}
	switch {
	case g.chance(45):
		pv := g.volume("pv-"+namespace+"-"+name, class, nodes, inTree)
		delete(pv["metadata"].(object), "deletionTimestamp")
		pv["spec"].(object)["claimRef"] = reference
		pv["status"] = object{"phase": "Bound"}
		spec["volumeName"] = "pv-" + namespace + "-" + name
		status["phase"] = "Bound"
		if g.chance(94) {
			annotations["pv.kubernetes.io/bind-completed"] = "yes"
		}
		if g.chance(94) {
			all = append(all, pv)
		}
	case g.chance(12):
		pv := g.volume("pv-"+namespace+"-"+name, pick(g, class, class, "wait"), nodes, inTree)
		if g.chance(50) {
			delete(reference, "uid")
		} else if g.chance(15) {
			reference["uid"] = "uid-of-another"
		}
		pv["spec"].(object)["claimRef"] = reference
		pv["status"] = object{"phase": pick(g, "Available", "Bound", "Released")}
		all = append(all, pv)
	default:
		if g.chance(12) {
			annotations["volume.kubernetes.io/selected-node"] = fmt.Sprintf("node-%03d", g.IntN(nodes))
		}
		if g.chance(15) {
			spec["selector"] = pick(g, object{}, object{"matchLabels": object{"disk": "fast"}},
				object{"matchExpressions": []object{{"key": "disk", "operator": "NotIn", "values": []string{"slow"}}}})
		}
	}
	if g.chance(4) {
		spec["volumeMode"] = "Block"
	}
	if g.chance(4) {
		spec["volumeAttributesClassName"] = pick(g, "fast", "slow")
	}
	if g.chance(2) {
		status["phase"] = "Lost"
	}
	if g.chance(2) {
		metadata["deletionTimestamp"] = "2026-01-03T00:00:00Z"
	}
	if g.chance(3) {
		annotations["volume.beta.kubernetes.io/storage-class"] = pick(g, "wait", "dynamic", "now")
	}
	metadata["annotations"] = annotations
	made["spec"], made["status"] = spec, status
	return all
}

func (g gen) csiNode(name, family string) object {
	made := named("storage.k8s.io/v1", "CSINode", "", name)
	var drivers []object
	for _, driver := range some(g, 70, csiDriver, capacityDriver, ebsDriver, "pd.csi.storage.gke.io") {
		one := object{"name": driver, "nodeID": name, "topologyKeys": []string{zoneKey}}
		if g.chance(75) {
			one["allocatable"] = object{"count": pick(g, 0, 1, 1, 2, 2, 3, 25)}
			if family != "attach" && g.chance(60) {
				one["allocatable"] = object{"count": 25}
			}
			if g.chance(5) {
				one["allocatable"] = object{}
			}
		}
		drivers = append(drivers, one)
	}
	if drivers == nil {
		drivers = []object{}
	}
	made["spec"] = object{"drivers": drivers}
	if g.chance(50) {
		plugins := some(g, 60, "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk", "kubernetes.io/cinder")
		made["metadata"].(object)["annotations"] = object{"storage.alpha.kubernetes.io/migrated-plugins": strings.Join(plugins, ",")}
	}
	return made
}

// storage draws classes, volumes, claims, capacities and attachments for nodes.
func (g gen) storage(family string, nodes int) storage {
	made := storage{claims: map[string][]string{}}
	made.objects = g.storageClasses(family)
	classes := []string{"wait", "wait", "wait", "wait", "dynamic", "dynamic", "dynamic", "now", "ebs", "ebs", pick(g, "absent", "gone", "wait")}
	inTree := 15
	switch family {
	case "capacity":
		classes = []string{"capacity", "capacity", "capacity", "dynamic"}
	case "ephemeral":
		inTree = 60
	case "attach":
		classes = []string{"dynamic", "dynamic", "ebs", "ebs", "wait", pick(g, "now", "absent", "dynamic")}
		inTree = 35
	}
	if g.chance(2) {
		classes = append(classes, "nomode")
	}
	for n := range nodes {
		if g.chance(75) {
			made.objects = append(made.objects, g.csiNode(fmt.Sprintf("node-%03d", n), family))
		}
	}
	var volumes []string
	for v := range g.between(0, 12) {
		pv := g.volume(fmt.Sprintf("free-%d", v), pick(g, "wait", "wait", "wait", "dynamic", "capacity", ""), nodes, inTree)
		if g.chance(8) {
			pv["status"] = object{"phase": pick(g, "Released", "Pending", "Failed")}
		}
		made.objects = append(made.objects, pv)
	}
	for _, namespace := range []string{"default", "team-a"} {
		for c := range g.between(2, 10) {
			name := fmt.Sprintf("claim-%d", c)
			drawn := g.claim(namespace, name, classes, nodes, inTree)
			made.objects = append(made.objects, drawn...)
			made.claims[namespace] = append(made.claims[namespace], name)
			if len(drawn) > 1 {
				volumes = append(volumes, drawn[1]["metadata"].(object)["name"].(string))
			}
		}
	}
	if family == "capacity" || g.chance(25) {
		for c := range g.between(0, 8) {
			capacity := named("storage.k8s.io/v1", "CSIStorageCapacity", "kube-system", fmt.Sprintf("capacity-%d", c))
			capacity["storageClassName"] = pick(g, "capacity", "capacity", "capacity", "dynamic")
			if g.chance(90) {
				capacity["nodeTopology"] = pick(g, object{}, object{"matchLabels": object{zoneKey: pick(g, "z1", "z2", "z3")}},
					object{"matchLabels": object{"kubernetes.io/hostname": fmt.Sprintf("node-%03d", g.IntN(nodes))}},
					object{"matchExpressions": []object{{"key": "disktype", "operator": "In", "values": []string{"ssd", "hdd"}}}})
			}
			if g.chance(85) {
				capacity["capacity"] = g.size()
			}
			if g.chance(30) {
				capacity["maximumVolumeSize"] = g.size()
			}
			made.objects = append(made.objects, capacity)
		}
	}
	if family == "attach" || g.chance(15) {
		for a := range g.between(0, nodes) {
			attachment := named("storage.k8s.io/v1", "VolumeAttachment", "", fmt.Sprintf("attachment-%d", a))
			source := object{"persistentVolumeName": "pv-gone"}
			if len(volumes) > 0 && g.chance(85) {
				source["persistentVolumeName"] = pick(g, volumes...)
			} else if g.chance(40) {
				source = object{"inlineVolumeSpec": object{"csi": object{"driver": csiDriver, "volumeHandle": "inline"}, "accessModes": []string{"ReadWriteOnce"}}}
			}
			attachment["spec"] = object{"attacher": pick(g, csiDriver, csiDriver, ebsDriver, ""), "nodeName": fmt.Sprintf("node-%03d", g.IntN(nodes)), "source": source}
			made.objects = append(made.objects, attachment)
		}
	}
	return made
}

// volumes gives a pod volumes; the claims of its ephemeral ones are returned.
func (g gen) volumes(family string, pod object, of storage, nodes int) []object {
	metadata, spec := pod["metadata"].(object), pod["spec"].(object)
	namespace := pick(g, "default", "default", "default", "team-a")
	metadata["namespace"] = namespace
	var volumes []object
	var claims []object
	for i := range pick(g, 0, 1, 1, 1, 2, 2, 3) {
		name := fmt.Sprintf("v%d", i)
		volume := object{"name": name}
		switch {
		case family == "ephemeral" && g.chance(45) || g.chance(4):
			volume["ephemeral"] = object{"volumeClaimTemplate": object{"spec": object{"accessModes": []string{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "1Gi"}}}}}
			if g.chance(88) {
				drawn := g.claim(namespace, metadata["name"].(string)+"-"+name, []string{"wait", "dynamic", "ebs"}, nodes, 50)
				owner := object{"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": true}
				if g.chance(6) {
					owner = pick(g, object{"apiVersion": "v1", "kind": "Pod", "name": "another", "uid": "uid-another", "controller": true},
						object{"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]})
				}
				drawn[0]["metadata"].(object)["ownerReferences"] = []object{owner}
				claims = append(claims, drawn...)
			}
		case family == "ephemeral" && g.chance(55) || g.chance(15):
			g.inlineVolume(volume)
		default:
			claim := object{"claimName": pick(g, append([]string{"claim-0"}, of.claims[namespace]...)...)}
			if g.chance(4) {
				claim["claimName"] = "missing"
			}
			if g.chance(10) {
				claim["readOnly"] = true
			}
			volume["persistentVolumeClaim"] = claim
		}
		volumes = append(volumes, volume)
	}
	if volumes != nil {
		spec["volumes"] = volumes
	}
	return claims
}

func (g gen) inlineVolume(volume object) {
	readOnly := g.chance(50)
	which := pick(g, "1", "2", "3")
	switch g.IntN(8) {
	case 0, 1:
		volume["gcePersistentDisk"] = object{"pdName": "pd-" + which, "readOnly": readOnly}
	case 2, 3:
		volume["awsElasticBlockStore"] = object{"volumeID": pick(g, "", "aws://z1/") + "vol-" + which, "readOnly": readOnly}
	case 4:
		volume["iscsi"] = object{"targetPortal": "10.0.0." + which, "iqn": "iqn-" + pick(g, "1", "2"), "lun": g.IntN(2), "readOnly": readOnly}
	case 5:
		volume["rbd"] = object{"monitors": some(g, 60, "a", "b", "c"), "image": "image-" + pick(g, "1", "2"), "pool": pick(g, "rbd", "other"), "readOnly": readOnly}
		if volume["rbd"].(object)["monitors"].([]string) == nil {
			volume["rbd"].(object)["monitors"] = []string{"a"}
		}
	case 6:
		volume["csi"] = object{"driver": pick(g, csiDriver, capacityDriver)}
	default:
		volume[pick(g, "cinder", "portworxVolume")] = object{"volumeID": "id-" + which}
		if g.chance(40) {
			delete(volume, "cinder")
			delete(volume, "portworxVolume")
			volume["azureDisk"] = object{"diskName": "disk-" + which, "diskURI": "/disks/" + which, "kind": "Managed"}
		}
	}
}
