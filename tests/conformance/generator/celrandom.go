package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// writeExpressions writes random CEL expressions, an object a line as evaluateCEL reads them. The same seed
// gives the same expressions.
func writeExpressions(seed uint64, cases int, out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i := range cases {
		e := expressions{gen: newGen("cel", seed, i)}
		category := pick(e.gen, "any", "any", "regex", "regex", "time", "number", "format", "text")
		expr := e.expression(category)
		if err := encoder.Encode(map[string]any{"category": category, "expr": expr}); err != nil {
			return err
		}
	}
	return nil
}

// expressions draws CEL expressions of a wanted type. Names of types are CEL's; `ints` and `texts` are lists.
type expressions struct {
	gen
	fresh int
}

var celKinds = []string{"bool", "int", "uint", "double", "string", "duration", "timestamp", "ints", "texts",
	"optional", "quantity"}

func (e *expressions) expression(category string) string {
	switch category {
	case "regex":
		return e.regexUse()
	case "time":
		return e.of(pick(e.gen, "duration", "timestamp", "timePart", "timeText"), 2)
	case "number":
		return e.of(pick(e.gen, "int", "uint", "double", "compare"), 3)
	case "format":
		return e.format()
	case "text":
		return e.of(pick(e.gen, "string", "texts", "textBool"), 2)
	}
	return e.of(pick(e.gen, celKinds...), 3)
}

var celInts = []string{"0", "1", "-1", "2", "3", "-7", "10", "100", "i", "j", "9223372036854775807",
	"-9223372036854775808", "9223372036854775806", "9007199254740992", "9007199254740993", "-9007199254740993",
	"4294967296", "-2147483649", "0x7f", "l.size()", "s.size()", "size('aé😀')"}
var celUints = []string{"0u", "1u", "2u", "7u", "18446744073709551615u", "18446744073709551614u",
	"9223372036854775807u", "9223372036854775808u", "9007199254740993u", "0xFFu"}
var celDoubles = []string{"0.0", "-0.0", "1.5", "-2.5", "d", "0.1", "0.5", "3.5", "1e308", "-1e308", "5e-324",
	"2.2250738585072014e-308", "9007199254740992.0", "9007199254740994.0", "9223372036854775807.0",
	"-9223372036854775808.0", "18446744073709551615.0", "1e19", "1e-7", "1e20", "123456789.125", "1e21", "-0.01", "-1e-7", "0.05", "-0.05", "1e-10", "999999.5", "1e6", "123456.0", "0.0001", "0.00001"}
var celTexts = []string{"s", "e", "'a'", "'b'", "'é'", "'٣'", "'\\u00a0'", "'\\v'", "'Hello'", "'😀'", "'a,b,,c'",
	"'12'", "'-5'", "'+5'", "' 5'", "'0x10'", "'1.5'", "'1e3'", "'inf'", "'NaN'", "'true'", "'True'", "'t'", "'1'",
	"'0'", "'1.5Gi'", "'100m'", "'1h30m'", "'1.5h'", "'1ns'", "'1d'", "'2020-01-01T00:00:00Z'", "'a b\\tc'", "'ÀÉ'",
	"'ſ'", "'K'", "'a\\nb'", "'\"q\"'", "'{}'", "'9223372036854775808'", "'5e-324'", "m.zone", "ls[0]", "'%'"}
var celDurations = []string{"'0s'", "'1s'", "'1h'", "'1h30m'", "'-1.5h'", "'100ms'", "'1us'", "'1µs'", "'-1us'",
	"'1ns'", "'1500ns'", "'999ns'", "'0.000001s'", "'0.0000001s'", "'1.5us'", "'24h'", "'8760h'", "'2562047h'",
	"'-2562047h'", "'2562047h47m16.854775807s'", "'9223372036s'", "'.5s'", "'1.s'", "'+5m'", "'1d'", "'5'", "''",
	"'1 s'", "'1m1h'", "'1e3s'", "'0'", "'-0'", "'3h2m1s1ms1us'", "'2562048h'"}
