package exports

// The bounds are lower in tests, so that small files and logs have several parts.
func init() { bound, logPage = 192<<10, 20 }
