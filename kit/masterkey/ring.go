package masterkey

// Ring is the master key in force and its predecessors. These open secrets that
// were sealed under them and not yet sealed anew.
type Ring struct {
	Current  *Key
	Previous []*Key
}

// All returns every key, the one in force first.
func (r Ring) All() []*Key { return append([]*Key{r.Current}, r.Previous...) }
