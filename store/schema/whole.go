package schema

// Whole holds the tables that stay on the coordinator of a cluster, through
// which all statements go, each with its reason. The rows of every other table
// belong to one organization. Their keys, unique indexes, foreign keys and
// statements lead with it. See docs/decisions/0016-what-a-cluster-spreads.md.
var Whole = map[string]string{
	"organizations":    "the list of what the others are spread by; only operators change it",
	"principals":       "an account finds its persons in all organizations",
	"accounts":         "an address signs in before its organizations are known",
	"recovery_codes":   "they belong to accounts",
	"passkeys":         "they belong to accounts",
	"identities":       "they belong to accounts",
	"devices":          "they belong to accounts",
	"sessions":         "a token is looked up before its organization is known",
	"api_keys":         "a key is looked up before its organization is known",
	"oauth_clients":    "an application is looked up before its organization is known",
	"oauth_grants":     "they belong to applications",
	"oauth_approvals":  "they belong to applications",
	"oauth_tokens":     "a token is looked up before its organization is known",
	"invitations":      "a token is looked up before its organization is known",
	"sign_in_tickets":  "a token is looked up before its account is known",
	"sign_in_attempts": "guesses are counted before anybody is known",
	"generations":      "one row for all that replicas keep in memory",
	"settings":         "what is switched for the whole instance",
	"limit_replicas":   "the replicas of the instance",
}
