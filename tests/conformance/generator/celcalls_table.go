package main

import "strings"

var (
	callInts    = []string{"0", "1", "-1", "7", "9223372036854775807", "-9223372036854775807 - 1"}
	callUints   = []string{"0u", "1u", "7u", "9223372036854775808u", "18446744073709551615u"}
	callDoubles = []string{
		"0.0", "-0.0", "1.0", "-1.0", "2.5", "-2.5", "3.5", "0.1", "1e6", "123456.0", "1234567.0", "1e-4", "1e-5", "1e21",
		"1e22", "1e100", "1e308", "-1e308", "5e-324", "9223372036854774784.0", "9223372036854775807.0", "-9223372036854775808.0",
		"18446744073709549568.0", "18446744073709551615.0", "double('NaN')", "double('Inf')", "double('-Inf')", "12345.678",
		"0.30000000000000004", "100000.0", "999999.5",
	}
	callTexts = []string{"''", "'a'", "'abc'", "'äb€😀'", "'aXa'", "' a\\t\\n\\u0085\\u2003'", "'a\\u0000b'", "'\\\"\\\\\\a\\b\\f\\n\\r\\t\\v\\u200b'"}
	callBytes = []string{"b''", "b'abc'", "b'\\xff'", "b'\\xc3\\xa4'", "b'\\xed\\xa0\\x80'"}

	callDurations = []string{
		"duration('0')", "duration('1ns')", "duration('-1ns')", "duration('1s')", "duration('1h30m')", "duration('-90.5s')",
		"duration('9223372036854775807ns')", "duration('-9223372036854775808ns')", "duration('2562046h59m59.999999999s')",
		"duration('3599.999999999s')", "duration('1h') - duration('1ns')", "duration('100000h') - duration('1ns')", "duration('999999ns')",
	}
	callTimestamps = []string{
		"timestamp(0)", "timestamp(-1)", "timestamp('0001-01-01T00:00:00Z')", "timestamp('9999-12-31T23:59:59.999999999Z')",
		"timestamp('2026-01-02T03:04:05.678901234Z')", "timestamp('2024-02-29T23:30:00+02:00')", "timestamp('2024-12-31T23:30:00-11:30')",
		"timestamp('1969-12-31T23:59:59.5Z')", "timestamp('2026-07-01T12:00:00Z')", "timestamp('2026-03-29T01:00:00Z')",
		"timestamp('2026-03-29T00:59:59Z')", "timestamp('1900-01-01T00:00:00Z')", "timestamp('2100-03-01T00:00:00Z')",
		"timestamp('0000-12-31T23:00:00-02:00')", "timestamp('2000-01-01T00:00:00+24:00')", "timestamp('2262-04-11T23:47:16.854775807Z')",
	}
	callLists = []string{
		"[]", "[1]", "[3, 1, 2]", "[1, 1, 2]", "[1u, 2u]", "[1.5, 0.5]", "['b', 'a', 'c']", "[true, false]", "[b'b', b'a']",
		"[duration('2s'), duration('1s')]", "[timestamp(5), timestamp(3)]", "[[1], [2, 3]]", "[dyn(1), dyn('a')]", "[dyn('a'), dyn(1)]",
		"[dyn(1), dyn(2.0), dyn(3u)]", "[dyn(1), dyn(1.0), dyn(1u)]", "[dyn(1), dyn(null)]", "[null]", "[{'a': 1}]",
		"[9223372036854775807, 1]", "[18446744073709551615u, 1u]", "[double('NaN'), 1.0]", "[1.0, double('NaN'), 0.5]",
		"[dyn([1]), dyn(2)]", "[dyn(1), dyn([dyn(2), dyn([3])])]", "[[[1], [2]], [[3]]]", "[duration('9223372036854775807ns'), duration('1ns')]",
		"[0.0, -0.0]", "[optional.of(1), optional.none()]", "[type(1), type(2)]", "[quantity('1'), quantity('1000m')]",
		"[ip('10.0.0.1'), ip('10.0.0.1')]", "[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]", "[double('NaN'), double('NaN')]",
		"[url('https://a'), url('https://a')]", "[dyn(quantity('1')), dyn(1)]", "[dyn(1), dyn(quantity('1'))]",
	}
	callElements = []string{
		"1", "1u", "1.0", "'a'", "null", "true", "double('NaN')", "[1]", "{'a': 1}", "duration('1s')", "timestamp(3)", "b'a'",
		"optional.of(1)", "quantity('1')", "ip('10.0.0.1')", "url('https://a')", "type(1)", "9007199254740993",
	}
	callZones = []string{
		"''", "'UTC'", "'utc'", "'America/New_York'", "'america/new_york'", "'Europe/Berlin'", "'Asia/Kathmandu'", "'+02:00'", "'-01:30'", "'-1:30'",
		"'02:00'", "'-00:30'", "'+14:00'", "'99:99'", "'+2'", "'+02:00:00'", "':30'", "'2:'", "'x:y'", "'Nowhere/City'", "'-12:+30'",
		"'America/Santiago'", "'Z'", "'EST'", "'../UTC'",
	}
	callIPs = []string{
		"'10.0.0.1'", "'0.0.0.0'", "'255.255.255.255'", "'127.1.2.3'", "'169.254.1.1'", "'224.0.0.5'", "'224.0.1.5'", "'239.1.2.3'", "'::'", "'::1'",
		"'fe80::1'", "'febf::1'", "'fec0::1'", "'ff02::1'", "'ff12::1'", "'ff05::1'", "'2001:DB8::1'", "'2001:db8::1'", "'2001:db8:0:0:1:0:0:1'",
		"'::ffff:1.2.3.4'", "'::ffff:0102:0304'", "'::1.2.3.4'", "'64:ff9b::1.2.3.4'", "'fe80::1%eth0'", "'1.2.3.4%eth0'", "'010.0.0.1'", "'1.2.3'",
		"'1.2.3.4.5'", "'256.1.1.1'", "'1:2:3:4:5:6:7:8'", "'1:2:3:4:5:6:7::'", "'1:2:3:4:5:6:7:8:9'", "'1::2::3'", "'12345::'", "''", "' 1.2.3.4'",
		"'1.2.3.4 '", "'::1%'", "'[::1]'", "'1:2:3:4:5:6:1.2.3.4'", "'::01.2.3.4'", "'1.2..3'", "'x'", "'fc00::1'", "'1:2:3:4:5:6:7:'", "':1::'", "'::00001'",
		"'1:0:0:2:0:0:0:3'", "'0:0:0:0:0:0:0:0'", "'FFFF::'", "'1.2.3.04'", "'1.2.3.4/8'",
	}
	callCIDRs = []string{
		"'10.0.0.0/8'", "'10.1.2.3/8'", "'0.0.0.0/0'", "'10.1.2.3/32'", "'10.0.0.0/33'", "'10.0.0.0/08'", "'10.0.0.0/+8'", "'10.0.0.0/-8'", "'10.0.0.0/'",
		"'10.0.0.0'", "'2001:db8::/32'", "'2001:db8::1/64'", "'::/0'", "'::1/128'", "'::1/129'", "'::ffff:1.2.3.4/120'", "'fe80::1%a/10'", "'/8'", "''",
		"'10.0.0.0/8/9'", "'10.1.0.0/16'", "'10.0.0.0/9'", "'10.0.0.0/0'", "'10.0.0.0/00'", "'10.0.0.0/8 '", "'x/8'", "'::ffff:0:0/96'", "'::/1'",
	}
	callURLs = []string{
		"''", "'*'", "'/'", "'/a/b'", "'a'", "'a/b'", "'http://a'", "'HTTP://A.B:80/c%20d?x=1&y=2&x=3#f'", "'https://u:p@a.b:80/c/d?x=1&x=2'", "'https://'",
		"'https:///a'", "'mailto:a@b'", "'http:a'", "'://a'", "':'", "'1http://a'", "'a b'", "'http://a b'", "'http://a/b c'", "'http://[::1]:80/'",
		"'http://[::1]'", "'http://[::1%25eth0]:8'", "'http://[::1%eth0]'", "'http://[fe80::1%25e%20n]/'", "'http://[1.2.3.4]/'", "'http://[x]/'",
		"'http://[::1'", "'http://a[::1]'", "'http://[::1]x'", "'http://a:b'", "'http://a:'", "'http://a:80:90'", "'x://a:80:90'", "'http://%41/'",
		"'http://%zz/'", "'http://a/%zz'", "'http://a/%2f'", "'http://a/%2F%41'", "'http://a/b%'", "'http://%c3%a4/'", "'http://ä/ö?ü=ß'", "'http://a/ö'",
		"'http://a?b'", "'http://a?'", "'http://a??'", "'http://a?b?c'", "'http://a?a;b=1&c=2'", "'http://a?a=%zz&b=1'", "'http://a?a=b+c%2B'",
		"'http://a?&&=x&a'", "'http://a#%zz'", "'http://a#b#c'", "'/a#b'", "'//a/b'", "'///a'", "'////a'", "'http:///a'", "'file:///etc/x'", "'urn:a:b?c#d'",
		"'http://a\\tb'", "'http://a\\u007fb'", "'http://us er@h/'", "'http://u%20s@h/'", "'http://u:p:q@h/'", "'http://@h/'", "'http://u@'",
		"'http://h/a;b,c/(d)!*'", "'http://h/a\\\"b<c>'", "'http://h/[x]'", "'http://h/%5Bx%5D'", "'a:b'", "'/a:b'", "'http://h/a%e4'", "'http://h?x=%ff'",
		"'http://h:0080/'", "'http://h:99999/'", "'https://1.2.3.4:1/'", "'http://<h>/'", "'http://h\\\\x/'", "'http://h/a|b^c`d'", "'HtTp+x-1.z:/a'",
		"'http://h/#'", "'http://h/#a%20b'", "'http://h/#a b'", "'http://h/#[x]'", "'http://%2541/'", "'?a'", "'#a'", "'/?'", "'http://u:%zz@h'",
		"'http://h/a%2fb%c3%a4'", "'http://h/ä%2f'", "'http://a@b@c/'", "'http://[::ffff:1.2.3.4]/'", "'http://[::1%25]/'", "'http://[fe80::%2525a]/'",
		"'x:/a'", "'x:/'", "'http:/a:b'", "'x:?'", "'http://h/%'", "'http://h%20x/'", "'http://h%3C/'", "'http://h%25/'", "'http:?x#y'",
	}
	callSemvers = []string{
		"'1.2.3'", "'0.0.0'", "'v1.2.3'", "'1.2'", "'1'", "'01.2.3'", "'1.02.3'", "'1.2.03'", "'1.2.3-alpha'", "'1.2.3-alpha.1'", "'1.2.3-alpha.01'", "'1.2.3-1'",
		"'1.2.3-1.a'", "'1.2.3+b'", "'1.2.3+b.1.01'", "'1.2.3-a+b'", "'1.2.3+b-a'", "'1.2.3-'", "'1.2.3+'", "'1.2.3-a..b'", "'1.2.3+a..b'", "'1.2.3.4'", "''",
		"'a.b.c'", "'-1.2.3'", "'1.-2.3'", "' 1.2.3'", "'18446744073709551615.0.0'", "'18446744073709551616.0.0'", "'9223372036854775808.1.2'", "'v1'", "'v01.02'",
		"'1.2-a'", "'1.2+b'", "'v1.2.3-rc.1'", "'vv1.2.3'", "'1..2'", "'00.00.00'", "'1.2.00-a'", "'1.2.3-ä'", "'1.2.3-A'", "'1.2.3-a'", "'1.2.3-18446744073709551616'",
		"'1.2.x'", "'1.2.3-0'", "'1.2.3-00'", "'1.2.3-a.b.c'", "'1.2.3-a.b'", "'V1.2.3'", "'v'", "'1.'", "'1.0a.3'", "'1.2.3\\n'", "'00a.0.0'", "'1.2.0-0'",
	}
	callNames = []string{
		"''", "'a'", "'A'", "'my-name'", "'my_name'", "'a.b'", "'-a'", "'a-'", "'a--b'", "'a..b'", "'.a'", "'a.'", "'1a'", "'a1'", "'a/b'", "'/b'", "'a/'", "'a/b/c'",
		"'A.b/C'", "'a.b/C_d.e'", "'ä'", "'a\\n'", "'-'", "'a-.b'", "'my.name-'", "'1.2.3.4'", "'a b'", "'" + strings63 + "'", "'" + strings63 + "x'", "'" + strings63 + "x_'",
		"'" + strings63 + "." + strings63 + "." + strings63 + "." + strings63 + "'", "'x/" + strings63 + "x'", "'" + strings63 + "." + strings63 + "." + strings63 + "." + strings63 + "/a'",
		"'ä-'", "'a_-'", "'--'",
	}
	callFormatTexts = append([]string{
		"'123e4567-e89b-12d3-a456-426614174000'", "'123E4567E89B12D3A456426614174000'", "'123e4567-e89b-12d3-a456-42661417400'", "'{123e4567-e89b-12d3-a456-426614174000}'",
		"'aGVsbG8='", "'aGVsbG8'", "'aGVs'", "'aG8='", "'a==='", "'YQ=='", "'a-_b'", "'YQ==\\n'", "'2026-01-02'", "'2026-13-02'", "'2026-02-29'", "'2024-02-29'", "'2026-1-2'",
		"'0000-01-01'", "'26-01-02'", "'2026-01-02 '", "'2026-01-02T03:04:05Z'", "'2026-01-02t03:04:05z'", "'2026-01-02T03:04:05'", "'2026-01-02T24:00:00Z'",
		"'2026-01-02T03:60:00Z'", "'2026-01-02T03:04:60Z'", "'2026-01-02T03:04:05.123+02:00'", "'2026-01-02T03:04:05x1Z'", "'2026-01-02T03:04:05+99:99'", "'2026-01-02T3:04:05Z'",
		"'2026-01-02T03:04:05Zt'", "'tt'", "'2026-01-02tT03:04:05Z'", "'2026-01-02T03:04:05é1Z'", "'2026-02-30'", "'2026-00-10'", "'2026-01-00'", "'9999-12-31'", "'２026-01-02'",
	}, append(callURLs, callNames...)...)
	callQuantities = []string{
		"'0'", "'1'", "'-1'", "'1.5'", "'100m'", "'1000m'", "'1k'", "'1Ki'", "'1.5Gi'", "'1e3'", "'1E-3'", "'9223372036854775807'", "'9223372036854775808'", "'-9223372036854775808'",
		"'8Ei'", "'1n'", "'0.1n'", "'1e400'", "'1e-400'", "'12345678901234567890123'", "''", "'x'", "'1,5'", "' 1'", "'1 '", "'1Xi'", "'+1'", "'.5'", "'1.'", "'0.3'", "'2000k'",
		"'-0.5Ki'", "'1e308'", "'1e18'", "'1e19'", "'50M'",
	}
	callFormatStrings = []string{
		"''", "'%%'", "'x%sy'", "'%d'", "'%f'", "'%.0f'", "'%.3f'", "'%.20f'", "'%e'", "'%.0e'", "'%.3e'", "'%.15e'", "'%b'", "'%o'", "'%x'", "'%X'", "'%s%s'", "'%'", "'%.'", "'%.f'",
		"'%5d'", "'%.2s'", "'%.2d'", "'%q'", "'ä%sö'", "'%%%s'", "'%.400f'",
	}
	callFormatValues = []string{
		"[1]", "[-255]", "[255u]", "[9223372036854775807]", "[-9223372036854775807 - 1]", "[1.5]", "[2.5]", "[-0.0]", "[0.0]", "[1234567.891]", "[-1234567.891]", "[1e21]", "[1e-7]", "[1e300]",
		"[double('NaN')]", "[double('Inf')]", "[double('-Inf')]", "['abc']", "['NaN']", "['Infinity']", "['-Infinity']", "['Inf']", "['äö']", "[b'abc']", "[b'\\xff']", "[true]", "[false]", "[null]",
		"[duration('90.5s')]", "[timestamp('2026-01-02T03:04:05.5+02:00')]", "[type(1)]", "[[1, 2]]", "[['a', 'b\\\"']]", "[[1.5, 2.0, 1e21]]", "[[double('NaN'), double('Inf'), double('-Inf')]]",
		"[[b'abc', b'\\x00']]", "[[null, null]]", "[[true]]", "[[duration('1s')]]", "[[timestamp('2026-01-02T03:04:05+02:00')]]", "[[type(1)]]", "[{'b': 1, 'a': 2}]", "[{10: 'x', 2: 'y'}]",
		"[{true: 1.5}]", "[{1u: [1]}]", "[{}]", "[[]]", "[]", "['a', 'b', 'c']", "[optional.of(1)]", "[['ä\\u200b\\u0007\\U0001F600']]", "[0.5]", "[1.0]", "[999999.9999999]", "[123456789]", "[[b'\\xff']]",
		"[5e-324]", "[0.1]", "[100.0]", "[12345.678]", "[{'k': [dyn(null), dyn(1u)]}]",
	}
)

