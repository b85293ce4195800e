# by name or UUID, on the provider's host or another
terraform import muster_node_vm.web web-1
terraform import muster_node_vm.web 1b4e28ba-2fa1-411d-883f-0016d3cca427
terraform import muster_node_vm.web "web-1 @ qemu+ssh://ops@rack2.example.org/system"
