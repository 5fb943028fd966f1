package main

import "strings"

// text draws from a pool, as a CEL literal. Some are put together, so that other seeds give other texts.
func (p *typedProgram) text(pool string) string {
	if text, known := p.deviceText(pool); known {
		return text
	}
	switch pool {
	case "pattern":
		e := expressions{gen: p.gen}
		return e.quotedPattern()
	case "small":
		return pick(p.gen, "0", "1", "2", "3", "4", "-1", "9", "i", "j", "dyn(1)")
	case "int":
		return pick(p.gen, celInts...)
	case "uint":
		return pick(p.gen, celUints...)
	case "double":
		return pick(p.gen, celDoubles...)
	case "string":
		return pick(p.gen, celTexts...)
	case "duration":
		if p.chance(60) {
			return celQuote(p.durationText())
		}
		return pick(p.gen, celDurations...)
	case "time":
		return pick(p.gen, celTimes...)
	case "zone":
		return pick(p.gen, append(celOddZones, celZones...)...)
	case "url":
		return celQuote(p.urlText())
	case "ip":
		if p.chance(25) {
			return celQuote(p.ipText())
		}
	case "cidr":
		if p.chance(40) {
			return celQuote(p.ipText() + "/" + pick(p.gen, "0", "1", "8", "12", "24", "31", "32", "33", "48", "64", "96", "127", "128", "129", "-1", "08", "+8", "", "a", "8 "))
		}
	case "semver":
		if p.chance(60) {
			return celQuote(p.semverText())
		}
	case "quantity":
		if p.chance(60) {
			return celQuote(p.quantityText())
		}
	case "name":
		if p.chance(50) {
			return celQuote(p.nameText())
		}
	case "number":
		if p.chance(30) {
			return celQuote(p.numberText())
		}
	case "datetime", "date":
		if p.chance(25) {
			return pick(p.gen, celTimes...)
		}
	}
	return celQuote(pick(p.gen, celPools[pool]...))
}

var celOddZones = []string{"'+2:00'", "'2:30'", "'-0:30'", "'+25:00'", "''", "'+02'", "'+0200'", "'Z'", "'+00:00'", "'-00:30'", "'+23:59'", "'+24:00'",
	"'23:61'", "'Mars/Phobos'", "'Europe/London'", "'America/St_Johns'", "'Pacific/Chatham'", "'Etc/GMT+5'", "'GMT'", "'EST'", "'America/Sao_Paulo'",
	"'Africa/Casablanca'", "'-11:59'", "'a:b'", "'1:2:3'", "' +01:00'", "'+-1:00'", "'Asia/Kolkata'", "'-03:-30'", "'US/Pacific'"}

