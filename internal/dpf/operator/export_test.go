package operator

// ObservePhases is for tests.
var ObservePhases = observePhases
