# Guests reach the outside through the host; dnsmasq gives leases.
resource "muster_network" "lab" {
  name    = "lab"
  mode    = "nat"
  address = "192.168.150.1/24"
  domain  = "lab.example"

  dhcp {
    range {
      start = "192.168.150.100"
      end   = "192.168.150.199"
    }
  }
}

# A network where something else, MAAS for example, answers DHCP and DNS: no
# dhcp block, and dnsmasq is not started at all.
resource "muster_network" "provisioning" {
  name    = "provisioning"
  mode    = "isolated"
  address = "10.20.0.1/24"
  mtu     = 9000
}
