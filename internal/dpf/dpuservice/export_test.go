package dpuservice

// ValuesOf for tests of charts.
var ValuesOf = valuesOf
