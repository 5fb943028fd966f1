package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// deviceCase is a selector, a device as a ResourceSlice has it, and what Kubernetes says.
type deviceCase struct {
	Driver       string             `json:"driver"`
	Device       resourceapi.Device `json:"device"`
	Expr         string             `json:"expr"`
	CompileError string             `json:"compileError,omitempty"`
	Matches      *bool              `json:"matches,omitempty"`
	Error        string             `json:"error,omitempty"`
	// Cost is what the evaluation cost, where the order of a map does not decide it.
	Cost *uint64 `json:"cost,omitempty"`
}

const deviceDriver = "dra.example.com"

// writeDevices writes device selectors with the verdicts of the package that scheduler and API server use, with the
// feature gates that are on by default.
func writeDevices(seed uint64, cases int, out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	forms := celSelectors
	if kubernetesVersion == "1.37" {
		forms = slices.Concat(celSelectors, celListSelectors)
	}
	seen := map[string]bool{}
	for at := 0; len(seen) < cases; at++ {
		p := &typedProgram{gen: newGen("cel-devices", seed, at)}
		made := deviceCase{Driver: deviceDriver}
		if err := json.Unmarshal(raw(p.device()), &made.Device); err != nil {
			return err
		}
		if at < len(forms) {
			made.Expr = p.form(forms[at], 0)
		} else {
			made.Expr = p.selector(p.IntN(3), forms)
		}
		if seen[made.Expr] || !made.decide(60) || made.CompileError != "" && at >= len(forms) && p.chance(75) {
			continue
		}
		seen[made.Expr] = true
		if err := encoder.Encode(made); err != nil {
			return err
		}
	}
	p := &typedProgram{gen: newGen("cel-devices", seed, -1)}
	for _, expr := range celCostly {
		made := deviceCase{Driver: deviceDriver, Expr: p.form(expr, 0)}
		if err := json.Unmarshal(raw(p.device()), &made.Device); err != nil {
			return err
		}
		if made.decide(2) {
			if err := encoder.Encode(made); err != nil {
				return err
			}
		}
	}
	for _, value := range celOddValues {
		made := deviceCase{Driver: deviceDriver, Expr: "device.driver == 'dra.example.com'"}
		device := object{"name": "d", "attributes": object{"flag": object{"bool": true}, "other.example.com/odd": value}}
		if err := json.Unmarshal(raw(device), &made.Device); err != nil {
			return err
		}
		if made.decide(2) {
			if err := encoder.Encode(made); err != nil {
				return err
			}
		}
	}
	return nil
}

// decide fills in what Kubernetes says that many times; it is false where the order of a map decides that.
func (made *deviceCase) decide(times int) bool {
	compiler := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true})
	compiled := compiler.CompileCELExpression(made.Expr, dracel.Options{})
	if compiled.Error != nil {
		made.CompileError = compiled.Error.Detail
		return true
	}
	same, sameCost := true, true
	for range times {
		matches, details, err := compiled.DeviceMatches(context.Background(), dracel.Device{
			Driver:                   made.Driver,
			AllowMultipleAllocations: made.Device.AllowMultipleAllocations,
			Attributes:               made.Device.Attributes,
			Capacity:                 made.Device.Capacity,
		})
		failed := err != nil
		same = same && (made.Matches == nil || *made.Matches == matches) && (made.Error == "" || failed)
		if failed {
			same = same && made.Matches == nil
			made.Error = err.Error()
		} else {
			made.Matches = &matches
		}
		if details != nil && details.ActualCost() != nil {
			cost := *details.ActualCost()
			sameCost = sameCost && (made.Cost == nil || *made.Cost == cost)
			made.Cost = &cost
		}
	}
	if !sameCost {
		made.Cost = nil
	}
	return same
}