var celTimes = []string{"'1970-01-01T00:00:00Z'", "'2026-01-02T03:04:05.25Z'", "'2026-07-02T03:04:05Z'",
	"'9999-12-31T23:59:59Z'", "'9999-12-31T23:59:59.999999Z'", "'9999-12-31T23:59:59.999999999Z'",
	"'0001-01-01T00:00:00Z'", "'0000-12-31T23:59:59Z'", "'10000-01-01T00:00:00Z'", "'1969-12-31T23:59:59.999999Z'",
	"'2024-02-29T12:00:00Z'", "'2023-02-29T12:00:00Z'", "'2026-03-29T01:59:59Z'", "'2026-10-25T01:30:00Z'",
	"'2026-01-02T03:04:05.000000001Z'", "'2026-01-02T03:04:05+02:00'", "'2026-01-02T03:04:05-11:30'",
	"'2026-01-02 03:04:05Z'", "'2026-01-02t03:04:05z'", "'2026-01-02T03:04Z'", "'2026-01-02T3:04:05Z'",
	"'2026-01-02T03:04:60Z'", "'2026-01-02T24:00:00Z'", "'2026-01-02T03:04:05'", "'2026-01-02T03:04:05.Z'",
	"'2026-01-02T03:04:05,5Z'", "'2026-01-02T03:04:05+24:00'", "'2026-01-02T03:04:05+2:00'",
	"'9999-12-31T23:59:59-01:00'", "'0001-01-01T00:00:00+01:00'", "'2026-1-02T03:04:05Z'", "'2026-13-02T03:04:05Z'",
	"'2026-01-32T03:04:05Z'", "'2026-01-02T03:04:05+0200'", "'2026-01-02T03:04:05.123456Z'", "'1600-02-29T00:00:00Z'",
	"'2026-01-02T03:04:05[UTC]'", "'-2026-01-02T03:04:05Z'", "'1884-01-01T00:00:00Z'"}
var celZones = []string{"'Europe/Berlin'", "'UTC'", "'America/New_York'", "'Asia/Kathmandu'", "'+02:00'", "'-05:30'",
	"'Australia/Lord_Howe'", "'02:00'", "'+14:00'", "'Pacific/Apia'", "'Asia/Tokyo'", "'-12:00'"}

// form is an expression with holes: `$int` is any expression of that type, `$$` a fresh name.
func (e *expressions) form(depth int, forms ...string) string {
	form := pick(e.gen, forms...)
	if strings.Contains(form, "$$") {
		e.fresh++
		form = strings.ReplaceAll(form, "$$", fmt.Sprintf("v%d", e.fresh))
	}
	var out strings.Builder
	for {
		at := strings.IndexByte(form, '$')
		if at < 0 {
			out.WriteString(form)
			return out.String()
		}
		out.WriteString(form[:at])
		end := at + 1
		for end < len(form) && (form[end] >= 'a' && form[end] <= 'z' || form[end] >= 'A' && form[end] <= 'Z') {
			end++
		}
		out.WriteString(e.of(form[at+1:end], depth-1))
		form = form[end:]
	}
}

// of draws an expression of a type.
func (e *expressions) of(kind string, depth int) string {
	if depth <= 0 || e.chance(15) {
		if leaf := e.leaf(kind); leaf != "" {
			return leaf
		}
	}
	if depth > 0 && e.chance(5) && e.leaf(kind) != "" {
		return e.form(depth, "($bool ? $"+kind+" : $"+kind+")")
	}
	return e.form(depth, celForms[kind]...)
}

func (e *expressions) leaf(kind string) string {
	switch kind {
	case "bool":
		return pick(e.gen, "true", "false", "t", "f")
	case "int":
		return pick(e.gen, celInts...)
	case "small":
		return pick(e.gen, "0", "1", "2", "3", "-1", "i", "j")
	case "uint":
		return pick(e.gen, celUints...)
	case "double":
		return pick(e.gen, celDoubles...)
	case "string":
		return pick(e.gen, celTexts...)
	case "duration":
		return "duration(" + pick(e.gen, celDurations...) + ")"
	case "timestamp":
		return "timestamp(" + pick(e.gen, celTimes...) + ")"
	case "zone":
		return pick(e.gen, celZones...)
	case "ints":
		return pick(e.gen, "l", "[1, 2, 3]", "[9223372036854775807, 1]", "[0, -1, 0]", "[5]")
	case "texts":
		return pick(e.gen, "ls", "['a', 'b', 'a']", "['']", "['x']", "['é', 'e', 'z']")
	case "doubles":
		return pick(e.gen, "[1.5, -0.0]", "[0.0]", "[1e308, 1e308]", "[0.1, 0.2]", "[d, 5e-324]")
	case "optional":
		return pick(e.gen, "m[?'zone']", "m[?'nope']", "m.?tier", "optional.of('a')", "optional.ofNonZeroValue('')")
	case "quantity":
		return "quantity(" + pick(e.gen, "'1'", "'100m'", "'1.5Gi'", "'-2k'", "'1e3'", "'0'", "'9223372036854775807'",
			"'1n'", "'0.1'", "'1Ei'") + ")"
	case "pattern":
		return e.quotedPattern()
	}
	return ""
}