var celPools = map[string][]string{
	"number": {"1", "-1", "+1", " 1", "1 ", "0x10", "1e3", "1.0", "1.", ".5", "-0", "00", "007", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
		"-9223372036854775809", "18446744073709551615", "18446744073709551616", "1_000", "inf", "Inf", "+Inf", "-inf", "infinity", "INFINITY", "nan", "NaN", "-nan", "1e400", "-1e400", "1e-400",
		"0x1p4", "0X1P-2", "0b1", "1u", "1f", "", "-", "+", ".", "e", "1e", "1e+", "１", "0.1", "1E5", "-.5e-3", "4.9e-324", "2.4e-324", "0x1.8p1", "1__0", "0x", "1d"},
	"truth":        {"true", "false", "True", "TRUE", "tRUE", "t", "T", "f", "F", "1", "0", "yes", "no", "", " true", "False", "FALSE", "01", "fALSE"},
	"goodduration": {"0s", "1s", "1h", "1h30m", "-1.5h", "100ms", "1us", "1ns", "1500ns", "0.000001s", "24h", "2562047h", "-2562047h", ".5s", "90m", "3h2m1s1ms1us1ns", "-1ns", "9223372036s"},
	"goodtime": {"1970-01-01T00:00:00Z", "2026-01-02T03:04:05.25Z", "2026-07-02T03:04:05Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999999Z", "0001-01-01T00:00:00Z",
		"1969-12-31T23:59:59.999999Z", "2024-02-29T12:00:00Z", "2026-03-29T01:00:00Z", "2026-10-25T01:30:00Z", "2026-01-02T03:04:05.000000001Z", "2026-01-02T03:04:05+02:00", "1600-02-29T00:00:00Z"},
	"goodquantity": {"1", "100m", "1.5Gi", "-2k", "1e3", "0", "9223372036854775807", "1n", "0.1", "1Ei", "500M", "1000m", "1024", "1Ki", "-0.5", "3u", "1E"},
	"quantity": {"1", "1.5", ".5", "5.", "1e3", "1E3", "1e-3", "1e+3", "1E", "1Ei", "1k", "1K", "1Ki", "1ki", "1m", "1n", "1u", "1µ", "", " 1", "1 ", "+1", "-1", "--1", "1..5", "1e", "1e3k", "1Gi1",
		"9223372036854775807", "9223372036854775808", "99999999999999999999", "0.0000000001", "-0", "00", "007", "1_0", "１", "0x10", "1e100", "1e-100", "Ki", "m", "1mi", "1P", "1Pi", "1T", "12e1", "1.5e3", "0.5Ki", "1,5", "9.99Ei", "-9Ei", "16Ei", "8Ei"},
	"goodip": {"10.0.0.1", "127.0.0.1", "::1", "fe80::1", "2001:db8::1", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "169.254.1.1", "255.255.255.255", "192.168.1.1"},
	"ip": {"10.0.0.1", "127.0.0.1", "127.255.255.255", "::1", "fe80::1", "febf::1", "fec0::1", "2001:db8::1", "2001:DB8::1", "2001:0db8::1", "0.0.0.0", "::", "224.0.0.1", "224.0.1.1", "ff02::1", "ff01::1", "ff05::2",
		"169.254.1.1", "255.255.255.255", "::ffff:1.2.3.4", "::ffff:127.0.0.1", "::1.2.3.4", "fe80::1%eth0", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.04", "256.1.1.1", "1.2.3.4 ", " 1.2.3.4", "", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9",
		"1::2::3", ":1", "1:", ":::", "12345::", "g::", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "::00001", "0:0:0:0:0:0:0:1", "1:0:0:2:0:0:0:3", "[::1]", "1.2.3.4:80", "0x7f.1", "1e1.2.3.4", "64:ff9b::1.2.3.4", "::1.2.3.256", "-1.2.3.4",
		"1.2.3.4/8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4::5:6:7:8", "240.0.0.1", "100.64.0.1", "fc00::1", "2002::1", "0.0.0.1"},
	"goodcidr": {"10.0.0.0/8", "192.168.1.7/24", "::/0", "2001:db8::/32", "1.2.3.4/32", "fe80::1/64", "0.0.0.0/0"},
	"cidr": {"10.0.0.0/8", "10.1.2.3/8", "192.168.1.7/24", "::/0", "2001:db8::1/32", "1.2.3.4/32", "1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/08", "1.2.3.4/+8", "1.2.3.4/", "1.2.3.4", "/8", "", "::1/128", "::1/129", "::ffff:1.2.3.4/120", "fe80::1%eth0/64",
		"1.2.3/8", "01.2.3.4/8", "1.2.3.4/8/8", "1.2.3.4/8 ", " 1.2.3.4/8", "2001:db8::/032", "1.2.3.4/0", "10.0.0.0/0x8", "fe80::/10", "10.0.0.0/16", "10.255.0.0/16", "172.16.0.0/12", "2001:db8::/48", "0.0.0.0/0", "::/1"},
	"goodurl":    {"https://a.b/c?d=e", "http://u:p@h.x:8080/p/q?x=1&x=2#f", "/path?a=b", "http://[::1]:80/", "mailto:a@b"},
	"goodsemver": {"1.2.3", "0.0.0", "1.2.3-alpha", "1.2.3-alpha.1", "1.2.3-alpha.beta", "1.2.3+build", "1.2.3-rc.1+b.2", "10.20.30", "1.2.4", "2.0.0", "1.2.3-1", "1.2.3-2"},
	"semver": {"1.2.3", "v1.2.3", "V1.2.3", "1.2", "1", "01.2.3", "1.02.3", "1.2.03", "1.2.3.4", "1.2.3-", "1.2.3+", "1.2.3-alpha", "1.2.3-alpha.1", "1.2.3-alpha.01", "1.2.3-0", "1.2.3--", "1.2.3-a.-", "1.2.3+b+c", "1.2.3-a_b", "1.2.3+01", " 1.2.3", "1.2.3 ", "",
		"v", "vv1.2.3", "18446744073709551615.0.0", "18446744073709551616.0.0", "9223372036854775808.0.0", "-1.2.3", "1.-2.3", "a.b.c", "1.2.x", "1..3", ".1.2", "00.00.00", "v01.02", "1.2-alpha", "1-alpha", "v1.2.3-alpha", "1.2.3-rc.1+b.2", "１.2.3", "0.0.00", "1.2.3-é", "01", "1.2.0003-a", "1.2.3-a..b", "1.2.00-a", "1.00", "0x1.2.3", "v1.0-rc.1", "1.2.", "1.", "0001.0.0+z"},
	"name": {"a", "", "a-b", "-a", "a-", "A", "a.b", "a..b", ".a", "a.", "1a", "a1", "9", "a_b", "é", "a b", "kube-system", "my-label-name", "apiextensions.k8s.io", "a/b", "a/b/c", "/b", "a/", "a.b/c", "A/b", "a_b/c", "a/B_c.d-e", "a/-b", "a/b-", "x--y", "a-.", "prefix-", "prefix.-", "prefix.", "a\nb",
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("a", 254), strings.Repeat("a.", 120) + "a", strings.Repeat("a", 63) + "-", strings.Repeat("b", 62) + "-", "a/" + strings.Repeat("c", 63), "a/" + strings.Repeat("c", 64), "a.b.c/x.y.z", "1.2.3", "a..", "--", "-", "_a", "a_"},
	"rule": {"dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime", "DNS1123Label", "ipv4", "email", "", "date-time", "hostname", "duration"},
	"uuid": {"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000", "123e4567e89b12d3a456426614174000", "123e4567-e89b12d3-a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}", "urn:uuid:123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-42661417400", "123e4567-e89b-12d3-a456-42661417400g", "", "00000000-0000-0000-0000-000000000000", " 123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000\n", "{123e4567-e89b-12d3-a456-426614174000", "123e4567--e89b-12d3-a456-426614174000"},
	"base": {"aGVsbG8=", "aGVsbG8", "aGVsbG8==", "", "====", "a", "ab", "abc", "abcd", "ab==", "abc=", "ab=c", "aGVs bG8=", "aGVs\nbG8=", "-_-_", "++//", "é", "abcde", "abcdefg=", "YQ==", "YR==", " YQ==", "YQ== ", "Y=Q=", "YQ==YQ=="},
	"date": {"2021-01-01", "2021-02-29", "2024-02-29", "2021-13-01", "2021-00-01", "2021-01-32", "2021-01-00", "21-01-01", "2021-1-1", "2021-01-01T00:00:00Z", "", "2021/01/01", " 2021-01-01", "2021-01-01 ", "0000-01-01", "9999-12-31", "10000-01-01", "2021-04-31", "1900-02-29", "2000-02-29", "-001-01-01", "2021-0１-01"},
	"datetime": {"2021-01-01T00:00:00Z", "2021-01-01T00:00:00", "2021-01-01 00:00:00Z", "2021-01-01t00:00:00z", "2021-01-01T00:00:00.123Z", "2021-01-01T00:00:00.123456789012Z", "2021-01-01T00:00:00+01:00", "2021-01-01T00:00:00+0100", "2021-01-01T00:00:00+01", "2021-01-01T24:00:00Z", "2021-01-01T23:60:00Z", "2021-01-01T23:59:60Z",
		"2021-02-30T00:00:00Z", "2021-01-01", "", "2021-01-01T00:00Z", "2021-01-01T00:00:00.Z", "2021-01-01T00:00:00,1Z", "2021-13-01T00:00:00Z", "2021-01-01T00:00:00Zz", "2021-01-01T25:00:00Z", "2021-01-01T00:00:00-25:00", "2021-01-01T00:00:61Z", "21-01-01T00:00:00Z", "2021-01-01T0:00:00Z", "2021-01-01T00:00:00+01:60"},
}

