package exports

// The files of tests are smaller than a part of a real one.
func init() { most = 192 << 10 }
