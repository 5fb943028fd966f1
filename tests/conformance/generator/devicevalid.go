package main

import (
	"encoding/json"
	"fmt"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/resource"
	_ "k8s.io/kubernetes/pkg/apis/resource/install" // Conversions into what validation reads.
	"k8s.io/kubernetes/pkg/apis/resource/validation"
)

// refusals are what the API server says against the objects of devices among these, besides what cases are about: a request
// without a class, and expressions that do not compile, which another version may have stored.
func refusals(objects []json.RawMessage) error {
	var all field.ErrorList
	for _, raw := range objects {
		decoded, err := decode(raw)
		if err != nil {
			return err
		}
		root := field.NewPath(fmt.Sprintf("%.200s", raw))
		var found field.ErrorList
		switch object := decoded.(type) {
		case *resourceapi.ResourceClaim:
			var now, before resource.ResourceClaim
			if err := legacyscheme.Scheme.Convert(object, &now, nil); err != nil {
				return err
			}
			found = validation.ValidateResourceClaim(&now)
			now.DeepCopyInto(&before)
			before.Status = resource.ResourceClaimStatus{}
			if object.Status.Allocation != nil && object.DeletionTimestamp == nil {
				found = append(found, validation.ValidateResourceClaimStatusUpdate(&now, &before)...)
			}
		case *resourceapi.ResourceSlice:
			var now resource.ResourceSlice
			if err := legacyscheme.Scheme.Convert(object, &now, nil); err != nil {
				return err
			}
			found = validation.ValidateResourceSlice(&now)
		case *resourceapi.DeviceClass:
			var now resource.DeviceClass
			if err := legacyscheme.Scheme.Convert(object, &now, nil); err != nil {
				return err
			}
			found = validation.ValidateDeviceClass(&now)
		}
		for _, one := range found {
			if !strings.Contains(one.Field, "deviceClassName") && !strings.Contains(one.Field, "cel") {
				one.Field = fmt.Sprint(root, one.Field)
				all = append(all, one)
			}
		}
	}
	return all.ToAggregate()
}
