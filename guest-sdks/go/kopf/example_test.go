package kopf_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func ExampleDecode() {
	type Volume struct {
		Size  int      `json:"size"`
		Zones []string `json:"zones"`
	}
	body := kopf.JSON([]byte(`{"spec": {"size": 5, "zones": ["a", "b"]}}`))

	volume, err := kopf.Decode[Volume](body.Get("spec"))
	fmt.Println(volume, err)

	_, err = kopf.Decode[Volume](kopf.JSON([]byte(`{"size": "large"}`)))
	fmt.Println(err)
	// Output:
	// {5 [a b]} <nil>
	// size: want an integer, got a string
}

func ExampleView_Get() {
	body := kopf.JSON([]byte(`{"spec": {"volumes": [{"name": "data", "size": 5}]}}`))
	fmt.Println(body.Get("spec", "volumes", 0, "size").Int())
	fmt.Println(body.Get("spec", "absent", "deeper").Exists())
	for i, volume := range body.Get("spec", "volumes").Items() {
		fmt.Println(i, volume.Get("name"))
	}
	// Output:
	// 5
	// false
	// 0 data
}

func ExampleTemporary() {
	err := fmt.Errorf("mounting: %w", kopf.Temporary("the volume is not ready", kopf.Delay(10*time.Second)))
	var temporary *kopf.TemporaryError
	fmt.Println(err)
	fmt.Println(errors.As(err, &temporary))
	// Output:
	// mounting: the volume is not ready
	// true
}

func ExampleNested() {
	body := kopf.Map{}
	kopf.Nested(body, "metadata", "labels")["app"] = "web"
	fmt.Println(body)
	// Output: map[metadata:map[labels:map[app:web]]]
}

func ExampleOwner_Adopt() {
	parent := kopf.Map{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": kopf.Map{"name": "obj1", "namespace": "ns1", "uid": "u"}}
	pod := kopf.Map{"kind": "Pod"}
	if err := kopf.OwnerOf(parent).Adopt(pod); err != nil {
		fmt.Println(err)
	}
	meta := kopf.ViewOf(pod).Get("metadata")
	fmt.Println(meta.Get("generateName"), meta.Get("namespace"), meta.Get("ownerReferences", 0, "kind"))
	// Output: obj1- ns1 KopfExample
}
