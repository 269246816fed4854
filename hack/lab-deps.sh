#!/usr/bin/env bash
# Installs what labs and tests take from Debian: OVN, Open vSwitch, FRR, a DHCP server and client, and tools for overlay networks, and Prometheus
# for Krake's metrics. Their services aren't started: each lab starts its own.
set -euo pipefail

complete() { for program in ovn-northd ovn-controller ovsdb-server ovs-vswitchd vtysh ip ping dhcpd dhclient prometheus; do command -v "$program" > /dev/null || return 1; done; }

if complete; then exit 0; fi
if [ "$(id -u)" != 0 ]; then
	echo "OVN, Open vSwitch, FRR, ISC DHCP, Prometheus or one of their tools is missing, and so tests of overlay networks and of Prometheus' metrics can't run: sudo make lab-deps" >&2
	exit 1
fi
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq -y --no-install-recommends ovn-central ovn-host openvswitch-switch frr iproute2 iputils-ping isc-dhcp-server \
	isc-dhcp-client prometheus > /dev/null
complete
