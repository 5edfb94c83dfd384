package exports

// The files and logs of tests are smaller than a part of a real one.
func init() { bound, logPage = 192<<10, 20 }
