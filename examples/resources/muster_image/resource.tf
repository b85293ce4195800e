resource "muster_image" "debian" {
  name   = "debian-12"
  pool   = "default"
  source = "https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-genericcloud-amd64.qcow2"
}

# A file of this machine, checked before anything is stocked.
resource "muster_image" "installer" {
  name   = "installer"
  source = "${path.module}/installer.raw"
  sha256 = filesha256("${path.module}/installer.raw")
}
