package duplicate

// Bound sets the maximum numbers of records with a key that makes pairs. So a test can compare few
// records of few names.
func (f *Finder) Bound(common, weak int) *Finder {
	f.bounds = bounds{common, weak}
	return f
}
