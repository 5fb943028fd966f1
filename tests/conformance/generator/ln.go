package main

import (
	"fmt"
	"io"
	"math"
)

// writeLogarithms writes the bits of math.Log for some of the numbers that a
// spreading score takes the logarithm of, and first a sum over all of them.
func writeLogarithms(out io.Writer) error {
	const last = 200_002
	var sum uint64
	for n := uint64(2); n <= last; n++ {
		sum = sum*31 + math.Float64bits(math.Log(float64(n)))
	}
	if _, err := fmt.Fprintf(out, "2..%d %d\n", last, sum); err != nil {
		return err
	}
	for n := uint64(2); n <= last; n++ {
		// All of the small ones, which most clusters have, then fewer and fewer.
		if n > 1_200 && n%97 != 0 {
			continue
		}
		if _, err := fmt.Fprintf(out, "%d %016x\n", n, math.Float64bits(math.Log(float64(n)))); err != nil {
			return err
		}
	}
	return nil
}
