package im

// Header is the header of credentials.
var Header = header
