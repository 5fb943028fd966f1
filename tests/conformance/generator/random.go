package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// object is a Kubernetes object as a person would write it: quantities keep
// their spelling, which typed objects would lose.
type object = map[string]any

// gen draws everything from one seed.
type gen struct{ *rand.Rand }

func newGen(family string, seed uint64, i int) gen {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%d", family, i)
	return gen{rand.New(rand.NewPCG(seed, hash.Sum64()))}
}

// chance is true in percent of all cases.
func (g gen) chance(percent int) bool { return g.IntN(100) < percent }

func (g gen) between(low, high int) int { return low + g.IntN(high-low+1) }

func pick[T any](g gen, of ...T) T { return of[g.IntN(len(of))] }

// some takes each with the chance given.
func some[T any](g gen, percent int, of ...T) []T {
	var taken []T
	for _, one := range of {
		if g.chance(percent) {
			taken = append(taken, one)
		}
	}
	return taken
}

func raw(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // only maps, slices, strings and numbers of ours
	}
	return text
}

func raws(values []object) []json.RawMessage {
	var all []json.RawMessage
	for _, value := range values {
		all = append(all, raw(value))
	}
	return all
}

func copyOf(value object) object {
	var copied object
	if err := json.Unmarshal(raw(value), &copied); err != nil {
		panic(err)
	}
	return copied
}
