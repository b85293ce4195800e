# The address that the NIC "pxe" of a VM "metal-7" of the namespace "lab-a" will
# be born with, for example for a DHCP reservation made beforehand.
output "metal_7_pxe" {
  value = provider::muster::mac("lab-a", "metal-7", "pxe")
}
