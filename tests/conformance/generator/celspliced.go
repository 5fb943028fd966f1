package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
)

// A spliced program is one of the input in which parts are replaced by parts of other ones: of the same type, as `dyn`,
// or of any type. Literals are replaced by literals of the corners.
type splicer struct {
	gen
	parse *cel.Env
	check *cel.Env
	// whole programs, and parts without macro variables by their type.
	programs []string
	parts    map[string][]string
	kinds    []string
}

// celExtremes are literals of the corners, by the kind of literal that they replace.
var celExtremes = map[string][]string{
	"int":    {"0", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "4294967296", "1000000007", "-2147483649", "0x7fffffffffffffff"},
	"uint":   {"0u", "1u", "18446744073709551615u", "9223372036854775808u", "9007199254740993u", "4294967295u"},
	"double": {"0.0", "-0.0", "1e308", "-1e308", "5e-324", "1e21", "1e-7", "123456789.125", "9007199254740993.0", "9223372036854775807.0", "18446744073709551615.0", "0.1", "1e100", "2.5e-8", "100000000000000000000.0"},
	"string": {"''", "' '", "'\\u0000'", "'é'", "'e\\u0301'", "'😀a😀'", "'\\u200d'", "'ǅ'", "'\\r\\n\\t'", "'%s'", "'%%'", "'%d %s'", "'(?i)A'", "'[a-z]+'", "'a|b'", "'\\U0010FFFF'", "'zone'", "'null'", "'true'", "'1'", "'-9223372036854775808'",
		"'1.5'", "'NaN'", "'1h30m'", "'2026-02-29T00:00:00Z'", "'2024-02-29T23:59:59.999999999+14:00'", "'America/New_York'", "'-07:30'", "'::ffff:10.0.0.1'", "'10.0.0.0/33'", "'https://[fe80::1%25en0]:443/a?b=%2f#c'", "'1.2.3-rc.1+b'", "'1500m'", "'1e-9'", "'kube-system'", "'ab\\'\"`'"},
	"bytes": {"b''", "b'\\xff'", "b'\\x00'", "b'é'", "b'\\xc3\\x28'", "b'abc'"},
	"bool":  {"true", "false"},
}

// writeSpliced reads programs, a JSON object with `expr` a line, and writes spliced ones.
func writeSpliced(seed uint64, cases int, in io.Reader, out io.Writer) error {
	parse, err := cel.NewCustomEnv(cel.OptionalTypes(), cel.ClearMacros())
	if err != nil {
		return err
	}
	check, err := celEnvironment()
	if err != nil {
		return err
	}
	s := &splicer{parse: parse, check: check, parts: map[string][]string{}}
	if err := s.read(in); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	seen := map[string]bool{}
	for at := 0; len(seen) < cases; at++ {
		s.gen = newGen("cel-spliced", seed, at)
		text := pick(s.gen, s.programs...)
		for range 1 + s.IntN(3) {
			text = s.spliced(text)
		}
		// A list of 2^63 numbers takes the memory of the machine.
		if seen[text] || len(text) > 600 || strings.Contains(text, "lists.range(") {
			continue
		}
		// Most of what does not compile says nothing.
		if s.kindOf(text) == "" && !s.chance(12) {
			continue
		}
		seen[text] = true
		if err := encoder.Encode(map[string]any{"category": "spliced", "expr": text}); err != nil {
			return err
		}
	}
	return nil
}

// read reads programs and their parts.
func (s *splicer) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	known := map[string]bool{}
	for lines.Scan() {
		var line struct{ Expr string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		parsed, issues := s.parse.Parse(line.Expr)
		if line.Expr == "" || issues.Err() != nil {
			continue
		}
		s.programs = append(s.programs, line.Expr)
		for _, part := range partsOf(parsed) {
			text, err := parser.Unparse(part, parsed.NativeRep().SourceInfo())
			if err != nil || known[text] || len(text) > 160 {
				continue
			}
			known[text] = true
			kind := s.kindOf(text)
			if kind == "" {
				continue
			}
			if s.parts[kind] == nil {
				s.kinds = append(s.kinds, kind)
			}
			s.parts[kind] = append(s.parts[kind], text)
		}
	}
	fmt.Fprintf(os.Stderr, "%d programs, %d types of parts\n", len(s.programs), len(s.kinds))
	return lines.Err()
}

