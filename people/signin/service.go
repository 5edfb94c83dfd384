package signin

import "kartei/api/op"

// Service provides the Desk to operations.
var Service = op.Need[*Desk]("sign-in")

// Issuer returns the issuer of the instance's OpenID provider. It is empty if there is none.
func Issuer(c *op.Call) string {
	if s := Service.In(c); s != nil && s.Provider != nil {
		return s.Provider.Issuer()
	}
	return ""
}