var celForms = map[string][]string{
	"bool": {"!$bool", "($bool && $bool)", "($bool || $bool)", "$compare", "$textBool", "$compare",
		"$ints.exists($$, $$ > $small)", "$ints.all($$, $$ != $int)", "$texts.exists_one($$, $$ == $string)",
		"$int in $ints", "$string in $texts", "sets.contains($ints, $ints)", "sets.intersects($texts, $texts)",
		"sets.equivalent($ints, $ints)", "$ints.isSorted()", "$optional.hasValue()", "isQuantity($string)",
		"$quantity.isInteger()", "$quantity.isLessThan($quantity)", "bool($string)", "has(m.zone)"},
	"compare": {"$int < $int", "$int <= $double", "$uint > $uint", "$uint >= $int", "$double < $double",
		"$double == $double", "$int == $int", "$uint == $uint", "$string < $string", "$string == $string",
		"$duration <= $duration", "$timestamp < $timestamp", "$timestamp == $timestamp", "$duration == $duration",
		"$ints == $ints", "$texts != $texts", "$optional == $optional", "$int != $int", "$quantity == $quantity",
		"dyn($int) == dyn($double)", "$double > $int", "$bool == $bool", "$int > $uint"},
	"textBool": {"$string.startsWith($string)", "$string.endsWith($string)", "$string.contains($string)",
		"$string.matches($pattern)", "$string < $string", "isQuantity($string)"},
	"int": {"($int + $int)", "($int - $int)", "($int * $int)", "($int / $int)", "($int % $int)", "-($int)",
		"int($double)", "int($uint)", "int($string)", "int($timestamp)", "$ints.size()", "$texts.size()",
		"$string.size()", "$ints.sum()", "$ints.min()", "$ints.max()", "$string.indexOf($string)",
		"$string.lastIndexOf($string)", "$string.indexOf($string, $small)", "$ints.indexOf($int)",
		"$ints.lastIndexOf($small)", "$timePart", "$quantity.asInteger()", "$quantity.compareTo($quantity)",
		"$quantity.sign()", "int($int)", "($small + $small)", "($small * $small)"},
	"small": {"$small", "($small + $small)", "$ints.size()"},
	"uint": {"($uint + $uint)", "($uint - $uint)", "($uint * $uint)", "($uint / $uint)", "($uint % $uint)",
		"uint($int)", "uint($double)", "uint($string)"},
	"double": {"($double + $double)", "($double - $double)", "($double * $double)", "($double / $double)",
		"-($double)", "double($int)", "double($uint)", "double($string)", "$doubles.sum()", "$doubles.max()",
		"$doubles.min()", "$quantity.asApproximateFloat()"},
	"doubles": {"[$double, $double]", "$doubles"},
	"string": {"($string + $string)", "string($int)", "string($uint)", "string($double)", "string($bool)",
		"$string.substring($small)", "$string.substring($small, $small)", "$string.charAt($small)",
		"$string.replace($string, $string)", "$string.replace($string, $string, $small)", "$string.lowerAscii()",
		"$string.upperAscii()", "$string.trim()", "$texts.join()", "$texts.join($string)", "$string.reverse()",
		"strings.quote($string)", "$string.find($pattern)", "$optional.orValue($string)", "$timeText",
		"$texts.min()", "$texts[$small]", "string($string)"},
	"texts": {"$string.split($string)", "$string.split($string, $small)", "$string.findAll($pattern)",
		"$string.findAll($pattern, $small)", "$texts.filter($$, $$ != $string)", "$texts.map($$, $$ + $string)",
		"[$string, $string]", "$texts + $texts", "$texts.sort()", "$texts.distinct()", "$texts.slice(0, 1)",
		"$texts.reverse()"},
	"ints": {"$ints.filter($$, $$ > $small)", "$ints.map($$, $$ * $small)", "[$int, $int]", "$ints + $ints",
		"$ints.sort()", "$ints.distinct()", "$ints.reverse()", "$ints.slice(0, $small)", "lists.range($small)",
		"$texts.map($$, $$.size())", "$ints.map($$, $$ > $small, $$ + $int)", "[$ints, $ints].flatten()"},
	"duration": {"($duration + $duration)", "($duration - $duration)", "($timestamp - $timestamp)",
		"duration($string)", "duration(string($duration))"},
	"timestamp": {"($timestamp + $duration)", "($timestamp - $duration)", "timestamp($string)", "timestamp($int)",
		"timestamp(string($timestamp))"},
	"timePart": {"$timestamp.getFullYear()", "$timestamp.getMonth($zone)", "$timestamp.getDayOfMonth($zone)",
		"$timestamp.getDate($zone)", "$timestamp.getDayOfWeek($zone)", "$timestamp.getDayOfYear($zone)",
		"$timestamp.getHours()", "$timestamp.getHours($zone)", "$timestamp.getMinutes($zone)",
		"$timestamp.getSeconds()", "$timestamp.getMilliseconds()", "$timestamp.getDate()",
		"$timestamp.getFullYear($zone)", "$duration.getHours()", "$duration.getMinutes()", "$duration.getSeconds()",
		"$duration.getMilliseconds()", "int($timestamp)", "$timestamp.getDayOfYear()", "$timestamp.getDayOfWeek()"},
	"timeText": {"string($timestamp)", "string($duration)", "string(($timestamp + $duration))"},
	"optional": {"optional.of($string)", "optional.ofNonZeroValue($string)", "$optional.or($optional)",
		"$optional.optMap($$, $$ + $string)", "m[?$string]"},
	"quantity": {"$quantity.add($quantity)", "$quantity.sub($quantity)", "quantity($string)", "$quantity.add($small)"},
	"pattern":  {"$pattern"},
	"zone":     {"$zone"},
}

