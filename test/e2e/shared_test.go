package e2e_test

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
)

// sharer starts a replica that shares the objects with others.
func (s space) sharer(t *testing.T, args ...string) *process {
	t.Helper()
	return s.spawnModule(t, guest(t, "living"), append([]string{"--standalone", "--replicas", "shared", "--lease", s.namespace + "/op", "--lease-duration", leasing.String()}, args...)...)
}

// began returns how often a handler was called for each object.
func (p *process) began(t *testing.T, handler string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, line := range p.stdout.With(`"handler":"` + handler + `"`) {
		var said struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		counts[said.Name]++
	}
	return counts
}

// TestReplicasShareTheObjects: each of three replicas handles a part of the objects, and each object is handled by one. When a
// replica ends, its daemons continue in others, and nothing is handled again.
func TestReplicasShareTheObjects(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	const objects = 30
	handlers := []string{"--config", "handlers=create daemon index"}
	all := []*process{s.sharer(t, handlers...), s.sharer(t, handlers...), s.sharer(t, handlers...)}
	for _, p := range all {
		p.says(t, " 3 members share the objects")
	}
	s.createMany(t, "obj", objects)
	// lives waits until the daemons of all objects run in some of the replicas.
	lives := func(in ...*process) {
		t.Helper()
		s.until(t, fmt.Sprintf("%d replicas have all daemons", len(in)), func() bool {
			names := map[string]bool{}
			for _, p := range in {
				for name := range p.began(t, "daemonFn") {
					names[name] = true
				}
			}
			return len(names) == objects
		})
	}
	once := func() {
		t.Helper()
		created := map[string]int{}
		for _, p := range all {
			for name, times := range p.began(t, "createFn") {
				created[name] += times
			}
		}
		for name, times := range created {
			if times != 1 {
				t.Errorf("%s was created %d times", name, times)
			}
		}
	}
	s.manyHandled(t, "obj", 0, objects)
	lives(all...)
	once()
	daemons := map[string]int{}
	for i, p := range all {
		mine := p.began(t, "daemonFn")
		if len(mine) == 0 || len(mine) == objects {
			t.Errorf("replica %d has %d daemons", i, len(mine))
		}
		for name, times := range mine {
			if daemons[name] += times; daemons[name] > 1 {
				t.Errorf("%s has several daemons", name)
			}
		}
	}

	all[0].signal(t, syscall.SIGTERM)
	if code := all[0].exits(t); code != 0 {
		t.Errorf("the stopped replica ends with %d", code)
	}
	lives(all[1:]...)
	all[1].signal(t, syscall.SIGKILL)
	all[1].exits(t)
	lives(all[2])
	s.create(t, "seeker", "{}")
	s.until(t, "the last replica has seen all", func() bool { return len(all[2].stdout.With(`"name":"seeker"`, `"values":31`)) == 1 })
	once()
}

// TestReplicasStartAndCleanUp: startup and cleanup handlers run in each replica, background handlers in one, and after its end in
// another one.
func TestReplicasStartAndCleanUp(t *testing.T) {
	t.Parallel()
	for mode, joined := range map[string]string{"leader": waits, "shared": " 2 members share the objects"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			start := func() *process {
				return s.spawnModule(t, guest(t, "living"), "--standalone", "--replicas", mode, "--lease", s.namespace+"/op", "--lease-duration", leasing.String(),
					"--config", "handlers=startup background cleanup create")
			}
			has := func(p *process, handler string, calls int) {
				t.Helper()
				p.until(t, fmt.Sprintf("%s was called %d times", handler, calls), func() bool { return len(p.stdout.With(`"handler":"`+handler+`"`)) == calls })
			}
			first := start()
			has(first, "startupFn", 1)
			has(first, "backgroundFn", 1)
			second := start()
			second.says(t, joined)
			has(second, "startupFn", 1)
			has(second, "backgroundFn", 0)
			first.signal(t, syscall.SIGTERM)
			if code := first.exits(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			has(first, "cleanupFn", 1)
			has(first, "backgroundFn", 1)
			has(second, "backgroundFn", 1)
			has(second, "cleanupFn", 0)
			second.signal(t, syscall.SIGTERM)
			if code := second.exits(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			has(second, "cleanupFn", 1)
		})
	}
}
