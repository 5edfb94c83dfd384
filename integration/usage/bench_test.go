package usage_test

import (
	"testing"
	"time"

	"kartei/integration/usage"
	"kartei/kit/id"
)

// BenchmarkCount measures Count with calls of fifty keys.
func BenchmarkCount(b *testing.B) {
	var keys [50]string
	for i := range keys {
		keys[i] = id.New(id.Key)
	}
	c := usage.NewCounter()
	i := 0
	for b.Loop() {
		c.Count(&usage.Call{
			Organization: 1, Kind: usage.Calls, Subject: keys[i%50], At: noon, Status: 200,
			Took: 812 * time.Microsecond,
		})
		i++
	}
}
