package signin

import "kartei/api/op"

// Service is the desk at which people sign in.
var Service = op.Need[*Desk]("sign-in")