func (p *typedProgram) durationText() string {
	text := pick(p.gen, "", "", "", "-", "+")
	for range 1 + p.IntN(3) {
		text += pick(p.gen, "1", "0", "90", "1.5", ".5", "5.", "007", "0.123456789", "0.1234567891", "9223372036", "2562047", "999999999", "1e3", "") +
			pick(p.gen, "h", "m", "s", "ms", "us", "µs", "μs", "ns", "s", "s", "d", "", "S", " s")
	}
	return text
}

func (p *typedProgram) urlText() string {
	if p.chance(25) {
		return pick(p.gen, "", "a", "/", "//", "//a", "///a", "?", "#", "http:", "http:/", "http://", "http:///a", "http://?q", "http://#f", "http:a", "mailto:a@b", "a:b:c", ":a", "1http://a", "h-t.t+p://a", "hé://a", "http://a b/", "http://a/b c", "http://a/%zz", "http://a/%41",
			"http://a/%2f", "http://%41/", "http://%zz/", "http://a%20b/", "/a:b", "a/b:c", "a:b/c", "./a", "../a", "*", "/*", "http://a/?q=%zz", "http://a/?a;b", "http://a/\\u0000", "/\\x7f", "\x01", "http://a\n/", " http://a", "http://a ", "javascript:alert(1)", "tel:+1", "urn:a:b", "http://[fe80::1%25en0]:80/", "http://[fe80::1%en0]/", "file:///etc", "http://a/?", "http://a/#", "http://a?", "/a?b=c#d", "http://a//b", "//a:80/b", "http:?a", "http://a/[b]", "http://a/<b>", "http://a/\"", "http://a/é", "http://é/", "http://ａ/", "HTTP://A/B")
	}
	text := pick(p.gen, "http", "https", "HTTPS", "ftp", "x+y", "") + pick(p.gen, "://", "://", "://", ":", "//")
	text += pick(p.gen, "", "", "", "u@", "u:p@", ":p@", "u%40:p%3a@", "u:p:q@", "u@v@", "é@", "u p@", "u[@", "@")
	text += pick(p.gen, "a.b", "A.b", "localhost", "1.2.3.4", "[::1]", "[::1", "::1", "[1.2.3.4]", "a_b", "", "a%2fb", "a%20b", "a<b", "[fe80::1%25e]", "é.x", "a!$&'()*+,;=b", "a^b", "a\"b", "[]", "[a]b", "xn--a")
	text += pick(p.gen, "", "", "", ":80", ":", ":0", ":99999", ":a", ":-1", ":80:90", ":８０")
	text += pick(p.gen, "", "/", "/c", "/c/d", "/c%2Fd", "/c d", "/%7Ec", "/~c", "/é", "/a;b", "/..", "/a//b", "/%", "/%4", "/a:b", "/[x]", "/a+b", "/a@b", "/%C3%A9", "/!'()*", "/{x}", "/a|b", "/a\\b", "/^", "/`")
	text += pick(p.gen, "", "", "?", "?a=b", "?a=b&a=c", "?a", "?a=", "?=b", "?&&", "?a=b;c=d", "?a=%20+c", "?a=%zz", "?a=b=c", "?a=b&%zz=1", "?é=ü", "?a b", "?x=1&a=%41&b=%C3%A9", "?a=b?c", "?a%3Db=c", "?a=%FF")
	text += pick(p.gen, "", "", "", "#", "#f", "#f#g", "#%zz", "#f g", "#é", "#a/b?c")
	return text
}

func (p *typedProgram) ipText() string {
	if p.chance(50) {
		parts := make([]string, 0, 4)
		for range pick(p.gen, 4, 4, 4, 4, 3, 5) {
			parts = append(parts, pick(p.gen, "0", "1", "10", "127", "169", "254", "255", "192", "256", "01", "", "224", "a"))
		}
		return strings.Join(parts, ".")
	}
	parts := make([]string, 0, 8)
	for range p.between(1, 9) {
		parts = append(parts, pick(p.gen, "0", "1", "fe80", "ff02", "db8", "FFFF", "", "00", "0001", "12345", "g", "ffff"))
	}
	return strings.Join(parts, ":") + pick(p.gen, "", "", "", ":1.2.3.4", "%e", "::")
}

func (p *typedProgram) semverText() string {
	number := func() string {
		return pick(p.gen, "0", "1", "2", "10", "00", "01", "", "x", "3", "9007199254740993")
	}
	text := pick(p.gen, "", "", "", "v", "V") + number()
	for range pick(p.gen, 2, 2, 2, 2, 1, 0, 3) {
		text += "." + number()
	}
	return text + pick(p.gen, "", "", "-a", "-1", "-01", "-a.1", "-a.b", "-", "-a..b", "-1a", "-0a", "-a-b", "-A", "-2", "-10") + pick(p.gen, "", "", "+b", "+", "+1.01", "+b+c", "+é")
}

