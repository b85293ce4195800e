# POOL/VOLUME, on the provider's host or another
terraform import muster_image.debian default/debian-12-5f2f4e7a9c31.qcow2
terraform import muster_image.debian "default/debian-12-5f2f4e7a9c31.qcow2 @ qemu+ssh://ops@rack2.example.org/system"
