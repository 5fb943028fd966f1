package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

// celCall is a function or method with the expressions that each of its arguments is drawn from.
type celCall struct {
	name      string
	method    bool
	arguments [][]string
}

// celCallEnvironment has the variables a to d of type dyn.
func celCallEnvironment() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.Variable("a", cel.DynType), cel.Variable("b", cel.DynType),
		cel.Variable("c", cel.DynType), cel.Variable("d", cel.DynType),
	}
	base, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options})
	if err != nil {
		return nil, err
	}
	return base.Env(environment.StoredExpressions)
}

// writeCalls calls every function with every combination of its arguments.
func writeCalls(out io.Writer) error {
	writer := bufio.NewWriter(out)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	env, err := celCallEnvironment()
	if err != nil {
		return err
	}
	for _, call := range celCallsOfKubernetes {
		if err := writeCall(env, call, encoder); err != nil {
			return fmt.Errorf("%s: %w", call.name, err)
		}
	}
	return nil
}

func writeCall(env *cel.Env, call celCall, encoder *json.Encoder) error {
	names := []string{"a", "b", "c", "d"}[:len(call.arguments)]
	text := call.name + "(" + strings.Join(names, ", ") + ")"
	if strings.Contains(call.name, "_") {
		text = strings.Replace(strings.Replace(call.name, "_", "a ", 1), "_", " b", 1)
		if len(names) == 1 {
			text = strings.Replace(call.name, "_", "a", 1)
		}
	} else if call.method {
		text = "a." + call.name + "(" + strings.Join(names[1:], ", ") + ")"
	}
	program, err := callProgram(env, text)
	if err != nil {
		return err
	}
	chosen := make([]int, len(names))
	for {
		bound := map[string]any{}
		arguments := []any{}
		for i, name := range names {
			value, err := callValue(env, call.arguments[i][chosen[i]])
			if err != nil {
				return err
			}
			bound[name] = value
			argument := taggedArgument(value)
			if source, found := strings.CutPrefix(call.arguments[i][chosen[i]], "quantity('"); found {
				argument = map[string]any{"quantity": strings.TrimSuffix(source, "')")}
			}
			arguments = append(arguments, argument)
		}
		answer := map[string]any{"call": call.name, "method": call.method, "args": arguments}
		value, _, err := program.Eval(bound)
		if err != nil {
			answer["error"] = err.Error()
		} else {
			answer["value"] = taggedArgument(value)
		}
		// What Go writes of a verb that does not fit a number is left out: newer releases of cel-go convert it.
		if text, isText := value.(types.String); !isText || !strings.Contains(string(text), "%!") {
			if err := encoder.Encode(answer); err != nil {
				return err
			}
		}
		at := len(names) - 1
		for ; at >= 0; at-- {
			if chosen[at]++; chosen[at] < len(call.arguments[at]) {
				break
			}
			chosen[at] = 0
		}
		if at < 0 {
			return nil
		}
	}
}

func callProgram(env *cel.Env, text string) (cel.Program, error) {
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.Program(ast)
}

func callValue(env *cel.Env, text string) (ref.Val, error) {
	program, err := callProgram(env, text)
	if err != nil {
		return nil, err
	}
	value, _, err := program.Eval(map[string]any{})
	return value, err
}

// taggedArgument is tagged with the offset of a timestamp.
func taggedArgument(value ref.Val) any {
	switch v := value.(type) {
	case types.Timestamp:
		return map[string]any{"timestamp": v.Time.Format(time.RFC3339Nano)}
	case *types.Optional:
		if v.HasValue() {
			return map[string]any{"optional": taggedArgument(v.GetValue())}
		}
	case traits.Lister:
		items := []any{}
		for of := v.Iterator(); of.HasNext() == types.True; {
			items = append(items, taggedArgument(of.Next()))
		}
		return map[string]any{"list": items}
	}
	return tagged(value)
}