// kindOf is the type of an expression; empty if it does not compile, or if cel-go panics on it.
func (s *splicer) kindOf(text string) (kind string) {
	defer func() {
		if recover() != nil {
			kind = ""
		}
	}()
	compiled, issues := s.check.Compile(text)
	if issues.Err() != nil {
		return ""
	}
	return compiled.OutputType().String()
}

// partsOf gives the expressions in an expression, without the variables of macros.
func partsOf(of *cel.Ast) []ast.Expr {
	var parts []ast.Expr
	for _, node := range ast.MatchDescendants(ast.NavigateAST(of.NativeRep()), ast.AllMatcher()) {
		name := ""
		if node.Kind() == ast.IdentKind {
			name = node.AsIdent()
		}
		if len(name) > 1 && strings.ContainsAny(name[:1], "xy") && strings.ContainsAny(name[1:2], "0123456789") {
			continue
		}
		parts = append(parts, node)
	}
	return parts
}

// spliced replaces one part of a program.
func (s *splicer) spliced(program string) (made string) {
	// The name of a field is a part, too, and only a text can be written in its place.
	defer func() {
		if recover() != nil {
			made = program
		}
	}()
	parsed, issues := s.parse.Parse(program)
	if issues.Err() != nil {
		return program
	}
	info := parsed.NativeRep().SourceInfo()
	parts := partsOf(parsed)
	if len(parts) == 0 {
		return program
	}
	place := pick(s.gen, parts...)
	text, err := parser.Unparse(place, info)
	if err != nil {
		return program
	}
	kind := s.kindOf(text)
	other := ""
	extremes := celExtremes[kind]
	switch {
	case place.Kind() == ast.LiteralKind && len(extremes) > 0 && s.chance(60):
		other = pick(s.gen, extremes...)
	case kind != "" && s.chance(55):
		other = pick(s.gen, append(s.parts[kind], text)...)
	case s.chance(35):
		other = "dyn(" + text + ")"
	case s.chance(35):
		other = "(" + pick(s.gen, "t", "f", "dyn(t)", "i > 3", "has(o.a)", "l[9] == 1", "true || 1/0 == 1") + " ? " + text + " : " +
			pick(s.gen, append(s.parts[kind], text)...) + ")"
	case s.chance(30):
		other = pick(s.gen, "optional.of("+text+").value()", "["+text+"][0]", "{'k': "+text+"}.k", "optional.of("+text+").optMap(x9, x9).orValue("+text+")",
			"["+text+"].map(x9, x9)[0]", "{'k': "+text+"}.?k.or(optional.none()).value()", "["+text+"].transformList(x8, x9, x9)[0]", "optional.of("+text+")", "["+text+"]", "type("+text+")",
			"[optional.of("+text+")].unwrapOpt()[0]", "{1: "+text+"}[?1].optFlatMap(x9, optional.of(x9)).value()", "["+text+", "+text+"].distinct()[0]", "["+text+"].sortBy(x9, 1)[0]", "dyn(["+text+"])[0]", "(dyn(["+text+"]) + ["+text+"])[0]")
	default:
		other = pick(s.gen, s.parts[pick(s.gen, s.kinds...)]...)
		if s.chance(60) {
			other = "dyn(" + other + ")"
		}
	}
	replacement, issues := s.parse.Parse(other)
	if issues.Err() != nil {
		return program
	}
	place.SetKindCase(replacement.NativeRep().Expr())
	made, err = parser.Unparse(parsed.NativeRep().Expr(), info)
	if err != nil {
		return program
	}
	return made
}
