// SPDX-License-Identifier: Apache-2.0

// Cluster DNS: CoreDNS with the plugins that the test cluster uses, and not the clouds of all others.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() {
	coremain.Run()
}
