package offboarding

// CountOpenTasks is the query that counts the open tasks of a principal.
const CountOpenTasks = countOpenTasks
