package main

import (
	"fmt"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// filledInformer is an informer that is not run: what is put into it reaches its handlers before put returns.
type filledInformer struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

func (f *filledInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	f.handlers = append(f.handlers, handler)
	return f.SharedIndexInformer.AddEventHandler(handler)
}

func (f *filledInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, every time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	f.handlers = append(f.handlers, handler)
	return f.SharedIndexInformer.AddEventHandlerWithResyncPeriod(handler, every)
}

func (f *filledInformer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	f.handlers = append(f.handlers, handler)
	return f.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
}

// replace puts an object in the place of another; nil is none.
func (f *filledInformer) replace(before, after runtime.Object) error {
	var err error
	if after != nil {
		err = f.GetIndexer().Update(after)
	} else {
		err = f.GetIndexer().Delete(before)
	}
	for _, handler := range f.handlers {
		switch {
		case before == nil:
			handler.OnAdd(after, true)
		case after == nil:
			handler.OnDelete(before)
		default:
			handler.OnUpdate(before, after)
		}
	}
	return err
}

// takeBack undoes a replacement. What was there comes as a new object, since caches refuse an older version in its place.
func (f *filledInformer) takeBack(before, after runtime.Object) {
	if after != nil {
		_ = f.replace(after, nil)
	}
	if before != nil {
		_ = f.replace(nil, before)
	}
}

// ofDevices are examples of the kinds whose informers have handlers that the plugin of devices depends on.
var ofDevices = append([]runtime.Object{&resourceapi.ResourceClaim{}, &resourceapi.ResourceSlice{}, &resourceapi.DeviceClass{}}, newerKinds...)

// fillByHand makes the factory's informers of devices filled ones; it goes before all who ask the factory for them.
func fillByHand(factory informers.SharedInformerFactory) map[string]*filledInformer {
	made := map[string]*filledInformer{}
	for _, example := range ofDevices {
		filled := &filledInformer{SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, example, 0,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
		factory.InformerFor(example, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return filled })
		made[fmt.Sprintf("%T", example)] = filled
	}
	return made
}
