// Command generator writes conformance cases that kube-scheduler's own code
// decided, and checks itself against cases that exist.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// schedulingCase is one line of a family.
type schedulingCase struct {
	Name       string            `json:"name"`
	Kubernetes string            `json:"kubernetes,omitempty"`
	Config     json.RawMessage   `json:"config"`
	Objects    []json.RawMessage `json:"objects"`
	Pending    []json.RawMessage `json:"pending"`
	Decisions  []decision        `json:"decisions"`
	Exchanges  []exchange        `json:"exchanges,omitempty"`
	// Ends says of each pending pod how its attempt ends after Reserve; without it that is not tried.
	Ends []string `json:"ends,omitempty"`

	draw *gen
}

// run fills in the decisions, until the first that preempts or writes claims. A panic of upstream's code is errPanic.
func (s *schedulingCase) run() error {
	s.Kubernetes = kubernetesVersion
	if err := s.decide(); err != nil {
		return err
	}
	if panicked.Swap(false) {
		return errPanic
	}
	return nil
}

func (s *schedulingCase) decide() error {
	config := s.Config
	if bytes.Contains(config, []byte(extenderHost)) {
		server := newExtenderServer(s.Exchanges, s.draw)
		defer server.Close()
		config = bytes.ReplaceAll(config, []byte(extenderHost), []byte(server.URL))
		defer func() {
			s.Exchanges = server.used
			for i := range s.Decisions {
				d := &s.Decisions[i]
				d.Error = strings.ReplaceAll(d.Error, server.URL, extenderHost)
				d.Message = strings.ReplaceAll(d.Message, server.URL, extenderHost)
			}
		}()
	}
	c, err := newCluster(config, s.Objects, false)
	if err != nil {
		return err
	}
	defer c.stop()
	s.Decisions = []decision{}
	c.claims.delivers = s.Ends != nil
	for i, raw := range s.Pending {
		object, err := decode(raw)
		if err != nil {
			return err
		}
		pod := object.(*v1.Pod)
		if err := c.informers.Core().V1().Pods().Informer().GetIndexer().Add(pod); err != nil {
			return err
		}
		c.claims.writes = nil
		d := c.decide(pod)
		if d.Chosen != "" && s.Ends != nil {
			if err := c.bind(pod, &d, s.Ends[i]); err != nil {
				return err
			}
		} else if d.Chosen != "" {
			if err := c.place(pod, &d); err != nil {
				return err
			}
		}
		d.Writes = c.claims.writes
		s.Decisions = append(s.Decisions, d)
		if d.Nominated != "" || s.Ends == nil && len(d.Deallocated)+len(d.DeletedClaims) > 0 {
			break
		}
	}
	return nil
}

// panicked says that upstream's code panicked, which it does in goroutines of its own.
var panicked atomic.Bool

var (
	errPanic  = errors.New("kube-scheduler panics")
	errChance = errors.New("what kube-scheduler decides depends on chance")
)

