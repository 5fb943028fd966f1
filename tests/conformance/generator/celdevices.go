package main

import (
	"context"
	"encoding/json"
	"io"
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
}

const deviceDriver = "dra.example.com"

// writeDevices writes device selectors with the verdicts of the package that scheduler and API server use, with the
// feature gates that are on by default.
func writeDevices(seed uint64, cases int, out io.Writer) error {
	compiler := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true})
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	seen := map[string]bool{}
	for at := 0; len(seen) < cases; at++ {
		p := &typedProgram{gen: newGen("cel-devices", seed, at)}
		made := deviceCase{Driver: deviceDriver}
		if err := json.Unmarshal(raw(p.device()), &made.Device); err != nil {
			return err
		}
		if at < len(celSelectors) {
			made.Expr = p.form(celSelectors[at], 0)
		} else {
			made.Expr = p.selector(p.IntN(3))
		}
		if seen[made.Expr] {
			continue
		}
		compiled := compiler.CompileCELExpression(made.Expr, dracel.Options{})
		same := true
		if compiled.Error != nil && at >= len(celSelectors) && p.chance(75) {
			continue
		}
		if compiled.Error != nil {
			made.CompileError = compiled.Error.Detail
		} else {
			for range 60 {
				matches, _, err := compiled.DeviceMatches(context.Background(), dracel.Device{
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
			}
		}
		if !same {
			continue
		}
		seen[made.Expr] = true
		if err := encoder.Encode(made); err != nil {
			return err
		}
	}
	return nil
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
	}
	for _, id := range []string{"flag", "count", "model", "version", "any"} {
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
func (p *typedProgram) selector(depth int) string {
	if depth <= 0 {
		return p.form(pick(p.gen, celSelectors...), 0)
	}
	a, b := p.selector(depth-1), p.selector(depth-1)
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
