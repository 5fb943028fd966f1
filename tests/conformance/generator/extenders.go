package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	extender "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// extenderHost stands for the server in configurations and texts of cases; its extenders are told apart by path.
const extenderHost = "http://extender.example"

// exchange is one call of an extender and what it answered.
type exchange struct {
	Extender int             `json:"extender"`
	Verb     string          `json:"verb"`
	Request  json.RawMessage `json:"request"`
	Status   int             `json:"status"`
	Response json.RawMessage `json:"response"`
}

// extenderServer answers calls as recorded, and draws and records the answers of others.
type extenderServer struct {
	*httptest.Server
	mutex sync.Mutex
	known []exchange
	used  []exchange
	draw  *gen
}

func newExtenderServer(known []exchange, draw *gen) *extenderServer {
	made := &extenderServer{known: known, draw: draw}
	made.Server = httptest.NewServer(made)
	return made
}

func (s *extenderServer) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(in.Body)
	parts := strings.Split(strings.Trim(in.URL.Path, "/"), "/")
	if err != nil || len(parts) != 2 {
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	at, err := strconv.Atoi(parts[0])
	if err != nil {
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	answer := exchange{Extender: at, Verb: parts[1], Request: body}
	same := func(other exchange) bool {
		return other.Extender == answer.Extender && other.Verb == answer.Verb &&
			bytes.Equal(canonicalRequest(other.Request), canonicalRequest(body))
	}
	if i := slices.IndexFunc(s.known, same); i >= 0 {
		answer = s.known[i]
	} else if s.draw != nil {
		answer.Status, answer.Response = s.draw.answer(answer.Verb, body)
		s.known = append(s.known, answer)
	} else {
		out.WriteHeader(http.StatusNotFound)
		return
	}
	if !slices.ContainsFunc(s.used, same) {
		s.used = append(s.used, answer)
	}
	out.WriteHeader(answer.Status)
	_, _ = out.Write(answer.Response)
}

// canonicalRequest is a request with its nodes in one order.
func canonicalRequest(body []byte) []byte {
	var args struct {
		Pod                   *v1.Pod
		Nodes                 *v1.NodeList
		NodeNames             *[]string
		NodeNameToVictims     map[string]*extender.Victims
		NodeNameToMetaVictims map[string]*extender.MetaVictims
	}
	if json.Unmarshal(body, &args) != nil {
		return body
	}
	if args.Nodes != nil {
		slices.SortFunc(args.Nodes.Items, func(a, b v1.Node) int { return strings.Compare(a.Name, b.Name) })
	}
	if args.NodeNames != nil {
		slices.Sort(*args.NodeNames)
	}
	text, err := json.Marshal(args)
	if err != nil {
		return body
	}
	return text
}

// answer draws what an extender says.
func (g gen) answer(verb string, body []byte) (int, json.RawMessage) {
	if g.chance(4) {
		return pick(g, 500, 404, 503), json.RawMessage(`{}`)
	}
	switch verb {
	case "filter":
		return 200, g.filterAnswer(body)
	case "prioritize":
		return 200, g.prioritizeAnswer(body)
	case "preempt":
		return 200, g.preemptAnswer(body)
	}
	return 200, json.RawMessage(`{}`)
}

func (g gen) filterAnswer(body []byte) json.RawMessage {
	var args extender.ExtenderArgs
	if err := json.Unmarshal(body, &args); err != nil {
		return json.RawMessage(`{"Error":"cannot read the request"}`)
	}
	if g.chance(4) {
		return raw(object{"Error": pick(g, "no licence left", "busy")})
	}
	var names []string
	if args.NodeNames != nil {
		names = *args.NodeNames
	} else {
		for _, node := range args.Nodes.Items {
			names = append(names, node.Name)
		}
	}
	kept, failed, never := []string{}, object{}, object{}
	for _, name := range names {
		switch draw := g.IntN(100); {
		case draw < 35:
			kept = append(kept, name)
		case draw < 60:
			failed[name] = pick(g, "no licence on the node", "rack is full", "")
		case draw < 80:
			never[name] = pick(g, "wrong data centre", "rack is full")
		case draw < 86:
			failed[name], never[name] = "rack is full", "wrong data centre"
		case draw < 90:
			kept = append(kept, name)
			failed[name] = "kept and failed"
		}
	}
	if g.chance(4) {
		failed["node-of-nobody"] = "rack is full"
	}
	answer := object{"FailedNodes": failed, "FailedAndUnresolvableNodes": never}
	if args.NodeNames != nil {
		if g.chance(3) {
			kept = append(kept, "node-of-nobody")
		}
		if g.chance(95) {
			answer["NodeNames"] = kept
		}
		return raw(answer)
	}
	items := []v1.Node{}
	for _, node := range args.Nodes.Items {
		if slices.Contains(kept, node.Name) {
			items = append(items, node)
		}
	}
	if g.chance(95) {
		answer["Nodes"] = object{"items": items}
	}
	return raw(answer)
}

func (g gen) prioritizeAnswer(body []byte) json.RawMessage {
	var args extender.ExtenderArgs
	if err := json.Unmarshal(body, &args); err != nil || g.chance(4) {
		return json.RawMessage(`{"no":"list"}`)
	}
	var names []string
	if args.NodeNames != nil {
		names = *args.NodeNames
	} else {
		for _, node := range args.Nodes.Items {
			names = append(names, node.Name)
		}
	}
	scores := []object{}
	for _, name := range append(names, "node-of-nobody") {
		for range pick(g, 0, 1, 1, 1, 1, 1, 2) {
			scores = append(scores, object{"Host": name, "Score": pick(g, 0, 1, 3, 5, 10, 10, -4, 50)})
		}
	}
	return raw(scores)
}

func (g gen) preemptAnswer(body []byte) json.RawMessage {
	var args extender.ExtenderPreemptionArgs
	if err := json.Unmarshal(body, &args); err != nil {
		return json.RawMessage(`{}`)
	}
	sent := map[string][]string{}
	violations := map[string]int64{}
	for name, victims := range args.NodeNameToMetaVictims {
		for _, pod := range victims.Pods {
			sent[name] = append(sent[name], pod.UID)
		}
		violations[name] = victims.NumPDBViolations
	}
	for name, victims := range args.NodeNameToVictims {
		for _, pod := range victims.Pods {
			sent[name] = append(sent[name], string(pod.UID))
		}
		violations[name] = victims.NumPDBViolations
	}
	var names []string
	for name := range sent {
		names = append(names, name)
	}
	slices.Sort(names)
	nodes := object{}
	for _, name := range names {
		if g.chance(35) {
			continue
		}
		pods := []object{}
		for _, uid := range sent[name] {
			if len(sent[name]) == 1 || g.chance(90) {
				pods = append(pods, object{"UID": uid})
			}
		}
		if g.chance(5) {
			pods = append(pods, object{"UID": "uid-of-nobody"})
		}
		if g.chance(3) {
			pods = []object{}
		}
		nodes[name] = object{"Pods": pods, "NumPDBViolations": violations[name]}
	}
	if g.chance(3) {
		nodes["node-of-nobody"] = object{"Pods": []object{}, "NumPDBViolations": 0}
	}
	return raw(object{"NodeNameToMetaVictims": nodes})
}

// extenders draws the configuration's list.
func (g gen) extenders() []object {
	var all []object
	for i := range pick(g, 1, 1, 2, 3) {
		made := object{"urlPrefix": fmt.Sprintf("%s/%d%s", extenderHost, i, pick(g, "", "/")), "weight": g.between(1, 5)}
		if g.chance(80) {
			made["filterVerb"] = "filter"
		}
		if g.chance(60) {
			made["prioritizeVerb"] = "prioritize"
		}
		if g.chance(35) {
			made["preemptVerb"] = "preempt"
		}
		if g.chance(75) {
			made["nodeCacheCapable"] = true
		}
		if g.chance(35) {
			made["ignorable"] = true
		}
		if g.chance(30) {
			var managed []object
			for _, name := range some(g, 60, "nvidia.com/gpu", "example.com/widget") {
				managed = append(managed, object{"name": name, "ignoredByScheduler": g.chance(50)})
			}
			if managed != nil {
				made["managedResources"] = managed
			}
		}
		all = append(all, made)
	}
	return all
}

// filterByExtenders is schedule_one.go's findNodesThatPassExtenders.
func (c *cluster) filterByExtenders(pod *v1.Pod, nodes []fwk.NodeInfo, diagnosis *framework.Diagnosis) ([]fwk.NodeInfo, error) {
	before := len(nodes)
	for _, extender := range c.sched.Extenders {
		if len(nodes) == 0 {
			break
		}
		if !extender.IsInterested(pod) {
			continue
		}
		kept, failed, never, err := extender.Filter(pod, nodes)
		if err != nil && extender.IsIgnorable() {
			continue
		}
		if err != nil {
			return nil, err
		}
		for name, text := range never {
			diagnosis.NodeToStatus.Set(name, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text))
		}
		for name, text := range failed {
			if _, both := never[name]; !both {
				diagnosis.NodeToStatus.Set(name, fwk.NewStatus(fwk.Unschedulable, text))
			}
		}
		nodes = kept
	}
	if len(nodes) != before {
		if diagnosis.UnschedulablePlugins == nil {
			diagnosis.UnschedulablePlugins = sets.New[string]()
		}
		diagnosis.UnschedulablePlugins.Insert(framework.ExtenderName)
	}
	return nodes, nil
}

// scoreByExtenders adds what the extenders say to the totals, as schedule_one.go's prioritizeNodes does.
func (d *decision) scoreByExtenders(c *cluster, pod *v1.Pod, nodes []fwk.NodeInfo) {
	for _, extender := range c.sched.Extenders {
		if len(nodes) < 2 || !extender.IsInterested(pod) {
			continue
		}
		scores, weight, err := extender.Prioritize(pod, nodes)
		if err != nil {
			continue
		}
		for _, score := range *scores {
			if _, ok := d.Total[score.Host]; ok {
				d.Total[score.Host] += score.Score * weight * (fwk.MaxNodeScore / 10)
			}
		}
	}
}