func main() {
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(context.Context, any) { panicked.Store(true) })
	family := flag.String("family", "basic", "one of "+strings.Join(familyNames(), ", "))
	seed := flag.Uint64("seed", 1, "the same seed gives the same cases")
	cases := flag.Int("cases", 100, "how many")
	replay := flag.String("replay", "", "decide the cases of this .jsonl.gz again and compare")
	again := flag.String("again", "", "decide the cases of this .jsonl.gz again and write them")
	expressions := flag.Bool("cel", false, "evaluate the CEL expressions of the input, a JSON object a line")
	random := flag.Bool("cel-random", false, "write random CEL expressions with what Kubernetes' CEL says of them")
	typed := flag.Bool("cel-typed", false, "write typed CEL programs with what Kubernetes' CEL says of them")
	spliced := flag.Bool("cel-spliced", false, "write CEL programs made of parts of those of the input, with what Kubernetes' CEL says of them")
	devices := flag.Bool("cel-devices", false, "write device selectors with what Kubernetes says of them")
	calls := flag.Bool("cel-calls", false, "write calls of CEL's functions with what Kubernetes' CEL and cel-go give")
	requests := flag.Bool("requests", false, "write what the pods of the input take of their nodes, a JSON object with a pod a line")
	logarithms := flag.Bool("ln", false, "write logarithms as Go computes them")
	flag.Parse()
	var err error
	if *logarithms {
		err = writeLogarithms(os.Stdout)
	} else if *requests {
		err = writeRequests(os.Stdin, os.Stdout)
	} else if *calls {
		err = writeCalls(os.Stdout)
	} else if *random {
		var lines bytes.Buffer
		if err = writeExpressions(*seed, *cases, &lines); err == nil {
			err = evaluateCEL(&lines, os.Stdout)
		}
	} else if *typed {
		var lines bytes.Buffer
		if err = writeTyped(*seed, *cases, &lines); err == nil {
			err = writeVariables(os.Stdout)
		}
		if err == nil {
			err = answerCEL(&lines, os.Stdout, 100)
		}
	} else if *spliced {
		var lines bytes.Buffer
		if err = writeSpliced(*seed, *cases, os.Stdin, &lines); err == nil {
			err = writeVariables(os.Stdout)
		}
		if err == nil {
			err = answerCEL(&lines, os.Stdout, 20)
		}
	} else if *devices {
		err = writeDevices(*seed, *cases, os.Stdout)
	} else if *expressions {
		err = evaluateCEL(os.Stdin, os.Stdout)
	} else if *replay != "" {
		err = replayFile(*replay)
	} else if *again != "" {
		err = writeAgain(*again)
	} else {
		err = generate(*family, *seed, *cases)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(family string, seed uint64, cases int) error {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if family == "devices-worked" {
		cases = min(cases, len(workedCases()))
	}
	for i := range cases {
		made, err := makeCase(family, seed, i)
		if err != nil {
			return fmt.Errorf("%s, seed %d, case %d: %w", family, seed, i, err)
		}
		if err := encoder.Encode(made); err != nil {
			return err
		}
	}
	return nil
}

// readCases reads the lines of a .jsonl.gz.
func readCases(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unzipped)
}

// writeAgain writes the cases of a file as they are decided now.
func writeAgain(path string) error {
	text, err := readCases(path)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		decided, err := decideAgain(line)
		if errors.Is(err, errPanic) || errors.Is(err, errChance) {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		if err != nil {
			return err
		}
		fmt.Println(string(decided))
	}
	return nil
}

// replayFile decides recorded cases again; any difference is an error.
func replayFile(path string) error {
	text, err := readCases(path)
	if err != nil {
		return err
	}
	var lines, skipped, different int
	for line := range bytes.Lines(text) {
		lines++
		again, err := decideAgain(line)
		if err != nil {
			skipped++
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		ours, theirs := canonical(again), canonical(line)
		if !bytes.Equal(ours, theirs) {
			different++
			at := 0
			for at < min(len(ours), len(theirs)) && ours[at] == theirs[at] {
				at++
			}
			from := max(0, at-200)
			fmt.Fprintf(os.Stderr, "%.40s differs: …%.400s\nrecorded: …%.400s\n", line, ours[from:], theirs[from:])
		}
	}
	fmt.Printf("%s: %d cases, %d skipped, %d different\n", path, lines, skipped, different)
	if different > 0 {
		return fmt.Errorf("%d cases are decided otherwise", different)
	}
	return nil
}

// decideAgain decides a case of any family.
func decideAgain(line []byte) ([]byte, error) {
	var probe struct {
		Name       string
		RejectedBy []string
		Point      string
	}
	if err := json.Unmarshal(line, &probe); err != nil {
		return nil, err
	}
	var decided any
	var err error
	switch {
	case probe.Point != "":
		var o outcomeCase
		if err = json.Unmarshal(line, &o); err == nil {
			err = o.run()
		}
		decided = &o
	case probe.RejectedBy != nil:
		var h hintCase
		if err = json.Unmarshal(line, &h); err == nil {
			_, err = h.run()
		}
		decided = &h
	default:
		var s schedulingCase
		if err = json.Unmarshal(line, &s); err == nil {
			err = s.run()
		}
		if family, _, _ := strings.Cut(probe.Name, "-"); err == nil && !s.isStable(family) {
			err = errChance
		}
		decided = &s
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", probe.Name, err)
	}
	return json.Marshal(decided)
}