func (p *typedProgram) quantityText() string {
	return pick(p.gen, "", "", "-", "+") + pick(p.gen, "0", "1", "12", "1.5", ".5", "5.", "0.001", "999999999999", "9223372036854775807", "1.23456789012345", "123456789012345678901234567890", "00.10", "") +
		pick(p.gen, "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-3", "e+2", "e", "K", "i", "e1.5", "e19", "e-20", "mm")
}

func (p *typedProgram) nameText() string {
	text := ""
	for range p.between(1, 5) {
		text += pick(p.gen, "a", "b", "9", "-", ".", "/", "A", "_", "é", " ", "abc", "x1", "..", strings.Repeat("q", 40), strings.Repeat("w", 61))
	}
	return text
}

func (p *typedProgram) numberText() string {
	text := pick(p.gen, "", "", "-", "+", " ")
	for range p.between(1, 3) {
		text += pick(p.gen, "0", "1", "9", "12", ".", "e", "E5", "e-3", "_", "x", "0x", "inf", "999999999999999999999", "184467440737095516")
	}
	return text
}

// celAbsorbing are faults under operators and macros that may absorb them.
var celAbsorbing = []string{
	"(${bool} && ${bool})", "(${bool} || ${bool})", "((${bool} && ${bool}) || ${bool})", "((${bool} || ${bool}) && ${bool})", "!(${bool} && ${bool})", "((${bool} || ${bool}) == ${bool})", "(${bool} ? ${A} : ${A})",
	"((${bool} || ${bool}) ? ${string} : ${string})", "${list(A)}.all(@x:A, ${bool})", "${list(A)}.exists(@x:A, ${bool})", "${list(A)}.exists_one(@x:A, ${bool})", "${list(A)}.filter(@x:A, ${bool})", "${list(A)}.map(@x:A, ${B})",
	"[2, 1, 0].all(@x:int, 1 / @x > 0)", "[2, 1, 0].all(@x:int, 1 / @x > 1)", "[0, 1].exists(@x:int, 1 / @x == 1)", "[0, 2].exists(@x:int, 1 / @x == 1)", "[0, 1].exists_one(@x:int, 1 / @x == 1)", "${list(int)}.all(@x:int, ${int} / @x > ${int})",
	"${list(int)}.exists(@x:int, l[@x] == ${int})", "ls.all(@x:string, m[@x] == ${string})", "m.exists(@x:string, @y:string, ${bool} || int(@y) > 0)", "m.all(@x:string, ${bool} && ls[size(@x)] == 'a')", "(${bool} || dyn(${A}))", "(dyn(${A}) && ${bool})", "(false && dyn(${A}))", "(dyn(${A}) || true)",
	"(dyn(${A}) ? 1 : 2)", "!dyn(${A})", "${list(A)}.all(@x:A, dyn(${B}))", "${list(dyn)}.exists(@x:dyn, @x)", "${list(dyn)}.all(@x:dyn, @x > ${int})", "[dyn(1), dyn('a'), dyn(true)].exists(@x:dyn, @x == ${A} || @x > 0)", "(true || ${bool} && ${bool})", "(false && ${bool} || ${bool})",
	"${map(K,B)}.all(@x:K, @y:B, ${bool})", "${list(A)}.transformMap(@x:int, @y:A, ${bool}, ${B})", "optional.of(${A}).optMap(@x:A, ${B}).hasValue()", "optional.none().or(${optional(A)})", "${optional(A)}.or(${optional(A)})", "${optional(A)}.orValue(${A})", "[${A}, ${A}].size() > 0 || ${bool}",
	"{'a': ${A}, 'b': ${B}}.size() == 2 || ${bool}", "(${bool} && ${bool} && ${bool} && ${bool})", "(${bool} || ${bool} || ${bool} || ${bool})", "(${A} == ${A} || ${bool})", "(${A} in ${list(A)} || ${bool})", "has({'a': ${A}}.a) && ${bool}", "${list(A)}.exists(@x:A, ${bool}) || ${list(B)}.all(@x:B, ${bool})", "(${bool} != ${bool}) || ${bool}",
	"${list(A)}.filter(@x:A, ${bool}).size() > 0 || ${bool}", "${list(list(A))}.exists(@x:list(A), @x.all(@y:A, ${bool}))", "type(${A}) == ${type} || ${bool}", "dyn(${bool} ? ${A} : ${B})", "(o.x == 1 || ${bool})", "(o.num == 5 && ${bool})",
}

