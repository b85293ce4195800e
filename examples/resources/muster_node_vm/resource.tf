resource "muster_node_vm" "web" {
  name       = "web-1"
  memory_mib = 2048
  vcpus      = 2

  disk {
    name     = "root"
    image    = muster_image.debian.id
    size_mib = 20480
  }

  nic {
    name    = "lan"
    network = muster_network.lab.name
  }

  cloud_init {
    user_data = <<-EOT
      #cloud-config
      packages: [qemu-guest-agent]
      runcmd:
        - systemctl enable --now qemu-guest-agent
    EOT
  }

  ready {
    lease   = true
    agent   = true
    timeout = "10m"
  }
}

# A machine that boots from the network and is powered by MAAS: defined, and
# never started or stopped from here.
resource "muster_node_vm" "metal" {
  name       = "metal-1"
  memory_mib = 8192
  vcpus      = 4

  boot {
    order = ["network", "disk"]
  }

  disk {
    name     = "root"
    size_mib = 40960
  }

  nic {
    name       = "pxe"
    network    = muster_network.provisioning.name
    mtu        = 9000
    boot_order = 1
  }

  nic {
    name   = "uplink"
    bridge = "br0"
  }
}

# Known at plan, and the same after update, taint, replace and re-create.
output "metal_pxe_mac" {
  value = muster_node_vm.metal.macs["pxe"]
}
