package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
)

// write is a call to the API server and what it sends.
type write struct {
	Call string          `json:"call"`
	Body json.RawMessage `json:"body,omitempty"`
}

// claimServer answers the calls that the plugin of devices makes about claims.
type claimServer struct {
	cluster *cluster
	// delivers says that each write reaches the informer before it is answered, and is noted in writes.
	delivers bool
	writes   []write
	// refuses is the error of the next PUT of a status.
	refuses error
	// shares are the names of random share ids in writes.
	shares map[string]string
	// deallocated and deleted are claims by namespace and name.
	deallocated, deleted []string
}

var shareID = regexp.MustCompile(`"shareID":"([^"]*)"`)

// note keeps a call. Random share ids are renamed; those of drawn objects begin with zeros.
func (s *claimServer) note(call string, body any) {
	if !s.delivers {
		return
	}
	text := ""
	if body != nil {
		text = string(raw(body))
	}
	for _, found := range shareID.FindAllStringSubmatch(text, -1) {
		id := found[1]
		if strings.HasPrefix(id, "00000000") {
			continue
		}
		if s.shares[id] == "" {
			s.shares[id] = fmt.Sprintf("share-%d", len(s.shares))
		}
		text = strings.ReplaceAll(text, id, s.shares[id])
	}
	s.writes = append(s.writes, write{call, json.RawMessage(text)})
}

// body is what is compared of a claim that is written.
func body(claim *resourceapi.ResourceClaim, spec, status bool) object {
	metadata := object{}
	if len(claim.Finalizers) > 0 {
		metadata["finalizers"] = claim.Finalizers
	}
	for key, value := range map[string]any{"name": claim.Name, "generateName": claim.GenerateName, "annotations": claim.Annotations} {
		if text := string(raw(value)); text != `""` && text != "null" {
			metadata[key] = value
		}
	}
	if claim.OwnerReferences != nil {
		metadata["ownerReferences"] = claim.OwnerReferences
	}
	made := object{"metadata": metadata}
	if spec {
		made["spec"] = claim.Spec
	}
	if status {
		of := copyOf(object{"status": claim.Status})["status"].(object)
		// Drawn objects are of another year.
		if allocation, ok := of["allocation"].(object); ok {
			if at, _ := allocation["allocationTimestamp"].(string); at > "2026" && at < "2099" {
				allocation["allocationTimestamp"] = "now"
			}
		}
		made["status"] = of
	}
	return made
}

var claimResource = schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}

func (s *claimServer) stored(namespace, name string) *resourceapi.ResourceClaim {
	found, _, _ := s.cluster.filled["*v1.ResourceClaim"].GetIndexer().GetByKey(namespace + "/" + name)
	claim, _ := found.(*resourceapi.ResourceClaim)
	return claim
}

// deliver gives the informer a claim in the place of the stored one; nil is none.
func (s *claimServer) deliver(before, after *resourceapi.ResourceClaim) error {
	informer := s.cluster.filled["*v1.ResourceClaim"]
	switch {
	case !s.delivers || before == nil && after == nil:
		return nil
	case before == nil:
		return informer.replace(nil, after)
	case after == nil:
		return informer.replace(before, nil)
	}
	return informer.replace(before, after)
}

func nextVersion(claim *resourceapi.ResourceClaim) {
	version, _ := strconv.Atoi(claim.ResourceVersion)
	claim.ResourceVersion = strconv.Itoa(version + 1)
}

func (s *claimServer) update(action clienttesting.Action) (bool, runtime.Object, error) {
	claim := action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim).DeepCopy()
	name := claim.Namespace + "/" + claim.Name
	before := s.stored(claim.Namespace, claim.Name)
	ofStatus := action.GetSubresource() == "status"
	if ofStatus {
		if claim.Status.Allocation == nil {
			s.deallocated = append(s.deallocated, name)
		}
		s.note("PUT resourceclaims/"+name+"/status", body(claim, false, true))
		if err := s.refuses; err != nil {
			s.refuses = nil
			return true, nil, err
		}
	} else {
		s.note("PUT resourceclaims/"+name, body(claim, false, false))
	}
	if s.delivers && before != nil && before.ResourceVersion != claim.ResourceVersion {
		return true, nil, apierrors.NewConflict(claimResource, claim.Name, errors.New("the object has been modified"))
	}
	nextVersion(claim)
	return true, claim.DeepCopy(), s.deliver(before, claim)
}