func (e *expressions) format() string {
	verbs := []string{}
	args := []string{}
	for range 1 + e.IntN(3) {
		kind := pick(e.gen, "int", "uint", "double", "double", "string", "bool", "duration", "timestamp", "ints", "texts")
		var verb string
		switch kind {
		case "int", "uint":
			verb = pick(e.gen, "%d", "%s", "%x", "%X", "%b", "%o", "%e", "%f", "%.3f", "%.2e")
		case "double":
			verb = pick(e.gen, "%f", "%e", "%.0f", "%.1e", "%.10f", "%s", "%d", "%.3f", "%.0e")
		case "string":
			verb = pick(e.gen, "%s", "%x", "%X", "%d")
		case "bool":
			verb = pick(e.gen, "%s", "%b", "%d")
		default:
			verb = pick(e.gen, "%s", "%s", "%d")
		}
		verbs = append(verbs, pick(e.gen, "", "a ", "%% ", "é")+verb)
		args = append(args, e.of(kind, e.IntN(2)))
	}
	return "'" + strings.Join(verbs, " ") + "'.format([" + strings.Join(args, ", ") + "])"
}

// ---- regular expressions

var regexTexts = []string{"a", "b", "ab", "aé", "é", "٣", "\u00a0", "\v", "&", "[b]", "a-b", "gpu-a-12", "A", "ſ", "K",
	"k", "K", "s", "S", "\n", "a\nb", "", " ", "_", "0", "9z", "aa", "aaa", "abab", "日本", "Ω", "ω", "ΣΑΣ", "ς", "İ", "ı",
	"ß", "ẞ", "ǅ", "a\r\nb", "x\ty", "{", "a{2}", "]", "^", "-", "\\", "\x00", "~", "😀", "µ", "μ", "Å", "tel: +49-30", "a||b",
	"foo.bar/baz", "<a>", "a b c", "é1_", "\u2028", "\u0085", "..", "&&", "[[a]b]", "a&&b", "--", "aab aab"}

func (e *expressions) regexUse() string {
	text := ""
	for range 1 + e.IntN(2) {
		text += pick(e.gen, regexTexts...)
	}
	quoted := celQuote(text)
	pattern := e.quotedPattern()
	return fmt.Sprintf(pick(e.gen, "%s.matches(%s)", "%s.matches(%s)", "%s.find(%s)", "%s.findAll(%s)", "%s.findAll(%s, 1)",
		"matches(%s, %s)"), quoted, pattern)
}

func (e *expressions) quotedPattern() string { return celQuote(e.pattern(3)) }

// celQuote is a CEL literal of a text.
func celQuote(text string) string {
	var out strings.Builder
	out.WriteByte('\'')
	for _, c := range text {
		switch {
		case c == '\'' || c == '\\':
			out.WriteByte('\\')
			out.WriteRune(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&out, "\\u%04x", c)
		default:
			out.WriteRune(c)
		}
	}
	out.WriteByte('\'')
	return out.String()
}

func (e *expressions) pattern(depth int) string {
	if e.chance(8) {
		return pick(e.gen, "^", "\\A", "(?i)", "(?s)", "(?m)^", "(?U)", "^(?:", "(?P<n>a)", "(?-i)", "(?i-s)") + e.branch(depth)
	}
	return e.branch(depth)
}