const strings63 = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"

func callJoined(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// callWrapped puts each expression into a call.
func callWrapped(call string, texts []string, keep func(string) bool) []string {
	var all []string
	for _, text := range texts {
		if keep == nil || keep(text) {
			all = append(all, call+"("+text+")")
		}
	}
	return all
}

func callValid(call string, texts []string) []string {
	env, err := celCallEnvironment()
	if err != nil {
		panic(err)
	}
	return callWrapped(call, texts, func(text string) bool {
		_, err := callValue(env, call+"("+text+")")
		return err == nil
	})
}

func callOne(name string, method bool, pool []string) celCall {
	return celCall{name, method, [][]string{pool}}
}

var celCallsOfKubernetes = func() []celCall {
	anything := callJoined(callInts, callUints, callDoubles, callTexts, callBytes, callDurations, callTimestamps, callElements, callLists)
	var calls []celCall
	for _, name := range []string{"int", "uint", "double", "string", "bool", "bytes", "duration", "timestamp", "type", "dyn"} {
		calls = append(calls, callOne(name, false, anything))
	}
	numbers := []string{
		"'0'", "'+0'", "'-0'", "'1'", "'-1'", "'+1'", "' 1'", "'1 '", "'1_0'", "'0x10'", "'1e3'", "'1.5'", "'.5'", "'5.'", "'.'", "'NaN'", "'nan'", "'+nan'", "'-NaN'", "'inf'", "'+Inf'", "'-infinity'",
		"'infinit'", "'1e400'", "'-1e400'", "'1e-400'", "'0x1p4'", "'0x1.8p-1'", "'0x_1p0'", "'0x1'", "'0x.8p0'", "'0xp1'", "'0x1p'", "'0x1_0p0'", "'0x1__0p0'", "'9223372036854775807'",
		"'9223372036854775808'", "'-9223372036854775808'", "'-9223372036854775809'", "'18446744073709551615'", "'18446744073709551616'", "'true'", "'True'", "'TRUE'", "'tRUE'", "'t'", "'T'", "'f'", "'0x1p1024'",
		"'0x1.fffffffffffff8p1023'", "'0x1p-1075'", "'0x1.8p-1074'", "'0x1.00000000000008p0'", "'0x1.00000000000018p0'", "'1e5000000000'", "'١'", "'1e'", "'1e+'", "'--1'", "'1.2.3'", "'0x1.p1_0'",
		"'0X1P+2'", "'0x1.0_1p0'", "'0x1._1p0'", "'0x1_.1p0'", "'0x1_p0'",
	}
	for _, name := range []string{"int", "uint", "double", "bool"} {
		calls = append(calls, callOne(name, false, numbers))
	}
	calls = append(calls,
		callOne("duration", false, []string{
			"'0'", "'-0'", "'1'", "'1s'", "'1ns'", "'0.5ns'", "'1us'", "'1µs'", "'1μs'", "'1ms'", "'1m'", "'1h'", "'1d'", "'1h1h'", "'1.5h'", "'.5s'", "'5.s'", "'.s'", "'+1s'", "'--1s'", "'1 s'", "''", "'9223372036854775807ns'",
			"'9223372036854775808ns'", "'-9223372036854775808ns'", "'2562047h47m16.854775807s'", "'2562047h47m16.854775808s'", "'0.9223372036854775807h'", "'1e3s'", "'1S'",
		}),
		callOne("timestamp", false, []string{
			"'2026-01-02T03:04:05Z'", "'2026-01-02T03:04:05.1Z'", "'2026-01-02T03:04:05,1Z'", "'2026-01-02T03:04:05.1234567891Z'", "'2026-01-02T3:04:05Z'", "'2026-01-02t03:04:05z'", "'2026-01-02 03:04:05Z'",
			"'2026-01-02T03:04:05'", "'2026-01-02'", "'2026-02-29T00:00:00Z'", "'2024-02-29T00:00:00Z'", "'2026-01-02T24:00:00Z'", "'2026-01-02T23:59:60Z'", "'2026-01-02T03:04:05+00:00'",
			"'2026-01-02T03:04:05-00:00'", "'2026-01-02T03:04:05+24:00'", "'2026-01-02T03:04:05+25:00'", "'2026-01-02T03:04:05+02:60'", "'2026-01-02T03:04:05+0200'", "'0000-12-31T23:59:59Z'",
			"'0001-01-01T00:00:00+01:00'", "'9999-12-31T23:59:59-01:00'", "'10000-01-01T00:00:00Z'", "'2026-01-02T03:04:05.Z'", "''", "'x'",
		}),
		callOne("timestamp", false, []string{"-62135596800", "-62135596801", "253402300799", "253402300800"}),
	)
	for _, name := range []string{
		"getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds",
	} {
		calls = append(calls, callOne(name, true, callTimestamps), celCall{name, true, [][]string{callTimestamps, callZones}})
	}
	for _, name := range []string{"getHours", "getMinutes", "getSeconds", "getMilliseconds"} {
		calls = append(calls, callOne(name, true, callDurations))
	}
	times := callJoined(callDurations, callTimestamps, []string{"true"})
	calls = append(calls, celCall{"_+_", false, [][]string{times, times}}, celCall{"_-_", false, [][]string{times, times}},
		callOne("-_", false, callDurations))
	compared := callJoined(callInts, callUints, callDoubles, callTexts[:3], callBytes, callDurations[:4], callTimestamps[:4], callElements, callLists[:20],
		[]string{"9007199254740992.0", "{1: 2}", "{1u: 2}", "{'a': double('NaN')}", "optional.none()", "[dyn(quantity('1'))]", "semver('1.2.3+a')", "semver('1.2.3')", "cidr('10.0.0.0/8')", "format.uri()"})
	calls = append(calls, celCall{"_==_", false, [][]string{compared, compared}})
	ordered := callJoined(callInts, callUints, callDoubles, callTexts[:4], callBytes, callDurations[:4], callTimestamps[:4], []string{"true", "false", "null", "[1]", "quantity('1')"})
	calls = append(calls, celCall{"_<_", false, [][]string{ordered, ordered}})

	texts := callJoined(callTexts, []string{"'abcabc'", "'aaa'", "'a,b,,c'"})
	parts := []string{"''", "'a'", "'b'", "'bc'", "'€'", "','", "'aa'", "'abcabcabc'"}
	places := []string{"-1", "0", "1", "2", "3", "4", "5", "6", "7", "99"}
	for _, name := range []string{"contains", "startsWith", "endsWith", "indexOf", "lastIndexOf", "split"} {
		calls = append(calls, celCall{name, true, [][]string{texts, parts}})
	}
	for _, name := range []string{"indexOf", "lastIndexOf", "split"} {
		calls = append(calls, celCall{name, true, [][]string{texts, parts, places}})
	}
	for _, name := range []string{"lowerAscii", "upperAscii", "trim"} {
		calls = append(calls, callOne(name, true, callJoined(texts, []string{"'aBcÄ'"})))
	}
	sized := callJoined(texts, callBytes, callLists, []string{"{}", "{'a': 1}", "1"})
	calls = append(calls,
		callOne("size", true, sized), callOne("size", false, sized), callOne("strings.quote", false, texts),
		celCall{"charAt", true, [][]string{texts, places}}, celCall{"substring", true, [][]string{texts, places}},
		celCall{"substring", true, [][]string{texts, places, places}},
		celCall{"replace", true, [][]string{texts, parts, parts}}, celCall{"replace", true, [][]string{texts, parts, parts[:3], places}},
		callOne("join", true, callLists), celCall{"join", true, [][]string{callLists, parts}},
		celCall{"format", true, [][]string{callFormatStrings, callFormatValues}},
	)
	patterns := []string{"''", "'a'", "'a*'", "'[a-c]+'", "'^a'", "'c$'", "'('", "'(a)|b'", "'.'", "'\\\\pL'", "'(?i)ABC'", "'a{1001}'", "'\\\\bb'", "'(?=a)'"}
	calls = append(calls, celCall{"matches", true, [][]string{texts, patterns}}, celCall{"matches", false, [][]string{texts, patterns}},
		celCall{"find", true, [][]string{texts, patterns}}, celCall{"findAll", true, [][]string{texts, patterns}},
		celCall{"findAll", true, [][]string{texts, patterns, []string{"-1", "0", "1", "2"}}})

	for _, name := range []string{"isSorted", "sum", "min", "max", "flatten", "distinct", "reverse", "sort", "first", "last"} {
		calls = append(calls, callOne(name, true, callLists))
	}
	calls = append(calls,
		celCall{"indexOf", true, [][]string{callLists, callElements}}, celCall{"lastIndexOf", true, [][]string{callLists, callElements}},
		celCall{"slice", true, [][]string{callLists[:4], places, places}}, celCall{"flatten", true, [][]string{callLists, []string{"-1", "0", "1", "2", "9"}}},
		callOne("lists.range", false, []string{"-1", "0", "3"}),
	)
	for _, name := range []string{"sets.contains", "sets.equivalent", "sets.intersects"} {
		calls = append(calls, celCall{name, false, [][]string{callLists, callLists}})
	}
	optionals := []string{"optional.none()", "optional.of(1)", "optional.of(null)"}
	zeros := callJoined(callElements, callLists[:3], []string{"0", "0u", "0.0", "-0.0", "''", "b''", "false", "{}", "duration('0')", "timestamp('0001-01-01T00:00:00Z')", "timestamp(0)", "optional.none()", "quantity('0')"})
	calls = append(calls, callOne("optional.of", false, zeros), callOne("optional.ofNonZeroValue", false, zeros),
		callOne("hasValue", true, optionals), callOne("value", true, optionals), celCall{"or", true, [][]string{optionals, optionals}},
		celCall{"orValue", true, [][]string{optionals, []string{"2", "null"}}},
		callOne("optional.unwrap", false, []string{"[]", "[optional.none()]", "[optional.of(1), optional.none(), optional.of(2)]"}),
		callOne("unwrapOpt", true, []string{"[]", "[optional.none()]", "[optional.of(1), optional.none(), optional.of(2)]"}))

	quantities := callValid("quantity", callQuantities)
	calls = append(calls, callOne("quantity", false, callQuantities), callOne("isQuantity", false, callQuantities), callOne("sign", false, quantities))
	for _, name := range []string{"isInteger", "asInteger", "asApproximateFloat"} {
		calls = append(calls, callOne(name, true, quantities))
	}
	for _, name := range []string{"isGreaterThan", "isLessThan", "compareTo"} {
		calls = append(calls, celCall{name, true, [][]string{quantities, quantities}})
	}
	// Bayplan's sums are exact beyond 64 bits where Kubernetes' wrap around or are cut off, and have 38 digits.
	var short []string
	for _, amount := range quantities {
		if !strings.Contains(amount, "e400") && !strings.Contains(amount, "e308") && !strings.Contains(amount, "922337") &&
			!strings.Contains(amount, "8Ei") && !strings.Contains(amount, "1e19") {
			short = append(short, amount)
		}
	}
	for _, name := range []string{"add", "sub"} {
		calls = append(calls, celCall{name, true, [][]string{short, short}}, celCall{name, true, [][]string{short, callInts[:4]}})
	}

	addresses, networks := callValid("ip", callIPs), callValid("cidr", callCIDRs)
	calls = append(calls, callOne("ip", false, callIPs), callOne("isIP", false, callIPs), callOne("ip.isCanonical", false, callIPs),
		callOne("cidr", false, callCIDRs), callOne("isCIDR", false, callCIDRs), callOne("string", false, callJoined(addresses, networks)))
	for _, name := range []string{"family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast"} {
		calls = append(calls, callOne(name, true, addresses))
	}
	for _, name := range []string{"ip", "prefixLength", "masked"} {
		calls = append(calls, callOne(name, true, networks))
	}
	calls = append(calls, celCall{"containsIP", true, [][]string{networks, callJoined(addresses, callIPs)}},
		celCall{"containsCIDR", true, [][]string{networks, callJoined(networks, callCIDRs)}})

	urls := callValid("url", callURLs)
	calls = append(calls, callOne("url", false, callURLs), callOne("isURL", false, callURLs))
	for _, name := range []string{"getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery"} {
		calls = append(calls, callOne(name, true, urls))
	}
	bools := []string{"true", "false"}
	versions := callValid("semver", callSemvers)
	calls = append(calls, callOne("semver", false, callSemvers), callOne("isSemver", false, callSemvers),
		celCall{"semver", false, [][]string{callSemvers, bools}}, celCall{"isSemver", false, [][]string{callSemvers, bools}})
	for _, name := range []string{"major", "minor", "patch"} {
		calls = append(calls, callOne(name, true, versions))
	}
	for _, name := range []string{"isGreaterThan", "isLessThan", "compareTo"} {
		calls = append(calls, celCall{name, true, [][]string{versions, versions}})
	}

	var formats, names []string
	for _, name := range []string{
		"dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime",
	} {
		formats = append(formats, "format."+name+"()")
		names = append(names, "'"+name+"'")
		calls = append(calls, celCall{"format." + name, false, nil})
	}
	calls = append(calls, callOne("format.named", false, callJoined(names, []string{"'nope'", "''", "'URI'"})),
		celCall{"validate", true, [][]string{formats, callFormatTexts}})
	return calls
}()