// device draws a device whose attributes are of the kinds that selectors expect, or not there.
func (p *typedProgram) device() object {
	attributes, capacity := object{}, object{}
	values := map[string][]object{
		"flag":    {{"bool": true}, {"bool": false}},
		"count":   {{"int": 5}, {"int": 0}, {"int": -3}, {"int": 9223372036854775807}},
		"model":   {{"string": "a100"}, {"string": ""}, {"string": "h100-80"}, {"string": "é"}},
		"version": {{"version": "1.2.3"}, {"version": "0.9.0-rc.1"}, {"version": "10.0.0+b"}, {"version": "1.2.3-alpha"}},
		"any":     {{"int": 1}, {"bool": true}, {"string": "true"}, {"version": "1.0.0"}},
		"list":    {{"ints": []int64{1, 2, 5}}, {"strings": []string{"a100", "b"}}, {"bools": []bool{true}}, {"versions": []string{"1.2.3", "2.0.0"}}, {"int": 5}, {"string": "a100"}},
	}
	ids := []string{"flag", "count", "model", "version", "any"}
	if kubernetesVersion == "1.37" {
		ids = append(ids, "list")
	}
	for _, id := range ids {
		for _, domain := range []string{"", deviceDriver + "/", "other.example.com/"} {
			// The driver's domain may be written or not, but not both.
			if domain == deviceDriver+"/" && attributes[id] != nil {
				continue
			}
			if p.chance(map[string]int{"": 70, deviceDriver + "/": 40, "other.example.com/": 40}[domain]) {
				attributes[domain+id] = pick(p.gen, values[id]...)
			}
		}
	}
	for _, id := range []string{"memory", "slots"} {
		for _, domain := range []string{"", "other.example.com/"} {
			if p.chance(60) {
				capacity[domain+id] = object{"value": pick(p.gen, "1Gi", "80Gi", "0", "500m", "1e3", "16", "1073741824", "9Ei", "1.5")}
			}
		}
	}
	device := object{"name": "d", "attributes": attributes, "capacity": capacity}
	if p.chance(50) {
		device["allowMultipleAllocations"] = p.chance(50)
	}
	return device
}

// selector draws a selector: atoms under operators and macros.
func (p *typedProgram) selector(depth int, forms []string) string {
	if depth <= 0 {
		return p.form(pick(p.gen, forms...), 0)
	}
	a, b := p.selector(depth-1, forms), p.selector(depth-1, forms)
	form := pick(p.gen, "(A && B)", "(A || B)", "!(A)", "(A ? B : A)", "(A == B)", "cel.bind(x, A, x && B)", "cel.bind(x, A, B || x)", "[1, 2].exists(n, A)",
		"[A, B].all(b, b)", "(A && B) || A", "optional.of(A).orValue(B)", "(A != B)", "cel.bind(x, device.attributes['dra.example.com'], A && x.flag == true)")
	return strings.NewReplacer("A", a, "B", b).Replace(form)
}

// deviceText draws a name or literal of a selector.
func (p *typedProgram) deviceText(pool string) (string, bool) {
	texts, known := map[string][]string{
		"domain":  {"'dra.example.com'", "'dra.example.com'", "'dra.example.com'", "'other.example.com'", "'absent.example.com'", "device.driver", "''"},
		"id":      {"flag", "count", "model", "version", "any", "absent"},
		"cap":     {"memory", "slots", "memory", "absent"},
		"literal": {"true", "false", "5", "0", "'a100'", "''", "5u", "5.0", "1", "semver('1.2.3')", "null", "'true'", "quantity('5')", "[]", "b'a100'"},
		"wanted":  {"'1Gi'", "'40Gi'", "'0'", "'16'", "'500m'", "'x'", "'1e3'", "'1.5'"},
		"needed":  {"'1.2.3'", "'1.0.0'", "'0.9.0'", "'2.0.0'", "'1.2'", "'v1.2.3'", "'1.2.3-alpha'"},
	}[pool]
	if !known {
		return "", false
	}
	return pick(p.gen, texts...), true
}

