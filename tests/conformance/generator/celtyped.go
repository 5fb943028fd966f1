package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A typed program is drawn from the table of `celforms.go`: a form is an expression with holes, and each hole is
// filled with an expression of its type. Types are written as CEL names them, `list(int)`; capital letters in a form
// stand for any type.
//
//	${T}   an expression of the type
//	@x:T   a macro variable of that type, which the holes after it may use
//	#name  a text from a pool of `celtexts.go`

// celForm is a row of the table.
type celForm struct{ result, form string }

// celVariable is a name that the holes of a macro may use.
type celVariable struct{ name, kind string }

// celManner is how a program is spoiled.
type celManner struct {
	// dynamic and wrong: in how many of 100 holes an expression stands as `dyn`, and as `dyn` of another type.
	dynamic, wrong int
	// fault: in how many of 100 leaves an expression stands that fails.
	fault int
	// broken: in how many of 100 holes an expression of another type stands, which is a compile error.
	broken int
}

// typedProgram draws one program.
type typedProgram struct {
	gen
	celManner
	fresh int
	scope []celVariable
}

var celScalars = []string{"bool", "int", "uint", "double", "string", "bytes", "duration", "timestamp"}
var celOpaque = []string{"quantity", "ip", "cidr", "url", "semver", "format", "type", "null"}

// of draws an expression of a type.
func (p *typedProgram) of(kind string, depth int) string {
	switch {
	case p.chance(p.broken):
		return p.of(p.anyKind(1), depth-1)
	case p.chance(p.dynamic) && kind != "dyn":
		return "dyn(" + p.plain(kind, depth) + ")"
	case p.chance(p.wrong):
		return "dyn(" + p.plain(p.anyKind(1), depth-1) + ")"
	}
	return p.plain(kind, depth)
}

func (p *typedProgram) plain(kind string, depth int) string {
	var known []string
	for _, v := range p.scope {
		if v.kind == kind {
			known = append(known, v.name)
		}
	}
	if len(known) > 0 && p.chance(55) {
		return pick(p.gen, known...)
	}
	if len(known) == 0 && slices.Contains(celOpaque, kind) && p.chance(50) {
		return p.leaf(kind)
	}
	if depth <= 0 {
		if p.chance(p.fault) {
			return p.form(pick(p.gen, celFaults(kind)...), 0)
		}
		return p.leaf(kind)
	}
	if p.chance(6) {
		return p.form("(${bool} ? ${"+kind+"} : ${"+kind+"})", depth)
	}
	forms := celFormsFor(kind)
	if len(forms) == 0 || p.chance(12) {
		return p.leaf(kind)
	}
	chosen := pick(p.gen, forms...)
	for range 2 {
		// Forms that are of any type come after those of this one.
		if len(chosen.result) == 1 {
			chosen = pick(p.gen, forms...)
		}
	}
	return p.form(p.bind(chosen, kind), depth)
}

// bind puts types for the capital letters of a form.
func (p *typedProgram) bind(form celForm, kind string) string {
	bound := map[string]string{}
	celUnify(form.result, kind, bound)
	text := form.form
	for _, letter := range []string{"A", "B", "K"} {
		of, known := bound[letter]
		if !known || strings.ContainsAny(of, "ABK") {
			of = p.anyKind(0)
			if letter == "K" {
				of = pick(p.gen, "string", "int", "string", "uint", "bool")
			}
		}
		for _, around := range [][2]string{{"{", "}"}, {"(", ")"}, {"(", ","}, {",", ")"}, {":", ""}} {
			text = strings.ReplaceAll(text, around[0]+letter+around[1], around[0]+of+around[1])
		}
	}
	return text
}

