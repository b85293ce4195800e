# A small lab: an isolated network, an image, and machines that boot from it.
# "make demo" applies it against a libvirt daemon of its own; against yours:
#
#   terraform apply -var uri=qemu:///system -var image=/path/to/debian-12.qcow2

terraform {
  required_version = ">= 1.11"
  required_providers {
    muster = {
      source = "musterlab/muster"
    }
  }
}

provider "muster" {
  identity {
    namespace = "demo"
  }

  libvirt {
    uri = var.uri
  }
}

resource "muster_network" "lab" {
  name    = "lab"
  mode    = "isolated"
  address = "10.77.0.1/24"

  dhcp {
    range {
      start = "10.77.0.100"
      end   = "10.77.0.199"
    }
  }
}

resource "muster_image" "guest" {
  name   = "guest"
  source = var.image
}

resource "muster_node_vm" "node" {
  for_each = toset(var.nodes)

  name       = each.key
  memory_mib = var.memory_mib
  on_change  = "restart"

  disk {
    name  = "root"
    image = muster_image.guest.id
  }

  nic {
    name    = "lan"
    network = muster_network.lab.name
  }

  # A second NIC that never gets an address: nothing waits for it.
  nic {
    name    = "spare"
    network = muster_network.lab.name
    link    = "down"
  }

  console {
    enabled = var.console
  }

  cloud_init {
    user_data = <<-EOT
      #cloud-config
      hostname: ${each.key}
    EOT
  }

  ready {
    lease   = true
    agent   = true
    timeout = "4m"
  }

  timeouts {
    create = "10m"
    update = "10m"
  }
}

data "muster_console" "node" {
  for_each = { for name, vm in muster_node_vm.node : name => vm if var.console }

  uuid  = each.value.id
  lines = 10
}
