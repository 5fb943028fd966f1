// Changes kube-scheduler's `New` and `Run` so that the peer beside them is run. Called by run.sh.
//
//	go run change.go KUBERNETES
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// What stands in upstream's file, once, and what stands there for us.
var changes = [][2]string{
	{"func (sched *Scheduler) Run(ctx context.Context) {", "func (sched *Scheduler) runInProcess(ctx context.Context) {"},
	{"\treturn sched, nil\n}", "\treturn sched, startPeer(ctx, sched, &options)\n}"},
}

func main() {
	if err := change(filepath.Join(os.Args[1], "pkg", "scheduler", "scheduler.go")); err != nil {
		fmt.Fprintln(os.Stderr, "change:", err)
		os.Exit(1)
	}
}

func change(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := string(text)
	for _, change := range changes {
		if count := strings.Count(changed, change[0]); count != 1 {
			return fmt.Errorf("%s has %q %d times, not once: another release?", file, change[0], count)
		}
		changed = strings.Replace(changed, change[0], change[1], 1)
	}
	return os.WriteFile(file, []byte(changed), 0o644)
}