// celSyntax are texts with a special reading, or none.
var celSyntax = []string{
	"r'\\d${string}", "r'a\\'", "'\\x4'", "'\\q'", "'\\u12'", "'\\ud800'", "'\\U00110000'", "'\\U0001F600'", "'\\101'", "'\\400'", "'\\18'", "'a\nb'", "'''a\nb'''", "\"\"\"a\"b\"\"\"", "'''a'''", "r'''\\'''", "b'''x\ny'''", "''''''", "'''a''b'''", "R\"a\\nb\"", "Br'a'", "rB'a'", "bR\"\\x\"", "b'\\u00e9'", "b'\\xe9'", "b'\\U0001F600'", "b'é'",
	"0x", "0xg", "0X1F", "0xFFFFFFFFFFFFFFFF", "-0x8000000000000000", "0x8000000000000000", "0xFFu", "0XFFU", "1U", "-1u", "1.e3", "1.", ".5", "5.f", "1e3", "1E+3", "1e-3", "1.5e", "00", "01", "1_000", "1e400", "-1e400", "1e-400", "9223372036854775808", "-9223372036854775808", "- 9223372036854775808", "-(9223372036854775808)", "18446744073709551616u", "1 .size()", "1.size()", "'a'.size()",
	"--${int}", "---${int}", "!!${bool}", "!!!${bool}", "-!t", "!-1", "- ${int}", "! ${bool}", "-${int}.size()", "-l[0]", "-'a'.size()", "--1", "---1", "!!true", "!!dyn(${A})", "--dyn(${A})", "+1", "~1", "1 +", "* 1", "1 ** 2", "1 // 2\n + 3", "1 # 2", "1 /* 2 */", "t and f", "t && ", "t & f", "not t", "t ? 1", "t ? : 2", "t ?: 2", "i = 7", "i === 7", "i <> 7", "i <=> 7", "i ?? 7",
	"(1", "1)", "((1))", "()", "[1, 2,]", "[,]", "[1,,2]", "[1 2]", "{'a': 1,}", "{,}", "{'a'}", "{a: 1}", "{i: 1}", "{'a': 1 'b': 2}", "size(l,)", "size(,l)", "l[", "l]", "l[]", "l[0,1]", "l[0:1]", "l[?]", "o..a", "o.", ".o", ".i", ".i + 1", "o.?", "o?.a", "o.1", "o.'a'", "o.a.", "o . a . b", "o\n.a", "i\n+\nj", "\ti", "i;", "i j", "",
	" ", "// only", "i // c", "// c\ni", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while", "in", "true", "null", "o.in", "o.as", "o.if", "o.for", "o.namespace", "o.true", "o.null", "as + 1", "{'if': 1}.if", "__x__", "o.__a__", "_", "a_b", "$x", "@x", "x@", "é", "o.é", "`i`", "o.`a`", "i.`b`",
	"1 in [1] in [true]", "1 in l == true", "1 < 2 < 3", "1 < 2 == true", "1 == 1 == 1", "i - -j", "i--j", "i - - j", "2 - 1 - 1", "8 / 4 / 2", "2 * 3 % 4", "t ? f ? 1 : 2 : 3", "t ? 1 : f ? 2 : 3", "t ? t : f ? f : t", "t || f && f", "!t || f", "!t == f", "-i + j", "-i * j", "i + j * 2", "(i + j) * 2", "t == !f", "1 - 2 + 3", "i in l && t", "!(i in l)", "!i in l", "- 1 in l", "'a' + 'b' in ls",
	"size", "size()", "i()", "i(1)", "o()", "o.a()", "l.size", "l.size(1)", "has()", "has(i)", "has(o)", "has(o.a, o.b)", "has(o['a'])", "has(l[0])", "has(o.a.b[0])", "has(m.zone.x)", "has(.o.a)", "has((o.a))", "has(o.?a)", "has(o[?'a'])", "l.all(x)", "l.all(x, t, t, t)", "l.all(1, t)", "l.all(x.y, t)", "l.all('x', t)", "l.all(x, y, t)", "l.all(x, x, t)", "l.map(x)", "l.map(x, y, x, y)", "l.map((x), x)", "all(l, x, t)", "l.exists(i, i > 1)",
	"l.all(l, l > 0)", "l.map(x, l.map(x, x))", "l.map(x, x.map(y, y))", "l.filter(x, x)", "l.exists_one(x)", "l.exists(x, x, x)", "l.transformList(x, x)", "l.transformList(x, x, x)", "l.transformMap(x, y)", "l.transformMapEntry(x, y, y)", "l.transformMapEntry(x, y, {y: 1, x: 2})", "l.transformMapEntry(x, y, {})", "[1, 1].transformMapEntry(x, y, {y: x})", "l.sortBy(x)", "l.sortBy(x, y, x)", "l.sortBy(1, x)", "l.sortBy(x, [x])",
	"s.sortBy(x, x)", "m.optMap(x, x)", "optional.of(1).optMap(1, 2)", "optional.of(1).optMap(x.y, 2)", "optional.of(1).optFlatMap(x, x)", "optional.none(1)", "optional.of()", "optional", "optional.x", "[?1]", "[?optional.of(1), 2]", "{?'a': 1}", "{?'a': optional.none()}", "{'a': ?1}", "[?dyn(1)]", "{?'a': dyn(1)}", "o.?a.?b.?c", "o[?'a']", "o.?a[?'b']", "m.?zone.size()", "l.?a", "l[?'a']", "s[?0]", "s[0]", "s.?a", "i[0]", "i.a", "m[0]", "m.0",
	"l['0']", "l[0u]", "l[0.0]", "l[1.5]", "l[dyn(0.0)]", "l[dyn(1.5)]", "l[dyn(0u)]", "l[dyn('0')]", "m[dyn('zone')]", "m[dyn(1)]", "{1: 2}[1u]", "{1: 2}[1.0]", "{1: 2}[dyn(1u)]", "{1: 2}[dyn(1.0)]", "{1: 2}[dyn(1.5)]", "{1: 2, 1: 3}", "{1: 2, dyn(1u): 3}", "{1: 2, dyn(1.0): 3}", "{1.5: 2}", "{null: 1}", "{[1]: 2}", "{b'a': 1}", "{dyn(1.5): 2}", "{dyn(null): 2}", "{dyn([1]): 2}", "{true: 1, false: 2}[t]", "{1u: 'a'}[1u]", "{'a': 1, 'b': 'c'}", "{1: 1, 'b': 1}",
	"[1, 'a']", "[1, 1u]", "[1, 1.0]", "[1, null]", "[null, 1]", "['a', null]", "[dyn(1), 'a']", "[1, dyn('a')]", "[[1], ['a']]", "[[], [1], ['a']]", "[{}, {'a': 1}]", "[{'a': 1}, {'b': 'c'}]", "[duration('1s'), null]", "[timestamp(0), duration('1s')]", "t ? 1 : 'a'", "t ? 1 : 1u", "t ? null : 1", "t ? dyn(1) : 'a'", "t ? [1] : []", "t ? [] : [1]", "t ? {} : {'a': 1}", "t ? optional.none() : optional.of(1)", "t ? duration('1s') : null", "t ? [1] : ['a']",
	"1 == 'a'", "1 == 1u", "1 == 1.0", "1u == 1.0", "1 == null", "null == 1", "null == null", "'a' == b'a'", "[1] == ['a']", "[1] == [1.0]", "[1] == []", "{} == {'a': 1}", "{'a': 1} == {'a': 1.0}", "l == ls", "m == {}", "o == null", "o.n == null", "null != o.n", "int == string", "type(1) == int", "type(null) == null_type", "type == type(int)", "t == 1", "s == null", "duration('1s') == null", "timestamp(0) == duration('0s')", "1 != 'a'", "null < null", "[1] < [2]", "{} < {}", "int < string", "null + null", "t + f",
	"s + 1", "s * 2", "l + 1", "l + ls", "m + m", "l - l", "1 + 1u", "1 + 1.0", "1u - 1", "1.0 * 2", "1.0 % 2.0", "5u % 2u", "-1u", "-s", "!s", "!1", "!null", "-null", "-t", "-l", "1 && t", "t || 1", "s ? 1 : 2", "null ? 1 : 2", "1 in 1", "1 in s", "'a' in s", "1 in m", "'a' in l", "1u in l", "1.0 in [1, 2]", "dyn(1.0) in [1, 2]", "null in [null]", "l in [l]", "1 in []", "'zone' in m", "'x' in {}", "1 in dyn(1)", "dyn(1) in m",
	"google.protobuf.Timestamp", "google.protobuf.Duration", "google", "google.protobuf", "net.IP", "net", "kubernetes.Quantity", "optional_type", "null_type", "dyn", "bytes", "list", "map", "list(1)", "map()", "null_type()", "type()", "type(1, 2)", "int", "int()", "int(1, 2)", "string", "bool", "double", "uint", "duration", "timestamp", "abs(1)", "error('x')", "Foo{}", "Foo{a: 1}", "foo.Bar{}", "i{}", "strings.quote", "sets.contains", "sets", "format", "format.uri", "ip", "cidr", "url", "lists.range", "quantity",
	"math.greatest(1, 2)", "cel.bind(x, 1, x)", "base64.encode(b'a')", "regex.replace('a', 'b', 'c')", "s.nope()", "nope(s)", "nope", "s.size().nope", "o.nope()", "l.contains(1)", "s.startsWith()", "s.startsWith(1)", "s.startsWith('a', 'b')", "startsWith(s, 'a')", "size(1)", "i.size()", "t.size()", "size(null)", "matches(s)", "s.matches(1)", "contains(s, 'a')", "l.join()", "ls.join(1)", "[1, 2].sum", "sum(l)", "ls.sum()", "[t].sum()", "[null].min()", "[[1]].max()", "m.sum()", "[timestamp(0)].sum()", "s.sort()", "l.slice(1)", "l.flatten(1)", "[[1]].flatten(-1)", "[[1]].flatten(0)", "l.flatten()", "lists.range(-1)", "lists.range(0)", "l.reverse(1)",
}