// celSelectors are selectors and parts of them.
var celSelectors = []string{
	"device.driver == 'dra.example.com'", "device.driver == #domain", "device.driver.startsWith('dra.')", "device.driver", "device", "device.attributes", "device.attributes[#domain]", "device.attributes[#domain].flag", "device.attributes[#domain].count", "device.attributes[#domain].model",
	"device.attributes[#domain].version", "device.attributes[#domain].any", "device.attributes[#domain].absent", "device.capacity", "device.capacity[#domain]", "device.capacity[#domain].memory", "device.allowMultipleAllocations", "!device.allowMultipleAllocations", "device.allowMultipleAllocations == false",
	"device.nope", "device.name == 'd'", "dev.driver == 'a'", "device['driver'] == 'a'", "has(device.driver)", "has(device.nope)", "has(device.allowMultipleAllocations)", "device.?driver.orValue('') == #domain", "device.attributes[#domain].flag == true", "device.attributes[#domain].flag && true", "!device.attributes[#domain].flag",
	"device.attributes[#domain].count > 3", "device.attributes[#domain].count >= 5.0", "device.attributes[#domain].count + 1 == 6", "device.attributes[#domain].count % 2 == 1", "-device.attributes[#domain].count < 0", "device.attributes[#domain].count == 5u", "5 == device.attributes[#domain].count", "device.attributes[#domain].count in [0, 5]", "10 / device.attributes[#domain].count > 1",
	"device.attributes[#domain].model == 'a100'", "device.attributes[#domain].model.startsWith('a')", "device.attributes[#domain].model.matches('^[ah]100')", "device.attributes[#domain].model in ['a100', 'h100-80']", "device.attributes[#domain].model.lowerAscii().size() > 2", "size(device.attributes[#domain].model) == 4", "device.attributes[#domain].model + 'x' == 'a100x'", "device.attributes[#domain].model < 'b'", "device.attributes[#domain].model.split('-').size() == 2",
	"device.attributes[#domain].version.isGreaterThan(semver(#needed))", "device.attributes[#domain].version.isLessThan(semver(#needed))", "device.attributes[#domain].version.compareTo(semver(#needed)) >= 0", "device.attributes[#domain].version == semver(#needed)", "device.attributes[#domain].version.major() == 1", "device.attributes[#domain].version.minor() + device.attributes[#domain].version.patch() > 2", "semver(#needed).isLessThan(device.attributes[#domain].version)", "semver(#needed, true).compareTo(device.attributes[#domain].version) == 0", "device.attributes[#domain].version > semver(#needed)",
	"device.attributes[#domain].version == '1.2.3'", "type(device.attributes[#domain].version) == kubernetes.Semver", "type(device.attributes[#domain].any) == bool", "type(device.attributes[#domain].#id) == int", "string(device.attributes[#domain].#id) == 'true'", "int(device.attributes[#domain].#id) > 0", "bool(device.attributes[#domain].#id)", "dyn(device.attributes[#domain].#id) == #literal",
	"device.attributes[#domain].#id == #literal", "device.attributes[#domain].#id != #literal", "#literal == device.attributes[#domain].#id", "device.attributes[#domain].#id == device.attributes[#domain].#id", "device.attributes[#domain].#id < 5", "device.attributes[#domain]['#id'] == #literal", "device.attributes[#domain].#id", "device.attributes[#domain].#id ? true : false",
	"device.capacity[#domain].memory.isGreaterThan(quantity(#wanted))", "device.capacity[#domain].#cap.isLessThan(quantity(#wanted))", "device.capacity[#domain].#cap.compareTo(quantity(#wanted)) >= 0", "device.capacity[#domain].#cap == quantity(#wanted)", "device.capacity[#domain].#cap.asInteger() > 10", "device.capacity[#domain].#cap.isInteger()", "device.capacity[#domain].#cap.add(quantity(#wanted)).compareTo(quantity('2Gi')) > 0", "device.capacity[#domain].#cap.sub(1).asApproximateFloat() > 10.0",
	"sign(device.capacity[#domain].#cap) == 1", "device.capacity[#domain].#cap > quantity('1')", "device.capacity[#domain].#cap == 16", "device.capacity[#domain].#cap.compareTo(16) == 0", "string(device.capacity[#domain].#cap) == '1Gi'", "type(device.capacity[#domain].#cap) == kubernetes.Quantity", "quantity(#wanted).isLessThan(device.capacity[#domain].#cap)", "device.capacity[#domain].#cap in [quantity('1Gi'), quantity(#wanted)]",
	"'#id' in device.attributes[#domain]", "'#cap' in device.capacity[#domain]", "#domain in device.attributes", "#domain in device.capacity", "has(device.attributes[#domain].#id)", "has(device.capacity[#domain].#cap)", "has(device.attributes[#domain].#id) && device.attributes[#domain].#id == #literal", "'#id' in device.attributes[#domain] && device.attributes[#domain].#id == #literal", "device.attributes[#domain].?#id.orValue(5) == #literal", "device.attributes[#domain][?'#id'].orValue(true) == true", "device.attributes[?#domain].?#id.hasValue()", "device.attributes[?#domain].hasValue()",
	"device.attributes.?absent.hasValue()", "device.capacity[#domain].?#cap.optMap(q, q.isGreaterThan(quantity(#wanted))).orValue(false)", "device.capacity[?#domain].?#cap.hasValue()", "size(device.attributes) > 1", "device.attributes.size() == 2", "device.attributes[#domain].size() > 2", "size(device.capacity[#domain]) == 0", "device.attributes[#domain] == {}", "device.capacity[#domain] == {}", "device.attributes == {}", "device == device", "device.attributes == device.attributes", "device.attributes[#domain] == device.attributes[#domain]",
	"device.attributes.exists(d, d == #domain)", "device.attributes.all(d, d.endsWith('.com'))", "device.attributes.exists(d, device.attributes[d].size() > 3)", "device.attributes.exists(d, a, a.exists(id, id == '#id'))", "device.attributes[#domain].exists(id, id == '#id')", "device.attributes[#domain].exists(id, v, v == #literal)", "device.attributes[#domain].all(id, id.size() > 3)", "device.attributes[#domain].all(id, v, v != #literal)", "device.attributes[#domain].exists_one(id, id.startsWith('m'))", "device.attributes[#domain].existsOne(id, v, v == true)", "device.attributes[#domain].filter(id, id.contains('o')).size() == 2", "device.attributes[#domain].map(id, id).sort() == ['count', 'flag']",
	"device.attributes[#domain].transformList(id, v, v == true, id).size() == 1", "device.attributes[#domain].transformMap(id, v, v == true).#id == true", "device.capacity.exists(d, c, c.exists(id, q, q.isGreaterThan(quantity(#wanted))))", "device.capacity[#domain].all(id, q, q.isInteger())", "device.capacity[#domain].exists(id, device.capacity[#domain][id].isGreaterThan(quantity(#wanted)))",
	"cel.bind(dra, device.attributes[#domain], dra.flag && dra.count > 3)", "cel.bind(dra, device.attributes[#domain], has(dra.#id) && dra.#id == #literal)", "cel.bind(c, device.capacity[#domain], c.#cap.isGreaterThan(quantity(#wanted)))", "cel.bind(a, device.attributes[#domain].#id, a == #literal || a == 5)", "cel.bind(x, 1, cel.bind(x, x + 1, x == 2))", "cel.bind(x, device.attributes[#domain].absent, true)", "cel.bind(x, device.attributes[#domain].absent, x == 1 || true)", "cel.bind(device, {'driver': 'x'}, device.driver == 'x')", "cel.bind(x, device.driver, x)", "cel.bind(x.y, 1, true)", "cel.bind('x', 1, true)",
	"cel.bind(x, 1)", "cel.bind(v, device.attributes[#domain].version, v.isGreaterThan(semver(#needed)) && v.isLessThan(semver('2.0.0')))", "[device.attributes[#domain].#id, device.attributes[#domain].#id].exists(v, v == #literal)", "[1, device.attributes[#domain].#id].exists(v, v == 5)", "[device.attributes[#domain].#id, 1].exists(v, v == 5)", "{'a': device.attributes[#domain].#id}.a == #literal",
	"device.attributes[#domain].#id.includes('a')", "device.attributes[#domain].#id.exists(v, v == 1)", "device.attributes[#domain].#id.absent", "device.attributes[#domain].#id.size() > 1", "device.attributes[#domain].#id[0] == 1", "device.attributes.flag", "device.attributes.absent.flag", "device.attributes['dra.example.com/flag']", "device.attributes[1]", "device.attributes[#domain][1]", "device.attributes[#domain].flag.x == 1", "true", "false", "1", "'true'", "null", "[true]", "dyn(true)", "dyn(1)", "optional.of(true)", "optional.of(true).value()", "1 / 0 == 1",
	"device.driver == 1", "device.allowMultipleAllocations == 1", "device.driver.nope()", "nope(device)", "device.driver ==", "device.attributes[#domain].#id ? device.attributes[#domain].flag : device.allowMultipleAllocations", "(device.attributes[#domain].#id == #literal) || device.attributes[#domain].absent", "device.attributes[#domain].absent || device.allowMultipleAllocations", "device.attributes[#domain].absent && false", "type(device.attributes[#domain]) == map", "type(device) == map", "device.attributes[#domain].count > device.attributes[#domain].any", "device.attributes[#domain].version.compareTo(device.attributes['other.example.com'].version) == 0",
	"math.greatest(1, 2) == 2", "device.attributes[#domain].model.format([1]) == ''", "'%s'.format([device.attributes[#domain].#id]) == '5'", "'%d'.format([device.attributes[#domain].#id]) == '5'", "duration('1s') > duration(device.attributes[#domain].model)", "device.attributes[#domain].count == 5 && device.attributes[#domain].model == 'a100' && device.attributes[#domain].flag", "device.attributes[#domain].count * 1.0 == 5.0", "string(device.attributes[#domain].version) == '1.2.3'",
}