// anyKind draws a type; nested is how often it may be a list of lists.
func (p *typedProgram) anyKind(nested int) string {
	switch at := p.IntN(20); {
	case at < 12:
		return pick(p.gen, celScalars...)
	case at < 14:
		return pick(p.gen, celOpaque...)
	case nested <= 0:
		return pick(p.gen, "int", "string", "double", "bool")
	case at < 16:
		return "list(" + p.anyKind(nested-1) + ")"
	case at < 18:
		return "map(" + pick(p.gen, "string", "string", "int") + "," + p.anyKind(nested-1) + ")"
	case at < 19:
		return "optional(" + p.anyKind(nested-1) + ")"
	}
	return "dyn"
}

// form fills the holes of a form.
func (p *typedProgram) form(form string, depth int) string {
	var out strings.Builder
	scope := len(p.scope)
	names := map[string]string{}
	for form != "" {
		at := strings.IndexAny(form, "$@#")
		if at < 0 {
			out.WriteString(form)
			break
		}
		out.WriteString(form[:at])
		sign := form[at]
		form = form[at+1:]
		switch {
		case sign == '$' && strings.HasPrefix(form, "{"):
			end := strings.IndexByte(form, '}')
			out.WriteString(p.of(form[1:end], depth-1))
			form = form[end+1:]
		case sign == '@' && form != "" && (form[0] == 'x' || form[0] == 'y'):
			name, known := names[form[:1]]
			if !known {
				p.fresh++
				name = fmt.Sprintf("%s%d", form[:1], p.fresh)
				names[form[:1]] = name
			}
			out.WriteString(name)
			form = form[1:]
			if strings.HasPrefix(form, ":") {
				end := celTypeEnd(form[1:])
				p.scope = append(p.scope, celVariable{name, form[1 : 1+end]})
				form = form[1+end:]
			}
		case sign == '#' && form != "" && form[0] != ' ':
			end := 0
			for end < len(form) && form[end] >= 'a' && form[end] <= 'z' {
				end++
			}
			out.WriteString(p.text(form[:end]))
			form = form[end:]
		default:
			out.WriteByte(sign)
		}
	}
	p.scope = p.scope[:scope]
	return out.String()
}

// celTypeEnd is the length of a type at the start of a text.
func celTypeEnd(text string) int {
	open := 0
	for i, c := range text {
		switch {
		case c == '(':
			open++
		case c == ')' && open > 0:
			if open--; open == 0 {
				return i + 1
			}
		case open == 0 && (c < 'a' || c > 'z'):
			return i
		}
	}
	return len(text)
}

// celUnify says whether a result with letters is a type, and binds the letters.
func celUnify(result, kind string, bound map[string]string) bool {
	if len(result) == 1 && result[0] >= 'A' && result[0] <= 'Z' {
		if known, ok := bound[result]; ok {
			return known == kind
		}
		if result == "K" && !strings.Contains("string int uint bool", kind) {
			return false
		}
		bound[result] = kind
		return true
	}
	name, inner := celSplit(result)
	otherName, otherInner := celSplit(kind)
	if name != otherName || len(inner) != len(otherInner) {
		return false
	}
	for i := range inner {
		if !celUnify(inner[i], otherInner[i], bound) {
			return false
		}
	}
	return true
}

// celSplit gives the name of a type and its parameters.
func celSplit(kind string) (string, []string) {
	open := strings.IndexByte(kind, '(')
	if open < 0 {
		return kind, nil
	}
	var parts []string
	depth, from := 0, open+1
	for i := open; i < len(kind); i++ {
		switch kind[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				parts = append(parts, kind[from:i])
			}
		case ',':
			if depth == 1 {
				parts = append(parts, kind[from:i])
				from = i + 1
			}
		}
	}
	return kind[:open], parts
}

var celFormsByKind = map[string][]celForm{}

// celFormsFor gives the rows whose result may be the type.
func celFormsFor(kind string) []celForm {
	if known, ok := celFormsByKind[kind]; ok {
		return known
	}
	var forms []celForm
	for _, family := range celFamilies {
		for _, form := range family.forms {
			if celUnify(form.result, kind, map[string]string{}) {
				forms = append(forms, form)
			}
		}
	}
	celFormsByKind[kind] = forms
	return forms
}