// celRefused are the literals that Kubernetes' CEL looks at when it compiles.
var celRefused = []string{
	"${string}.matches(#pattern)", "matches(${string}, #pattern)", "${string}.find(#pattern)", "duration(#duration)", "timestamp(#time)", "duration(#duration) < ${duration}", "timestamp(#time).getFullYear()", "int(#number)", "uint(#number)", "double(#number)", "bool(#truth)", "t ? int(#number) : 1", "f && int(#number) == 1",
	"true || int(#number) == 1", "[int(#number)]", "{'a': int(#number)}.a", "l.map(@x, int(#number))", "le.map(@x, double(#number))", "string(b'\\xff')", "true || string(b'\\xff') == ''", "int(${double})", "uint(-1)", "int(9223372036854775808.0)", "int(18446744073709551615u)", "uint(-1.5)", "int('a') + ${int}", "f ? uint(-1) : 1u", "optional.of(int(#number))", "duration('1' + 's')", "duration('x' + e)",
	"timestamp('x' + e)", "s.matches('(' + 'a')", "s.matches('(' + e)", "s.matches(t ? '(' : 'a')", "'%d'.format(['a'])", "'%d'.format([s])", "'%s %s'.format([1])", "'%s'.format([1, 2])", "'%z'.format([1])", "'%'.format([1])", "'%.3f'.format([1.5])", "'%.f'.format([1.5])", "('%' + 'd').format(['a'])", "'%d'.format([dyn('a')])", "'%d'.format(l)", "'%d'.format(ls)", "true || '%d'.format(['a']) == ''", "'%d'.format([1] + [2])", "1 / 0", "1 % 0", "1u / 0u", "1.0 / 0.0",
	"9223372036854775807 + 1", "-9223372036854775808 - 1", "9223372036854775807 * 2", "-(-9223372036854775808)", "0u - 1u", "18446744073709551615u + 1u", "true || 1 / 0 == 1", "f && 1 / 0 == 1", "[1][1]", "{'a': 1}['b']", "{'a': 1}.b", "[1, 2][-1]", "''.charAt(1)", "'a'.substring(2)", "ip('x')", "cidr('x')", "quantity('x')", "semver('x')", "url('x')", "t || ip('x').isLoopback()", "format.named('x').value()", "optional.none().value()", "[].max()", "[].sum()", "type(1 / 0)", "dyn(1 / 0)", "has({'a': 1 / 0}.a)",
	"timestamp(1)", "timestamp(253402300800)", "timestamp(-62135596801)", "timestamp(-62135596800)", "timestamp(253402300799)", "timestamp(dyn(#time))", "timestamp(${int})", "duration(${int})", "duration(1)", "duration(dyn(1))", "timestamp(dyn(1))", "timestamp(1.5)", "timestamp(dyn(1.5))", "bool(1)", "bool(dyn(1))", "int(true)", "int(dyn(true))", "int(null)", "int(dyn(null))", "string(null)", "string(dyn(null))", "string(l)", "string(dyn(l))",
	"string(m)", "string(int)", "string(dyn(int))", "string(optional.of(1))", "string(quantity('1'))", "string(dyn(quantity('1')))", "string(url('http://a'))", "string(dyn(url('http://a')))", "string(semver('1.2.3'))", "string(dyn(ip('1.2.3.4')))", "bytes(1)", "bytes(dyn(1))", "double(true)", "double(dyn(true))", "uint(true)", "uint(timestamp(0))", "int(duration('1s'))", "int(dyn(duration('1s')))", "double(duration('1s'))", "double(dyn(timestamp(0)))", "timestamp(duration('1s'))", "timestamp(dyn(duration('1s')))", "duration(timestamp(0))",
}