func (s *claimServer) create(action clienttesting.Action) (bool, runtime.Object, error) {
	claim := action.(clienttesting.CreateAction).GetObject().(*resourceapi.ResourceClaim).DeepCopy()
	s.note("POST resourceclaims/"+claim.Namespace, body(claim, true, false))
	claim.Name = claim.GenerateName + "made"
	claim.UID, claim.ResourceVersion = types.UID("uid-"+claim.Name), "10"
	return true, claim.DeepCopy(), s.deliver(nil, claim)
}

func (s *claimServer) get(action clienttesting.Action) (bool, runtime.Object, error) {
	name := action.(clienttesting.GetAction).GetName()
	if claim := s.stored(action.GetNamespace(), name); claim != nil {
		return true, claim.DeepCopy(), nil
	}
	return true, nil, apierrors.NewNotFound(claimResource, name)
}

func (s *claimServer) remove(action clienttesting.Action) (bool, runtime.Object, error) {
	name := action.(clienttesting.DeleteAction).GetName()
	s.deleted = append(s.deleted, action.GetNamespace()+"/"+name)
	s.note("DELETE resourceclaims/"+action.GetNamespace()+"/"+name, nil)
	return true, nil, s.deliver(s.stored(action.GetNamespace(), name), nil)
}

// patch knows the one patch of claims that there is: a pod is taken out of reservedFor.
func (s *claimServer) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchAction)
	before := s.stored(patch.GetNamespace(), patch.GetName())
	s.note("PATCH resourceclaims/"+patch.GetNamespace()+"/"+patch.GetName()+"/"+patch.GetSubresource(), json.RawMessage(patch.GetPatch()))
	if before == nil {
		return true, nil, errors.New("not found")
	}
	claim := before.DeepCopy()
	claim.Status.ReservedFor = nil
	for _, consumer := range before.Status.ReservedFor {
		if !strings.Contains(string(patch.GetPatch()), strconv.Quote(string(consumer.UID))) {
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, consumer)
		}
	}
	nextVersion(claim)
	return true, claim.DeepCopy(), s.deliver(before, claim)
}

func (s *claimServer) patchPod(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchAction)
	s.note("PATCH pods/"+patch.GetNamespace()+"/"+patch.GetName()+"/"+patch.GetSubresource(), json.RawMessage(patch.GetPatch()))
	return true, &v1.Pod{}, nil
}

// ends are the ways in which the attempt of a pod ends in a case with writes: bound; unreserved before PreBind, or failed after
// it; with the first PUT of a status answered by conflict or forbidden.
var ends = []string{"bound", "bound", "bound", "bound", "unreserved", "failed", "conflict", "conflict", "forbidden"}

// bind goes the way of a pod from Reserve on, and lets the following pods see what came of it.
func (c *cluster) bind(pod *v1.Pod, d *decision, end string) error {
	fw := c.sched.Profiles[pod.Spec.SchedulerName]
	var plugin fwk.Plugin
	for _, one := range fw.EnqueueExtensions() {
		if one.Name() == "DynamicResources" {
			plugin = one
		}
	}
	reserve, preBind := plugin.(fwk.ReservePlugin), plugin.(fwk.PreBindPlugin)
	if status := fw.RunReservePluginsReserve(c.ctx, d.state, pod, d.Chosen); !status.IsSuccess() {
		d.Error = status.AsError().Error()
		return nil
	}
	server := c.claims
	gone := false
	if end != "unreserved" {
		switch end {
		case "conflict":
			server.refuses = apierrors.NewConflict(claimResource, "claim", errors.New("the object has been modified"))
		case "forbidden":
			server.refuses = apierrors.NewForbidden(claimResource, "claim", errors.New("no"))
		}
		if status := preBind.PreBind(c.ctx, d.state, pod, d.Chosen); !status.IsSuccess() {
			d.PreBind = status.Message()
			gone = true
		}
		server.refuses = nil
	}
	if gone || end == "unreserved" || end == "failed" {
		reserve.Unreserve(c.ctx, d.state, pod, d.Chosen)
		return nil
	}
	placed := pod.DeepCopy()
	placed.Spec.NodeName = d.Chosen
	return c.sched.Cache.AddPod(c.log, placed)
}