// celListSelectors are selectors about attributes that are lists, which 1.37 knows.
var celListSelectors = []string{
	"device.attributes[#domain].list.exists(v, v == #literal)", "device.attributes[#domain].list.all(v, v != #literal)", "device.attributes[#domain].list.includes(#literal)", "device.attributes[#domain].list.includes(5)", "#literal in device.attributes[#domain].list", "size(device.attributes[#domain].list) == 2", "device.attributes[#domain].list.size() > 1",
	"device.attributes[#domain].list[0] == #literal", "device.attributes[#domain].list[7] == 1", "device.attributes[#domain].list == [1, 2, 5]", "device.attributes[#domain].list == ['a100', 'b']", "device.attributes[#domain].list", "device.attributes[#domain].list.filter(v, v == #literal).size() == 1", "device.attributes[#domain].list.map(v, v + v).size() == 3", "device.attributes[#domain].list.exists_one(v, v == 1)",
	"device.attributes[#domain].list.exists(i, v, i == 1 && v == #literal)", "device.attributes[#domain].list.all(v, type(v) == int)", "device.attributes[#domain].list.exists(v, v.isGreaterThan(semver(#needed)))", "device.attributes[#domain].list[0].major() == 1", "type(device.attributes[#domain].list) == list", "dyn(true)", "dyn(1)", "device.attributes[#domain].#id.includes(#literal)", "device.attributes[#domain].#id.exists(v, v == #literal)",
	"sets.contains(device.attributes[#domain].list, [1])", "sets.intersects(device.attributes[#domain].list, ['a100'])", "device.attributes[#domain].list.sort() == [1, 2, 5]", "device.attributes[#domain].list.sum() > 7", "device.attributes[#domain].list.max() == 5", "device.attributes[#domain].list.isSorted()", "device.attributes[#domain].list.indexOf(5) == 2", "device.attributes[#domain].list.join(',') == 'a100,b'", "device.attributes[#domain].list.slice(0, 1) == [1]", "device.attributes[#domain].list.first().hasValue()",
	"device.attributes[#domain].?list.orValue([]).exists(v, v == 1)", "has(device.attributes[#domain].list) && 1 in device.attributes[#domain].list", "device.attributes[#domain].list.distinct().size() == 3", "device.attributes[#domain].list + [7] == [1, 2, 5, 7]", "device.attributes[#domain].list ? true : false", "cel.bind(l, device.attributes[#domain].list, l.exists(v, v == 5) || l.includes('b'))", "'%s'.format([device.attributes[#domain].list]) == '[1, 2, 5]'", "string(device.attributes[#domain].list) == ''", "device.attributes[#domain].list > 1",
	"lists.range(3).size() == 3", "lists.range(-1).size() == 0", "lists.range(1000001).size() > 3",
}