// celDynamic are programs in which the checker knows little.
var celDynamic = []string{
	"${quantity}.sign()", "-${duration}", "${list(A)}.sort()", "${list(A)}.min()", "${list(A)}.sum()", "rb'a'", "${list(A)}.isSorted()", "${A} < ${A}", "${A} + ${A}", "${list(A)}.max()",
	"(dyn(${A}) + dyn(${B}))", "(dyn(${A}) < dyn(${B}))", "(dyn(${A}) == ${B})", "(dyn(${A}) in dyn(${list(B)}))", "dyn(${A}).size()", "size(dyn(${A}))", "dyn(${A})[${B}]", "dyn(${list(A)})[dyn(${int})]", "dyn(${map(K,B)})[dyn(${K})]", "dyn(${A}).all(@x:dyn, ${bool})", "dyn(${list(A)}).map(@x:dyn, @x)", "dyn(${list(A)}).filter(@x:dyn, dyn(${bool}))",
	"[dyn(${A}), dyn(${B})]", "[dyn(${A}), ${B}]", "[${A}, dyn(${B})]", "{'a': dyn(${A}), 'b': ${B}}", "{dyn(${K}): ${A}}", "{dyn(${A}): 1}", "[[dyn(${A})], [${B}]]", "[[${A}], [dyn(${B})]]", "(${bool} ? dyn(${A}) : ${B})", "(${bool} ? ${A} : dyn(${A}))", "(${bool} ? [dyn(${A})] : [${B}])", "(${bool} ? [] : [dyn(${A})])", "[[], [dyn(${A})]]", "[dyn(${A})] + [${B}]", "[${A}] + dyn([${B}])", "[dyn(${A})] == [${B}]",
	"optional.of(dyn(${A}))", "optional.of(dyn(${A})).orValue(${B})", "optional.of(${A}).orValue(dyn(${B}))", "[optional.of(dyn(${A})), optional.of(${B})]", "type(dyn(${A}))", "dyn(type(${A})) == type(${B})", "dyn(dyn(${A}))", "${A} == dyn(${A})", "dyn(${int}) * ${double}", "dyn(${timestamp}) - ${timestamp}", "dyn(${duration}) + dyn(${timestamp})", "-dyn(${A})", "!dyn(${A})", "(dyn(${A}) && dyn(${B}))", "(dyn(${A}) || dyn(${B}))",
	"dyn(${A}).contains(${string})", "dyn(${A}).getHours()", "dyn(${A}).getSeconds()", "dyn(${string}).indexOf(dyn(${string}))", "dyn(${list(A)}).indexOf(${A})", "dyn(${list(int)}).indexOf(dyn(${double}))", "dyn(${string}).reverse()", "dyn(${list(A)}).reverse()", "dyn(${A}).reverse()", "dyn(${quantity}).isLessThan(${semver})", "dyn(${A}).compareTo(dyn(${B}))", "dyn(${quantity}).add(dyn(${int}))", "dyn(${quantity}).add(dyn(${quantity}))", "dyn(${A}).isGreaterThan(${quantity})",
	"dyn(${A}).ip()", "dyn(${cidr}).containsIP(dyn(${string}))", "dyn(${A}).value()", "dyn(${A}).hasValue()", "dyn(${A}).orValue(${B})", "dyn(${A}).or(${optional(B)})", "dyn(${A}).optMap(@x:dyn, @x)", "dyn(${A}).?a", "dyn(${A})[?0]", "dyn(${A}).a", "has(dyn(${A}).a)", "dyn(${list(A)}).sum()", "dyn(${list(A)}).max()", "[dyn(${A}), dyn(${B})].max()", "[dyn(${A}), dyn(${A})].min()", "[dyn(${int}), dyn(${double})].sum()", "[dyn(${A}), dyn(${B})].isSorted()", "[dyn(${A}), dyn(${B})].sort()", "[dyn(${A}), dyn(${B}), dyn(${A})].distinct()",
	"sets.contains([dyn(${A})], [${B}])", "sets.equivalent([dyn(${A})], [dyn(${B})])", "o.a.b.map(@x:dyn, type(@x))", "o.map(@x:dyn, o[@x])", "o.a.b[0] + o.num", "o.num + 1", "o.num + 1.0", "o.num == 5.0", "o.num == 5u", "o.num / 2", "o.num < 'a'", "o.str + 'a'", "o.str < 5", "int(o.str) + o.num", "quantity(o.q)", "o.q.size()", "o.num.size()", "o.a.b.size()", "o.n.a", "o.n == null", "o['a']['b'][2]['c']", "o.a['b'].exists(@x:dyn, @x == ${A})", "o.a.b[2].c + ${string}", "o.a.b[o.num - 4]",
	"o.a.b.filter(@x:dyn, type(@x) == int)", "o.a.b.exists(@x:dyn, @x.c == 'x')", "o.a.b.all(@x:dyn, @x > 0)", "o.str.matches(o.str)", "o.str.split(o.q)", "o.?a.b[?${int}]", "o[?${string}]", "dyn(m).zone", "dyn(m).nope", "dyn(l)[0] + dyn(l)[1]", "dyn(l)['a']", "dyn(s)[0]", "dyn(o).a.b", "l[dyn(${A})]", "m[dyn(${A})]", "l.map(@x:int, dyn(@x)).sum()", "dyn(l) + dyn(ls)", "dyn(l) == ls", "dyn(${A}) != dyn(${A})", "string(dyn(${A}))", "int(dyn(${A}))", "double(dyn(${A}))", "uint(dyn(${A}))", "bool(dyn(${A}))", "bytes(dyn(${A}))", "duration(dyn(${A}))", "timestamp(dyn(${A}))", "dyn(${double}) == dyn(${int})", "dyn(${uint}) < dyn(${double})", "dyn(${int}) > dyn(${uint})",
	"dyn(${string}).format([${A}])", "ip(dyn(${A}))", "isIP(dyn(${A}))", "isURL(dyn(${A}))", "semver(dyn(${A}))", "isSemver(dyn(${A}), dyn(${B}))", "isQuantity(dyn(${A}))", "format.named(dyn(${A}))", "lists.range(dyn(${A}))", "dyn(${list(A)}).slice(dyn(0), dyn(1))", "dyn(${A}).split(${string})", "dyn(${A}).findAll(${string})", "dyn(${A}).first()", "dyn(${list(A)}).last()", "dyn(${list(list(A))}).flatten()", "dyn(${A}).join()", "[dyn(${A})].join()",
}

