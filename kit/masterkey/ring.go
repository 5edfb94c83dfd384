package masterkey

// Ring is the master key in force and those before it, which open what was
// sealed under them until that has been sealed anew.
type Ring struct {
	Current  *Key
	Previous []*Key
}

// All returns every key, the one in force first.
func (r Ring) All() []*Key { return append([]*Key{r.Current}, r.Previous...) }
