package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// writeRequests writes what a pod takes of its node, for the pod of each line of the input.
func writeRequests(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		line := map[string]json.RawMessage{}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		// As the API server serves it: without empty maps, which 1.37 tells from absent ones.
		var given, pod v1.Pod
		if err := json.Unmarshal(line["pod"], &given); err != nil {
			return err
		}
		served, err := json.Marshal(given)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(served, &pod); err != nil {
			return err
		}
		info, err := framework.NewPodInfo(&pod)
		if err != nil {
			return err
		}
		taken := info.CalculateResource()
		requests := map[string]int64{
			"cpu":               taken.Resource.GetMilliCPU(),
			"memory":            taken.Resource.GetMemory(),
			"ephemeral-storage": taken.Resource.GetEphemeralStorage(),
		}
		for name, amount := range taken.Resource.GetScalarResources() {
			requests[string(name)] = amount
		}
		limits := framework.NewResource(resourcehelper.PodLimits(&pod, resourcehelper.PodResourcesOptions{
			UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
		}))
		limited := map[string]int64{
			"cpu": limits.MilliCPU, "memory": limits.Memory, "ephemeral-storage": limits.EphemeralStorage,
		}
		for name, amount := range limits.ScalarResources {
			limited[string(name)] = amount
		}
		again := map[string]any{"pod": line["pod"], "requests": requests, "limits": limited,
			"nonzero": []int64{taken.Non0CPU, taken.Non0Mem}}
		if kubernetesVersion != "" {
			again["kubernetes"] = kubernetesVersion
		}
		written, err := json.Marshal(again)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(out, strings.TrimSpace(string(written))+"\n"); err != nil {
			return err
		}
	}
	return lines.Err()
}
