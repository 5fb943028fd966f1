package main

import (
	"fmt"
	"reflect"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// claimAllocation is what Reserve notes for a claim on a node, and PreBind writes with the time. The claim of extended
// resources is called <extended-resources> before it is written.
type claimAllocation struct {
	Claim string `json:"claim"`
	// Requests and Mappings are those of the claim of extended resources, which depend on the node.
	Requests   []resourceapi.DeviceRequest           `json:"requests,omitempty"`
	Mappings   []v1.ContainerExtendedResourceRequest `json:"mappings,omitempty"`
	Allocation resourceapi.AllocationResult          `json:"allocation"`
}

// hidden is a field of a struct that has no exported way to it.
func hidden(of reflect.Value, name string) reflect.Value {
	field := of.FieldByName(name)
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}

// allocationsOf reads from the state of the plugin DynamicResources what Filter found for each of the nodes. A node that
// needs no devices has none; nil when all claims of the pod are allocated.
func allocationsOf(state fwk.CycleState, feasible []string) map[string][]claimAllocation {
	data, err := state.Read("DynamicResources")
	if err != nil {
		return nil
	}
	of := reflect.ValueOf(data).Elem()
	store := hidden(of, "claims")
	claims := hidden(store, "claims").Interface().([]*resourceapi.ResourceClaim)
	owned := hidden(store, "numUserOwned").Interface().(int)
	var names []string
	special := -1
	for i, claim := range claims {
		if claim.Status.Allocation != nil {
			continue
		}
		if i >= owned {
			special = len(names)
			names = append(names, claim.Name)
			continue
		}
		names = append(names, claim.Namespace+"/"+claim.Name)
	}
	if len(names) == 0 {
		return nil
	}
	all := map[string][]claimAllocation{}
	nodes := hidden(of, "nodeAllocations")
	for _, name := range feasible {
		all[name] = []claimAllocation{}
		found := nodes.MapIndex(reflect.ValueOf(name))
		if !found.IsValid() {
			continue
		}
		node := reflect.New(found.Type()).Elem()
		node.Set(found)
		results := hidden(node, "allocationResults").Interface().([]resourceapi.AllocationResult)
		shares := map[types.UID]types.UID{}
		for i, result := range results {
			made := claimAllocation{Claim: names[i], Allocation: *result.DeepCopy()}
			if i == special {
				if claim := hidden(node, "extendedResourceClaim").Interface().(*resourceapi.ResourceClaim); claim != nil {
					made.Requests = claim.Spec.Devices.Requests
				}
				made.Mappings = hidden(node, "containerResourceRequestMappings").Interface().([]v1.ContainerExtendedResourceRequest)
			}
			for r := range made.Allocation.Devices.Results {
				device := &made.Allocation.Devices.Results[r]
				if device.ShareID == nil {
					continue
				}
				if _, known := shares[*device.ShareID]; !known {
					shares[*device.ShareID] = types.UID(fmt.Sprintf("share-%d", len(shares)))
				}
				renamed := shares[*device.ShareID]
				device.ShareID = &renamed
			}
			all[name] = append(all[name], made)
		}
	}
	return all
}
