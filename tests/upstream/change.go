// Changes kube-scheduler and its integration tests so that the peer beside them is run. Called by run.sh.
//
//	go run change.go KUBERNETES
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// What stands in a file of upstream, once, and what stands there for us.
var changes = []struct{ file, upstream, ours string }{
	{"pkg/scheduler/scheduler.go",
		"func (sched *Scheduler) Run(ctx context.Context) {", "func (sched *Scheduler) runInProcess(ctx context.Context) {"},
	{"pkg/scheduler/scheduler.go",
		"\treturn sched, nil\n}", "\treturn sched, preparePeer(ctx, sched, &options)\n}"},
	{"pkg/scheduler/scheduler.go",
		"go wait.UntilWithContext(ctx, sched.ScheduleOne, 0)", "go wait.UntilWithContext(ctx, sched.scheduleOneInProcess, 0)"},
	{"pkg/scheduler/schedule_one.go",
		"func (sched *Scheduler) ScheduleOne(ctx context.Context) {", "func (sched *Scheduler) scheduleOneInProcess(ctx context.Context) {"},
	// The pods must be where batching places them, without batching.
	{"test/integration/scheduler/batch/batch_test.go",
		"if batched[i] != tt.pods[i].expectBatched {", "if batched[i] {"},
	// This scheduler shares a client, which does not tell the address of its server.
	{"test/integration/daemonset/daemonset_test.go",
		"\t\tprofile.NewRecorderFactory(eventBroadcaster),\n\t)", "\t\tprofile.NewRecorderFactory(eventBroadcaster),\n\t\tscheduler.WithKubeConfig(config),\n\t)"},
	// The next scheduler starts when this one, which is another process, has ended.
	{"test/integration/dra/dra.go",
		"\t_, scheduler.informerFactory = util.StartScheduler(schedulerCtx, cfg, nil)\n",
		"\tsched, informerFactory := util.StartScheduler(schedulerCtx, cfg, nil)\n\tscheduler.informerFactory = informerFactory\n" +
			"\tscheduler.cancel = func(cause string) {\n\t\tschedulerCtx.Cancel(cause)\n\t\tsched.WaitForEnd()\n\t}\n"},
}

// Gates of test/integration/dra that the program refuses to turn on, with the version if it refuses them in one only. The
// tests there that need none of them run without them, in the API server too; skipped.txt has the others.
var refused = []struct{ gate, version string }{
	{"DRAListTypeAttributes", ""},
	{"DRANodeAllocatableResources", ""},
	{"DRAWorkloadResourceClaims", ""},
	{"GenericWorkload", ""},
	{"GangScheduling", "1.36"},
	{"DRADerivedAttributes", "1.37"},
	{"DRADeviceCompatibilityGroups", "1.37"},
	{"DRAOptionalNodeOperations", "1.37"},
}

// A test goes on while its scheduler starts to run. For us it waits until the peer has seen the whole cluster, as a
// scheduler in the test's process has when its informers are synced.
var running = regexp.MustCompile(`(?m)^(\t+)go (?:func\(\) \{\n\t+)?((?:testCtx\.)?(?:Scheduler|scheduler|sched))\.Run\((.*)\)$`)

func main() {
	root := os.Args[1]
	for _, change := range changes {
		file := filepath.Join(root, filepath.FromSlash(change.file))
		check(rewrite(file, func(text string) (string, error) {
			if count := strings.Count(text, change.upstream); count != 1 {
				return "", fmt.Errorf("%s has %q %d times, not once: another release?", file, change.upstream, count)
			}
			return strings.Replace(text, change.upstream, change.ours, 1), nil
		}))
	}
	check(rewrite(filepath.Join(root, "test", "integration", "dra", "dra.go"), withoutRefused))
	started := 0
	for _, folder := range []string{"util", "scheduler", "volumescheduling", "daemonset"} {
		check(filepath.WalkDir(filepath.Join(root, "test", "integration", folder), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") {
				return err
			}
			return rewrite(file, func(text string) (string, error) {
				started += len(running.FindAllString(text, -1))
				return running.ReplaceAllStringFunc(text, start), nil
			})
		}))
	}
	if started == 0 {
		check(fmt.Errorf("no test runs a scheduler: another release?"))
	}
}

// The configurations of the tests of devices without the gates that the program refuses.
func withoutRefused(text string) (string, error) {
	for _, gate := range refused {
		if gate.version != "" && gate.version != os.Getenv("KUBERNETES") {
			continue
		}
		turned := regexp.MustCompile(`(?m)^\t+features\.` + gate.gate + `: +true,.*\n`)
		if !turned.MatchString(text) {
			return "", fmt.Errorf("no test of devices turns %s on: another release?", gate.gate)
		}
		text = turned.ReplaceAllString(text, "")
	}
	return text, nil
}

// The statement that runs a scheduler, after a wait for its peer.
func start(statement string) string {
	part := running.FindStringSubmatch(statement)
	indent, scheduler, context := part[1], part[2], part[3]
	test := "t"
	if context == "tCtx" {
		test = context
	}
	return indent + "if err := " + scheduler + ".Start(" + context + "); err != nil {\n" +
		indent + "\t" + test + ".Fatal(err)\n" + indent + "}\n" + statement
}

func rewrite(file string, change func(string) (string, error)) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed, err := change(string(text))
	if err != nil || changed == string(text) {
		return err
	}
	return os.WriteFile(file, []byte(changed), 0o644)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "change:", err)
		os.Exit(1)
	}
}
