// Package proxyv1 is what hydrazine-proxy and its clients say to each other. It is generated from the .proto files. Package
// client has a client that retries and waits.
package proxyv1
