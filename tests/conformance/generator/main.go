// Command generator writes conformance cases that kube-scheduler's own code
// decided, and checks itself against cases that exist.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// schedulingCase is one line of a family.
type schedulingCase struct {
	Name      string            `json:"name"`
	Config    json.RawMessage   `json:"config"`
	Objects   []json.RawMessage `json:"objects"`
	Pending   []json.RawMessage `json:"pending"`
	Decisions []decision        `json:"decisions"`
	Exchanges []exchange        `json:"exchanges,omitempty"`

	draw *gen
}

// run fills in the decisions, until the first that preempts.
func (s *schedulingCase) run() error {
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
	for _, raw := range s.Pending {
		object, err := decode(raw)
		if err != nil {
			return err
		}
		pod := object.(*v1.Pod)
		if err := c.informers.Core().V1().Pods().Informer().GetIndexer().Add(pod); err != nil {
			return err
		}
		d := c.decide(pod)
		if d.Chosen != "" {
			if err := c.place(pod, &d); err != nil {
				return err
			}
		}
		s.Decisions = append(s.Decisions, d)
		if d.Nominated != "" {
			break
		}
	}
	return nil
}

func main() {
	family := flag.String("family", "basic", "one of "+strings.Join(familyNames(), ", "))
	seed := flag.Uint64("seed", 1, "the same seed gives the same cases")
	cases := flag.Int("cases", 100, "how many")
	replay := flag.String("replay", "", "decide the cases of this .jsonl.gz again and compare")
	expressions := flag.Bool("cel", false, "evaluate the CEL expressions of the input, a JSON object a line")
	logarithms := flag.Bool("ln", false, "write logarithms as Go computes them")
	flag.Parse()
	var err error
	if *logarithms {
		err = writeLogarithms(os.Stdout)
	} else if *expressions {
		err = evaluateCEL(os.Stdin, os.Stdout)
	} else if *replay != "" {
		err = replayFile(*replay)
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

// replayFile decides recorded cases again; any difference is an error.
func replayFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		return err
	}
	var lines, skipped, different int
	for line := range bytes.Lines(text) {
		var probe struct {
			Name       string
			RejectedBy []string
			Point      string
		}
		if err := json.Unmarshal(line, &probe); err != nil {
			return err
		}
		lines++
		again, err := decideAgain(line, probe.RejectedBy != nil, probe.Point != "")
		if err != nil {
			skipped++
			fmt.Fprintf(os.Stderr, "%s: %v\n", probe.Name, err)
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
			fmt.Fprintf(os.Stderr, "%s differs: …%.400s\nrecorded: …%.400s\n", probe.Name, ours[from:], theirs[from:])
		}
	}
	fmt.Printf("%s: %d cases, %d skipped, %d different\n", path, lines, skipped, different)
	if different > 0 {
		return fmt.Errorf("%d cases are decided otherwise", different)
	}
	return nil
}

func decideAgain(line []byte, isHint, isOutcome bool) ([]byte, error) {
	if isOutcome {
		var o outcomeCase
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, err
		}
		if err := o.run(); err != nil {
			return nil, err
		}
		return json.Marshal(o)
	}
	if isHint {
		var h hintCase
		if err := json.Unmarshal(line, &h); err != nil {
			return nil, err
		}
		if _, err := h.run(); err != nil {
			return nil, err
		}
		return json.Marshal(h)
	}
	var s schedulingCase
	if err := json.Unmarshal(line, &s); err != nil {
		return nil, err
	}
	if err := s.run(); err != nil {
		return nil, err
	}
	return json.Marshal(s)
}