// leaf draws an expression without parts.
func (p *typedProgram) leaf(kind string) string {
	name, inner := celSplit(kind)
	switch name {
	case "list":
		switch {
		case kind == "list(int)" && p.chance(60):
			return pick(p.gen, "l", "l", "[1, 2, 3]", "[9223372036854775807, 1]", "[0, -1, 0]", "[5]", "[2, 2, 1]")
		case kind == "list(string)" && p.chance(60):
			return pick(p.gen, "ls", "ls", "['a', 'b', 'a']", "['']", "['x']", "['é', 'e', 'z']")
		}
		if inner[0] == "dyn" {
			return pick(p.gen, "[dyn(1), dyn('a'), dyn(2.5)]", "o.a.b", "[dyn(null)]", "[dyn(2), dyn(2.0), dyn(2u)]")
		}
		items := make([]string, p.IntN(4))
		for i := range items {
			items[i] = p.leaf(inner[0])
		}
		return "[" + strings.Join(items, ", ") + "]"
	case "map":
		if kind == "map(string,string)" && p.chance(50) {
			return "m"
		}
		items := make([]string, p.IntN(3))
		for i := range items {
			items[i] = p.leaf(inner[0]) + ": " + p.leaf(inner[1])
		}
		return "{" + strings.Join(items, ", ") + "}"
	case "optional":
		if kind == "optional(string)" && p.chance(50) {
			return pick(p.gen, "m[?'zone']", "m[?'nope']", "m.?tier", "ls[?0]", "ls[?9]")
		}
		return pick(p.gen, "optional.of(", "optional.of(", "optional.ofNonZeroValue(") + p.leaf(inner[0]) + ")"
	case "dyn":
		return pick(p.gen, "o", "o.num", "o.str", "o.a.b[0]", "o.q", "o.a", "o.a.b", "o.n", "dyn("+p.leaf(p.anyKind(1))+")",
			"o['num']", "o.a.b[2].c", "dyn("+p.leaf(pick(p.gen, celScalars...))+")")
	}
	return p.form(pick(p.gen, celLeaves[name]...), 0)
}

// writeTyped writes programs: a few with each form of the table at their root, then texts that parse badly or oddly,
// and random ones.
func writeTyped(seed uint64, cases int, out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	seen := map[string]bool{}
	write := func(category, expr string) error {
		if seen[expr] || len(expr) > 700 {
			return nil
		}
		seen[expr] = true
		return encoder.Encode(map[string]any{"category": category, "expr": expr})
	}
	forms := 0
	for _, family := range celFamilies {
		forms += len(family.forms)
	}
	// A third of the programs takes the forms in turn.
	each := max(1, cases/3/forms)
	at := 0
	for _, family := range celFamilies {
		for _, form := range family.forms {
			for turn := range each {
				p := newTyped(seed, at)
				at++
				depth := 1
				if turn > 1 {
					depth = 1 + p.IntN(3)
				}
				if turn == 0 {
					p.celManner = celManner{}
				}
				expr := p.form(p.bind(form, form.result), depth)
				if err := write(family.name, p.spoil(expr, turn)); err != nil {
					return err
				}
			}
		}
	}
	// Then each of the special texts, some of them often.
	for _, special := range celSpecial {
		for turn := range special.turns * len(special.forms) {
			p := newTyped(seed, at)
			at++
			if special.faults {
				p.fault = max(p.fault, 35)
			}
			form := celForm{form: special.forms[turn%len(special.forms)]}
			if err := write(special.name, p.form(p.bind(form, ""), special.depth)); err != nil {
				return err
			}
		}
	}
	for len(seen) < cases {
		p := newTyped(seed, at)
		at++
		category, expr := p.program()
		if err := write(category, expr); err != nil {
			return err
		}
	}
	return nil
}