func (e *expressions) branch(depth int) string {
	out := ""
	for at := range 1 + e.IntN(3) {
		if at > 0 && e.chance(20) {
			out += "|"
		}
		out += e.atom(depth)
		if e.chance(35) {
			out += pick(e.gen, "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0}", "{0,}", "{2,}?", "{,2}", "{", "{1", "**",
				"+*", "{1001}", "{2,1}", "{ 1}", "{01}", "*{2}", "{1000}", "{3}{2}", "*+", "(?i)*", "\\Q\\E+")
		}
	}
	if e.chance(15) {
		out += pick(e.gen, "$", "\\z", "\\b", "\\B", "\\Z", "(?m)$", "|", ")", "(")
	}
	return out
}

func (e *expressions) atom(depth int) string {
	if depth > 0 && e.chance(25) {
		return pick(e.gen, "(", "(", "(?:", "(?i:", "(?s:", "(?m:", "(?P<name>", "(?<n>", "(?U:", "(?-i:", "(?i-m:",
			"(?=", "(?!", "(?x:", "(?P<1a>", "(?<", "(?:", "(?'n'", "(?>", "(?#", "(?i)(", "(?R:", "(?u:", "(?-u:") +
			e.branch(depth-1) + ")"
	}
	switch e.IntN(10) {
	case 0, 1:
		return e.class()
	case 2, 3:
		return pick(e.gen, "\\d", "\\D", "\\s", "\\S", "\\w", "\\W", "\\b", "\\B", ".", "\\pL", "\\PL", "\\p{Lu}", "\\P{Ll}",
			"\\p{Greek}", "\\p{^Greek}", "\\p{Any}", "\\p{Letter}", "\\p{L}", "\\p{script=Greek}", "\\p{Alphabetic}",
			"\\p{lu}", "\\pN", "\\p{IsGreek}", "\\p{Grek}", "\\p{ASCII}", "\\p{Han}", "\\p{Nd}", "\\p{Upper}",
			"\\p{LC}", "\\p{White_Space}", "\\p{Zs}", "\\p{Latin}", "\\h", "\\N", "\\R", "\\X", "\\p{gc=Lu}", "\\p{Emoji}")
	case 4:
		return pick(e.gen, "\\.", "\\-", "\\/", "\\_", "\\<", "\\>", "\\e", "\\a", "\\f", "\\n", "\\t", "\\v", "\\x41",
			"\\x{1F600}", "\\x{e9}", "\\101", "\\0", "\\1", "\\12", "\\8", "\\u0041", "\\U00000041", "\\Qa.b\\E", "\\Q[", "\\é",
			"\\ ", "\\&", "\\~", "\\#", "\\x", "\\x4", "\\x{110000}", "\\x{}", "\\C", "\\G", "\\K", "\\'", "\\\"", "\\x{D800}",
			"\\b{start}", "\\b{", "\\cA", "\\y", "\\m", "\\]", "\\}", "\\08", "\\377", "\\777", "\\r", "\\@", "\\`", "\\%", "\\:",
			"\\b{end-half}")
	case 5:
		return pick(e.gen, "^", "$", "\\A", "\\z", "é", "😀", "&", "&&", "#", " ", "]", "}", "-", "~", "~~", "--")
	}
	return pick(e.gen, "a", "b", "ab", "k", "s", "A", "_", "0", "ſ", "é", "Σ", "1", "x")
}

func (e *expressions) class() string {
	out := "[" + pick(e.gen, "", "", "", "^", "]", "^]", "-", "^-")
	for range 1 + e.IntN(4) {
		out += pick(e.gen, "a", "b", "a-c", "0-9", "A-Z", "k", "&&", "&", "[", "[a", "~~", "--", "-", "[:alpha:]", "[:^digit:]",
			"[:word:]", "[:foo:]", "[:space:]", "[:upper:]", "[:punct:]", "[:ascii:]", "[:^alpha:]", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S",
			"\\]", "\\-", "\\\\", "\\n", "\\x41-\\x43", "\\pL", "\\p{Greek}", "\\P{Lu}", "z-a", "a-\\d", "é", "α-ω", "\\b", "^", "$", ".",
			"\\Q", "\\.", "[.a.]", "[=a=]", " ", "#", "\\x{1F600}", "!-~", "+--", "[:", ":]", "\\p{^L}", "\\141", "\\0", "\\e", "\\B", "\\A", "\\z")
	}
	if e.chance(4) {
		return out
	}
	return out + "]"
}
