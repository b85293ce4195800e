# by name or UUID, on the provider's host or another
terraform import muster_network.lab lab
terraform import muster_network.lab "lab @ qemu+ssh://ops@rack2.example.org/system"