// celCostly are selectors whose costs are near the limit or above it, and some of each kind of cost.
var celCostly = []string{
	"lists.range(500).all(a, lists.range(500).all(b, a + b >= 0))", "lists.range(300).all(a, lists.range(300).all(b, a + b >= 0))", "lists.range(370).all(a, lists.range(370).all(b, a + b >= 0))", "lists.range(2000).exists(a, lists.range(2000).exists(b, a + b < 0)) || true", "lists.range(3000).map(a, a).size() > 1", 
	"lists.range(1000).map(a, 'aaaaaaaaaaaaaaaaaaaaaaaa').join(',').matches('(a+)+(a+)+(a+)+(a+)+(a+)+(a+)+(a+)+b')", "lists.range(1000).map(a, 'aaaaaaaaaaaaaaaaaaaaaaaa').join(',').startsWith('b')", "lists.range(1000).map(a, 'aaaaaaaaaaaaaaaaaaaaaaaa').join(',').endsWith('bbbbbbbbbbbbbbbbbbbbbbbbbb')", "lists.range(1000).map(a, 'aaaaaaaaaaaaaaaaaaaaaaaa').join(',').contains('bbbbbbbbbbbbbbbbbbbbbbbbbb')", "cel.bind(t, lists.range(1000).map(a, 'aaaaaaaaaaaaaaaaaaaaaaaa').join(','), t.contains(t))",
	"true || lists.range(2000).all(a, lists.range(2000).all(b, true))", "device.driver == 'x' && lists.range(2000).all(a, lists.range(2000).all(b, true))", "lists.range(2000).all(a, lists.range(2000).all(b, true)) || true", "lists.range(-1).size() == 0", "lists.range(1000001).size() > 3",
	"lists.range(60).includes(59)", "lists.range(60).includes(3)", "lists.range(48).includes(99)", "lists.range(49).includes(99)", "lists.range(1000).includes(-1)", "matches('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'a+b+c+d+e+f')", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.matches(device.driver)", "device.driver.matches('a+b+c+d+e+f')", "matches(device.driver, 'a+b+c+d+e+f')",
	"'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.startsWith(device.driver)", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.endsWith('aaa')", "device.driver.startsWith('d')", "device.driver.contains('example')", "device.driver + device.driver == 'a'", "device.driver < 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "device.driver in ['aaaaaaaaaaaaaaaaaaaaaa', 'b', 'c']", "device.driver in [device.driver, 'b', 'c']", "[1, 2, 3].size() == 3", "[1, 2, device.driver.size()].size() == 3", "[].size() == 0", "{'a': 1}.size() == 1", "{'a': device.driver}.size() == 1", "{'a': {'b': device.driver}}.a.b == 'x'",
	"device.driver.lowerAscii() == 'x'", "device.driver.replace('a', 'bbb') == 'x'", "device.driver.split('.').size() == 3", "device.driver.split('.').join('-') == 'x'", "device.driver.substring(1, 3) == 'x'", "device.driver.indexOf('e') == 3", "device.driver.find('e.*') == 'x'", "device.driver.findAll('e').size() == 3", "isURL(device.driver)", "url('http://a.com/' + device.driver).getHost() == 'a.com'", "isIP(device.driver)", "ip('10.0.0.1').family() == 4", "cidr('10.0.0.0/8').containsIP('10.0.0.1')", "cidr('10.0.0.0/8').containsIP(ip('10.0.0.1'))", "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "cidr('10.0.0.0/8').ip() == ip('10.0.0.0')",
	"format.dns1123Label().validate(device.driver).hasValue()", "quantity('1Gi').isGreaterThan(quantity('1'))", "isQuantity(device.driver)", "isSemver(device.driver)", "semver('1.2.3') == semver('1.2.3')", "quantity('1') == quantity('2')", "ip('10.0.0.1') == ip('10.0.0.2')", "[3, 1, 2].sort() == [1, 2, 3]", "[3, 1, 2].sortBy(x, -x) == [3, 2, 1]", "[3, 1, device.driver.size()].sort() == [1, 2, 3]", "[1, 2, 2].distinct() == [1, 2]", "[[1], [2]].flatten() == [1, 2]", "[1, 2].reverse() == [2, 1]", "[1, 2, 3].slice(0, 2) == [1, 2]", "[1, 2].first().hasValue()", "[1, 2].last() == optional.of(2)",
	"sets.contains([1, 2, 3], [1, 2])", "sets.intersects([1, 2, 3], [7, 8])", "sets.equivalent([1, 2, 3], [3, 2, 1])", "[1, 2, 3].sum() == 6", "[1, 2, 3].max() == 3", "[1, 2, 3].isSorted()", "[1, 2, 3].indexOf(3) == 2", "['a', 'b'].join(',') == 'a,b'", "'%s %d'.format([device.driver, 5]) == 'x'", "strings.quote(device.driver) == 'x'", "device.driver.charAt(0) == 'd'", "device.driver.trim() == 'x'", "duration('1h') > duration('1s')", "timestamp('2020-01-01T00:00:00Z').getFullYear() == 2020", "timestamp('2020-01-01T00:00:00Z') + duration('1h') > timestamp('2020-01-01T00:00:00Z')", "bytes(device.driver).size() > 3", "string(b'abc') == 'abc'", "int('5') == 5", "string(device.driver.size()) == '5'", "double(device.driver.size()) > 1.0", "type(device.driver) == string", "dyn(device.driver) == 1",
	"-device.driver.size() < 0", "!(device.driver.size() == 1)", "device.driver.size() + 1 - 1 * 2 / 2 % 7 == 3", "(device.driver.size() > 3 ? device.driver : 'x') == 'x'", "device.driver.size() > 3 ? device.allowMultipleAllocations : true", "has(device.driver)", "has(device.attributes[device.driver].model)", "device.attributes[device.driver].size() > 1", "device.attributes[?device.driver].hasValue()", "device.attributes[?device.driver].?model.hasValue()", "device.attributes[device.driver].?model.orValue('x') == 'x'", "device.attributes[device.driver].?model.optMap(m, m == 'a100').orValue(true)", "optional.of(1).hasValue()", "optional.none().orValue(true)", "optional.of(device.driver).or(optional.of('x')).value() == 'x'", "optional.ofNonZeroValue(0).hasValue()", "[?optional.of(1), 2].size() == 2", "{?'a': optional.of(1)}.size() == 1", "optional.of([1, 2])[0].hasValue()",
	"[1, 2, 3].all(x, x > 0)", "[1, 2, 3].exists(x, x > 1)", "[1, 2, 3].exists(x, x > 9)", "[1, 2, 3].all(x, x > 1)", "[1, 2, 3].exists_one(x, x > 1)", "[1, 2, 3].map(x, x + 1).size() == 3", "[1, 2, 3].map(x, x > 1, x + 1).size() == 3", "[1, 2, 3].filter(x, x > 1).size() == 3", "[1, 2, 3].all(i, x, i < x)", "[1, 2, 3].exists(i, x, i == x)", "[1, 2, 3].existsOne(i, x, i == 1)", "[1, 2, 3].transformList(i, x, i + x).size() == 3", "[1, 2, 3].transformList(i, x, i > 0, i + x).size() == 2", "[1, 2, 3].transformMap(i, x, i + x).size() == 3", "[1, 2, 3].transformMap(i, x, i > 0, i + x).size() == 2", "[1, 2].transformMapEntry(i, x, {x: i}).size() == 2", "{'a': 1, 'b': 2}.all(k, v, v > 0)", "cel.bind(x, device.driver, x == x)", "cel.bind(x, 1, true)", "cel.bind(x, device.driver, cel.bind(y, x, y == x))", "[].all(x, x)", "device.attributes.all(d, true)",
	"[1, 2].exists(x, 1 / 0 == x || x == 2)", "[0, 1].all(x, 1 / x == 1)", "[0, 1].exists(x, 1 / x == 1)", "1 / 0 == 1 || true", "true || 1 / 0 == 1", "false && 1 / 0 == 1", "math.greatest(1, device.driver.size()) > 3", "math.abs(-1) == 1", "math.least([1, 2, 3]) == 1", "math.isNaN(1.0)", "math.bitAnd(3, 1) == 1", "regex.replace('abc', 'b', 'x') == 'axc'", "device == device", "device.attributes == device.attributes", "device.capacity == device.capacity", "device.attributes[device.driver] == device.attributes[device.driver]", "[1, 2, 3] == [1, 2, 3]", "[device.driver, 'b'] == ['a', 'b']", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' == 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "device.driver != 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "[1] + [2] == [1, 2]", "[device.driver][0] == 'x'", "{'a': device.driver}['a'] == 'x'", "{'a': device.driver}[device.driver] == 'x'", "(device.driver + 'x').size() == 3", "device.driver == device.driver && device.driver == device.driver && device.driver != device.driver",
}

