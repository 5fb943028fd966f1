package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"sort"
	"strconv"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// celVariables are what the expressions see: the first line of the recorded file.
var celVariables = map[string]any{
	"i": 7, "j": -3, "s": "hello world", "e": "", "t": true, "f": false, "d": 2.5,
	"l": []int{3, 1, 2}, "ls": []string{"b", "a", "c"}, "le": []int{},
	"m": map[string]string{"zone": "z1", "tier": "gold"},
	"o": map[string]any{
		"a": map[string]any{"b": []any{1, 2, map[string]any{"c": "x"}}},
		"n": nil, "num": 5, "str": "5", "q": "1.5Gi",
	},
}

func celTypes() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable("i", cel.IntType), cel.Variable("j", cel.IntType),
		cel.Variable("s", cel.StringType), cel.Variable("e", cel.StringType),
		cel.Variable("t", cel.BoolType), cel.Variable("f", cel.BoolType), cel.Variable("d", cel.DoubleType),
		cel.Variable("l", cel.ListType(cel.IntType)), cel.Variable("ls", cel.ListType(cel.StringType)),
		cel.Variable("le", cel.ListType(cel.IntType)),
		cel.Variable("m", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("o", cel.DynType),
	}
}

// evaluateCEL answers each line of the input, an expression as a JSON object with `category` and `expr`, as
// Kubernetes' environment of stored expressions does.
func evaluateCEL(in io.Reader, out io.Writer) error {
	return answerCEL(in, out, 1)
}

// celEnvironment is Kubernetes' environment of stored expressions, with the variables.
func celEnvironment() (*cel.Env, error) {
	base, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions:        celTypes(),
		})
	if err != nil {
		return nil, err
	}
	return base.Env(environment.StoredExpressions)
}

// answerCEL evaluates each expression so many times; one whose answers differ, by the order in which Go goes through
// a map, is left out.
func answerCEL(in io.Reader, out io.Writer, times int) error {
	env, err := celEnvironment()
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Category, Expr string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		answer, same := verdict(env, line.Expr, times)
		if !same {
			continue
		}
		answer["category"], answer["expr"] = line.Category, line.Expr
		if err := encoder.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// verdict is what an environment says of an expression, and whether it says so each time. It is false where cel-go
// panics.
func verdict(env *cel.Env, expr string, times int) (answer map[string]any, same bool) {
	defer func() {
		if said := recover(); said != nil {
			fmt.Fprintf(os.Stderr, "cel-go panics on %s: %v\n", expr, said)
			answer, same = nil, false
		}
	}()
	ast, issues := env.Compile(expr)
	if issues.Err() != nil {
		return map[string]any{"compileError": issues.Err().Error()}, true
	}
	program, err := env.Program(ast)
	if err != nil {
		return map[string]any{"compileError": err.Error()}, true
	}
	for range times {
		again := map[string]any{"type": ast.OutputType().String()}
		value, _, err := program.Eval(celVariables)
		if err != nil {
			again["error"] = err.Error()
		} else {
			again["value"] = tagged(value)
		}
		if answer != nil && ((answer["error"] == nil) != (err == nil) || !reflect.DeepEqual(answer["value"], again["value"])) {
			return nil, false
		}
		answer = again
	}
	return answer, true
}

// tagged is a value that carries its type, as the recorded files have it.
func tagged(value ref.Val) any {
	one := func(tag string, of any) any { return map[string]any{tag: of} }
	switch v := value.(type) {
	case types.Int:
		return one("int", strconv.FormatInt(int64(v), 10))
	case types.Uint:
		return one("uint", strconv.FormatUint(uint64(v), 10))
	case types.Double:
		return one("double", strconv.FormatFloat(float64(v), 'g', -1, 64))
	case types.Bool:
		return one("bool", bool(v))
	case types.String:
		return one("string", string(v))
	case types.Bytes:
		return one("bytes", hex.EncodeToString(v))
	case types.Null:
		return one("null", true)
	case types.Duration:
		return one("duration", v.Duration.String())
	case types.Timestamp:
		return one("timestamp", v.Time.UTC().Format(time.RFC3339Nano))
	case *types.Optional:
		if !v.HasValue() {
			return one("optional", nil)
		}
		return one("optional", tagged(v.GetValue()))
	case apiservercel.URL:
		return one("kubernetes.URL", v.URL.String())
	case apiservercel.Semver:
		return one("kubernetes.Semver", v.Version.String())
	case apiservercel.Format:
		return one("kubernetes.NamedFormat", v.Name)
	case traits.Mapper:
		var pairs [][2]any
		for keys := v.Iterator(); keys.HasNext() == types.True; {
			key := keys.Next()
			pairs = append(pairs, [2]any{tagged(key), tagged(v.Get(key))})
		}
		sort.Slice(pairs, func(a, b int) bool { return fmt.Sprint(pairs[a][0]) < fmt.Sprint(pairs[b][0]) })
		if pairs == nil {
			pairs = [][2]any{}
		}
		return one("map", pairs)
	case traits.Lister:
		items := []any{}
		for of := v.Iterator(); of.HasNext() == types.True; {
			items = append(items, tagged(of.Next()))
		}
		return one("list", items)
	}
	if quantity, ok := value.Value().(*resource.Quantity); ok {
		return one("quantity", quantity.String())
	}
	return one(value.Type().TypeName(), fmt.Sprint(value.ConvertToType(types.StringType).Value()))
}

// writeVariables writes the first line of a recorded file.
func writeVariables(out io.Writer) error {
	return json.NewEncoder(out).Encode(map[string]any{"vars": celVariables, "dyn": []string{"o"}})
}