func newTyped(seed uint64, at int) *typedProgram {
	p := &typedProgram{gen: newGen("cel-typed", seed, at)}
	switch at := p.IntN(100); {
	case at < 45:
	case at < 65:
		p.dynamic = 18
	case at < 80:
		p.dynamic, p.wrong = 10, 6
	case at < 94:
		p.fault, p.dynamic = 20, 4
	default:
		p.broken = 5
	}
	return p
}

// celSpecial are the forms beside the table of functions; each is taken so often.
var celSpecial = []struct {
	name         string
	forms        []string
	turns, depth int
	faults       bool
}{
	{"syntax", celSyntax, 1, 1, false}, {"refused", celRefused, 2, 1, false}, {"dyn", celDynamic, 3, 2, false},
	{"faults", celAbsorbing, 5, 2, true}, {"texts", celTextUses, 9, 1, false},
}

// program draws a program of no form in particular.
func (p *typedProgram) program() (string, string) {
	if p.chance(25) {
		return "format", p.formatted()
	}
	return "any", p.of(p.anyKind(2), 2+p.IntN(2))
}

// spoil makes of some calls one that does not exist.
func (p *typedProgram) spoil(expr string, turn int) string {
	if turn < 2 || !p.chance(4) {
		return expr
	}
	switch p.IntN(5) {
	case 0:
		if at := strings.LastIndex(expr, ")"); at >= 0 {
			return expr[:at] + pick(p.gen, ", 1", ", s", "x") + expr[at:]
		}
	case 1:
		if at := strings.LastIndex(expr, "("); at >= 0 {
			return expr[:at] + "x" + expr[at:]
		}
	case 2:
		return expr + pick(p.gen, ".nope", ".size", "[0]", ".nope()", "[?0]", ".?a", " + 1", " && t", "{}", ")", " in l")
	case 3:
		return pick(p.gen, "-", "!", "nope(", "has(", "type(", "string(", "(") + expr
	case 4:
		if at := strings.IndexByte(expr, ','); at >= 0 {
			return expr[:at] + expr[at+1:]
		}
	}
	return expr
}

// formatted draws a use of `format` with every verb, also where the value does not fit.
func (p *typedProgram) formatted() string {
	var text strings.Builder
	var args []string
	for range 1 + p.IntN(3) {
		text.WriteString(pick(p.gen, "", "", "a ", "%% ", "é", "|"))
		kind := p.anyKind(1)
		verb := pick(p.gen, "%s", "%s", "%d", "%f", "%e", "%x", "%X", "%o", "%b", "%.3f", "%.0f", "%.2e", "%.1f")
		if p.chance(60) {
			switch verb[len(verb)-1] {
			case 'd', 'o':
				kind = pick(p.gen, "int", "uint", "double")
			case 'f', 'e':
				kind = pick(p.gen, "double", "double", "int", "uint")
			case 'x', 'X':
				kind = pick(p.gen, "int", "uint", "string", "bytes")
			case 'b':
				kind = pick(p.gen, "int", "uint", "bool")
			}
		}
		if p.chance(3) {
			verb = pick(p.gen, "%", "%v", "%5d", "%.f", "%.x", "%-3s", "%q", "%.20f", "%.-1f", "%S", "%.1d", "%c", "%%%s", "%.3s",
				"%.999f", "%.1000f", "%i")
		}
		text.WriteString(verb)
		args = append(args, p.of(kind, p.IntN(2)))
	}
	if p.chance(6) {
		args = append(args, p.of(p.anyKind(0), 0))
	} else if p.chance(6) && len(args) > 1 {
		args = args[1:]
	}
	list := "[" + strings.Join(args, ", ") + "]"
	if p.chance(45) {
		for i := range args {
			args[i] = "dyn(" + args[i] + ")"
		}
		list = "[" + strings.Join(args, ", ") + "]"
	}
	subject := celQuote(text.String())
	if p.chance(15) {
		subject = pick(p.gen, "dyn("+subject+")", "("+subject+" + e)", "(t ? "+subject+" : s)")
	}
	return subject + ".format(" + list + ")"
}
