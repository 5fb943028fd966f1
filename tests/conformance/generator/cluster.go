package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

var errConfig = errors.New("configuration")

// cluster is a kube-scheduler that nobody runs: its cache and listers are
// filled by hand, so that nothing depends on the order of events.
type cluster struct {
	ctx       context.Context
	stop      context.CancelFunc
	log       klog.Logger
	sched     *scheduler.Scheduler
	client    *fake.Clientset
	informers informers.SharedInformerFactory
	deleted   []string
	// filled are the informers of devices by the type of their objects.
	filled map[string]*filledInformer
	claims *claimServer
}

// newCluster switches off batching, whose effects depend on timing, and for
// decisions asynchronous preemption too; hints keep it, since it is what
// registers an event of DefaultPreemption.
func newCluster(configJSON json.RawMessage, objects []json.RawMessage, asyncPreemption bool) (*cluster, error) {
	return newClusterWith(configJSON, objects, asyncPreemption, nil, &events.FakeRecorder{})
}

// newClusterWith adds plugins of ours and takes the events.
func newClusterWith(configJSON json.RawMessage, objects []json.RawMessage, asyncPreemption bool,
	registry frameworkruntime.Registry, recorded events.EventRecorderLogger) (*cluster, error) {
	gates := map[string]bool{"SchedulerAsyncPreemption": asyncPreemption, "OpportunisticBatching": false}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return nil, err
	}
	decoded, _, err := configscheme.Codecs.UniversalDecoder().Decode(configJSON, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	cfg := decoded.(*config.KubeSchedulerConfiguration)
	if err := validation.ValidateKubeSchedulerConfiguration(cfg); err != nil {
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	c := &cluster{log: logr.Discard()}
	c.ctx, c.stop = context.WithCancel(klog.NewContext(context.Background(), c.log))
	client := fake.NewClientset()
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod := action.(clienttesting.DeleteAction)
		c.deleted = append(c.deleted, pod.GetNamespace()+"/"+pod.GetName())
		return true, nil, nil
	})
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return c.claims.patchPod(action)
	})
	c.claims = &claimServer{cluster: c, shares: map[string]string{}}
	client.PrependReactor("update", "resourceclaims", c.claims.update)
	client.PrependReactor("create", "resourceclaims", c.claims.create)
	client.PrependReactor("get", "resourceclaims", c.claims.get)
	client.PrependReactor("delete", "resourceclaims", c.claims.remove)
	client.PrependReactor("patch", "resourceclaims", c.claims.patch)
	c.informers = informers.NewSharedInformerFactory(client, 0)
	c.filled = fillByHand(c.informers)
	c.client = client
	recorder := func(string) events.EventRecorderLogger { return recorded }
	c.sched, err = scheduler.New(c.ctx, client, c.informers, nil, recorder,
		scheduler.WithProfiles(cfg.Profiles...), scheduler.WithExtenders(cfg.Extenders...), scheduler.WithParallelism(1),
		scheduler.WithFrameworkOutOfTreeRegistry(registry))
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	for _, object := range objects {
		if err := c.add(object); err != nil {
			c.stop()
			return nil, err
		}
	}
	return c, nil
}

func decode(raw json.RawMessage) (runtime.Object, error) {
	object, _, err := clientscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if pod, ok := object.(*v1.Pod); ok && pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = v1.DefaultSchedulerName
	}
	return object, err
}

func (c *cluster) add(raw json.RawMessage) error {
	decoded, err := decode(raw)
	if err != nil {
		return err
	}
	core, storage := c.informers.Core().V1(), c.informers.Storage().V1()
	switch object := decoded.(type) {
	case *v1.Node:
		c.sched.Cache.AddNode(c.log, object)
		return core.Nodes().Informer().GetIndexer().Add(object)
	case *v1.Pod:
		if object.Spec.NodeName != "" {
			if err := c.sched.Cache.AddPod(c.log, object); err != nil {
				return err
			}
		} else if object.Status.NominatedNodeName != "" {
			if err := core.Pods().Informer().GetIndexer().Add(object); err != nil {
				return err
			}
			// The queue has to know the pod: else its nomination stands for a pod without requests and priority.
			c.sched.SchedulingQueue.Add(c.ctx, object)
		}
		return core.Pods().Informer().GetIndexer().Add(object)
	case *v1.Namespace:
		return core.Namespaces().Informer().GetIndexer().Add(object)
	case *v1.Service:
		return core.Services().Informer().GetIndexer().Add(object)
	case *v1.ReplicationController:
		return core.ReplicationControllers().Informer().GetIndexer().Add(object)
	case *appsv1.ReplicaSet:
		return c.informers.Apps().V1().ReplicaSets().Informer().GetIndexer().Add(object)
	case *appsv1.StatefulSet:
		return c.informers.Apps().V1().StatefulSets().Informer().GetIndexer().Add(object)
	case *v1.PersistentVolume:
		return core.PersistentVolumes().Informer().GetIndexer().Add(object)
	case *v1.PersistentVolumeClaim:
		return core.PersistentVolumeClaims().Informer().GetIndexer().Add(object)
	case *storagev1.StorageClass:
		return storage.StorageClasses().Informer().GetIndexer().Add(object)
	case *storagev1.CSINode:
		return storage.CSINodes().Informer().GetIndexer().Add(object)
	case *storagev1.CSIDriver:
		return storage.CSIDrivers().Informer().GetIndexer().Add(object)
	case *storagev1.CSIStorageCapacity:
		return storage.CSIStorageCapacities().Informer().GetIndexer().Add(object)
	case *storagev1.VolumeAttachment:
		return storage.VolumeAttachments().Informer().GetIndexer().Add(object)
	case *policyv1.PodDisruptionBudget:
		return c.informers.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer().Add(object)
	}
	if filled := c.filled[fmt.Sprintf("%T", decoded)]; filled != nil {
		return filled.replace(nil, decoded)
	}
	return fmt.Errorf("objects of type %T are not known here", decoded)
}
