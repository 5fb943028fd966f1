package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var counted = regexp.MustCompile(`\d+/\d+ nodes are available: `)

// canonical is a case as text in which only what must agree can differ: keys
// sorted, reasons and the counted parts of messages in one order.
func canonical(line []byte) []byte {
	var value any
	if err := json.Unmarshal(line, &value); err != nil {
		return line
	}
	text, err := json.Marshal(ordered(value, ""))
	if err != nil {
		return line
	}
	return text
}

func ordered(value any, key string) any {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if name == "rejected" && inner == nil {
				delete(value, name)
				continue
			}
			value[name] = ordered(inner, name)
		}
	case []any:
		for i, inner := range value {
			value[i] = ordered(inner, "")
		}
		if key == "reasons" || key == "victims" {
			slices.SortFunc(value, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		}
	case string:
		if key == "message" && counted.MatchString(value) {
			parts := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '.' })
			slices.Sort(parts)
			return strings.Join(parts, ",")
		}
	}
	return value
}
