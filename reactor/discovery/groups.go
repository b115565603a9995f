package discovery

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// plainJSON is the content type of documents about one version.
const plainJSON = "application/json"

// maxRequests is the maximum number of concurrent requests.
const maxRequests = 8

// These are the entry points of discovery.
var (
	core  = root{apipath.Core, coreVersions}
	named = root{apipath.Groups, groupVersions}
)

// coreVersions decodes an APIVersions.
func coreVersions(body []byte) (versions []version, err error) {
	var list metav1.APIVersions
	err = json.Unmarshal(body, &list)
	for i, name := range list.Versions {
		versions = append(versions, version{schema.GroupVersion{Version: name}, i == 0})
	}
	return versions, err
}

// groupVersions decodes an APIGroupList.
func groupVersions(body []byte) (versions []version, err error) {
	var list metav1.APIGroupList
	err = json.Unmarshal(body, &list)
	for _, group := range list.Groups {
		for _, v := range group.Versions {
			name := schema.GroupVersion{Group: group.Name, Version: v.Version}
			versions = append(versions, version{name, v.Version == group.PreferredVersion.Version})
		}
	}
	return versions, err
}

// oneByOne requests the resources of each version.
func (f *found) oneByOne(ctx context.Context, get Get, from root, body []byte) error {
	versions, err := from.versions(body)
	if err != nil {
		return err
	}
	lists, errs := make([]metav1.APIResourceList, len(versions)), make([]error, len(versions))
	slots := make(chan struct{}, maxRequests)
	var running sync.WaitGroup // It is waited for below.
	for i, v := range versions {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			lists[i], errs[i] = ask(ctx, get, v)
		})
	}
	running.Wait()
	for i, v := range versions {
		switch {
		case errs[i] == nil:
			f.addAll(v, lists[i].APIResources)
		case !apierrors.IsNotFound(errs[i]): // a version that is not found has just disappeared
			f.failed[v.GroupVersion] = errs[i]
		}
	}
	return ctx.Err()
}

// ask requests the resources of one version.
func ask(ctx context.Context, get Get, v version) (list metav1.APIResourceList, err error) {
	path, err := apipath.Of(apipath.Target{Group: v.Group, Version: v.Version})
	if err != nil {
		return list, err
	}
	_, text, err := get(ctx, path, plainJSON)
	if err != nil {
		return list, err
	}
	return list, json.Unmarshal(text, &list)
}

// addAll adds the resources of one version with their subresources, which are separate
// entries of the list.
func (f *found) addAll(v version, listed []metav1.APIResource) {
	subresources := map[string][]string{}
	for _, r := range listed {
		if name, sub, ok := strings.Cut(r.Name, "/"); ok {
			subresources[name] = append(subresources[name], sub)
		}
	}
	for _, r := range listed {
		if strings.Contains(r.Name, "/") {
			continue
		}
		f.add(v, selectors.Resource{
			Plural: r.Name, Kind: r.Kind, Singular: r.SingularName, Shortcuts: r.ShortNames, Categories: r.Categories,
			Subresources: subresources[r.Name], Namespaced: r.Namespaced, Verbs: r.Verbs,
		})
	}
}
