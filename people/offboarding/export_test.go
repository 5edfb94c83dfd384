package offboarding

// CountOpenTasks counts the open tasks of somebody.
const CountOpenTasks = countOpenTasks