// celTextUses ask for the corners of texts.
var celTextUses = []string{
	"[url(#url).getScheme(), url(#url).getHost()]", "[isURL(#url), isURL(#url), isURL(#url)]", "url(#url).getQuery()", "url(#url).getEscapedPath()", "url(#url).getHostname()", "url(#url).getPort()", "url(#url).getHost()", "[isIP(#ip), isIP(#ip), isIP(#ip), isIP(#ip)]", "ip(#ip)", "string(ip(#ip))", "ip.isCanonical(#ip)", "[ip(#ip).isGlobalUnicast(), ip(#ip).isLinkLocalUnicast()]", "[isCIDR(#cidr), isCIDR(#cidr), isCIDR(#cidr)]", "cidr(#cidr)", "cidr(#cidr).masked()", "string(cidr(#cidr).masked().ip())", "cidr(#cidr).containsIP(#ip)", "cidr(#cidr).containsCIDR(#cidr)", "cidr(#cidr).containsIP(ip(#ip))",
	"[isSemver(#semver), isSemver(#semver), isSemver(#semver)]", "[isSemver(#semver, true), isSemver(#semver, true), isSemver(#semver, false)]", "semver(#semver, true).compareTo(semver(#semver, true))", "semver(#semver).isLessThan(semver(#semver))", "[semver(#goodsemver).compareTo(semver(#goodsemver)), semver(#goodsemver).compareTo(semver(#goodsemver))]", "semver(#semver, true).major()", "semver(#semver, true).patch()", "[isQuantity(#quantity), isQuantity(#quantity), isQuantity(#quantity)]", "quantity(#quantity)", "quantity(#quantity).asApproximateFloat()", "quantity(#quantity).isInteger()", "quantity(#quantity).asInteger()", "quantity(#quantity).compareTo(quantity(#quantity))", "quantity(#quantity).add(quantity(#quantity))", "quantity(#goodquantity).sub(quantity(#quantity))", "quantity(#goodquantity).add(quantity(#goodquantity)).sub(#int)", "sign(quantity(#quantity))",
	"duration(dyn(#duration))", "string(duration(dyn(#duration)))", "duration(dyn(#duration)).getSeconds()", "[duration(dyn(#goodduration)) + duration(dyn(#goodduration)), duration(dyn(#goodduration)) - duration(dyn(#goodduration))]", "timestamp(dyn(#time))", "timestamp(dyn(#goodtime)).getHours(#zone)", "timestamp(dyn(#goodtime)).getDayOfYear(#zone)", "timestamp(dyn(#goodtime)).getMinutes(#zone)", "timestamp(dyn(#goodtime)).getDayOfWeek(#zone)", "timestamp(dyn(#goodtime)).getFullYear(#zone)", "timestamp(dyn(#goodtime)) - timestamp(dyn(#goodtime))", "timestamp(dyn(#goodtime)) + duration(dyn(#goodduration))",
	"format.dns1123Label().validate(#name)", "format.dns1123Subdomain().validate(#name)", "format.dns1035Label().validate(#name)", "format.qualifiedName().validate(#name)", "format.dns1123LabelPrefix().validate(#name)", "format.dns1123SubdomainPrefix().validate(#name)", "format.dns1035LabelPrefix().validate(#name)", "format.labelValue().validate(#name)", "format.uri().validate(#url)", "format.uuid().validate(#uuid)", "format.byte().validate(#base)", "format.date().validate(#date)", "format.datetime().validate(#datetime)", "int(dyn(#number))", "uint(dyn(#number))", "double(dyn(#number))", "bool(dyn(#truth))",
	"[${double}, ${double}].map(@x:double, string(@x))", "string(${double} * ${double})", "string(${double} / ${double})", "[${int}, ${int}].map(@x:int, double(@x))", "[${double}, ${double}].map(@x:double, int(@x))", "${double} == ${double}", "[${double}, ${double}, ${double}].sort()", "[${double}, ${double}].max()", "[${double}, ${double}].min()", "[${double}, ${double}].distinct()", "${double} in [${double}, ${double}]", "dyn(${double}) == dyn(${uint})", "dyn(${int}) < dyn(${double})", "'aé😀'.substring(#small)", "'aé😀'.indexOf('😀')", "'aé😀'.split('', #small)", "strings.quote(${string} + '\\a\\b\\f\\v\\\\\\'\\\"\\u0085\\u200b')", "(${string} + 'ǅİıſK').lowerAscii()", "(${string} + 'ßéΣ').upperAscii()", "('\\u00a0\\u2003 \\t\\u200b' + ${string} + '\\u0085\\u180e\\ufeff ').trim()", "b'\\xff' + ${bytes}", "string(${bytes})", "bytes(${string}).size()", "size(${string} + '😀')", "[${bytes}, ${bytes}].sort()",
}