// celOddValues are values of attributes that the API server refuses, or that it took when a feature gate was on.
var celOddValues = []object{
	{"version": "1.2"}, {"version": "v1.2.3"}, {"version": "01.2.3"}, {"version": "1.02.3"}, {"version": "1.2.03"}, {"version": "1.2.3-"}, {"version": ""}, {"version": "1.2.3-01"}, {"version": "1.2.3-a..b"}, {"version": "1.2.3+"}, {"version": "1.2.3+a..b"}, {"version": "1.2.3-é"}, {"version": "1.2.3+é"}, {"version": "1.2.3.4"}, {"version": "1.x.3"}, {"version": "1.2.x"}, {"version": "1.2.99999999999999999999"}, {"version": "99999999999999999999.2.3"}, {"version": "1.99999999999999999999.3"}, {"version": " 1.2.3"}, {"version": "1..3"}, {"version": "1.2."}, {"version": "1.2.3-a+b-c"},
	{"version": "1.2.3-99999999999999999999"}, {"ints": []int64{1, 2}}, {"bools": []bool{true}}, {"strings": []string{"a"}}, {"versions": []string{"1.2.3"}}, {"versions": []string{"1.2.3", "x"}}, {}, {"int": 1, "bool": true}, {"string": "a", "version": "1.2.3"}, {"int": 1, "ints": []int64{2}},
}
