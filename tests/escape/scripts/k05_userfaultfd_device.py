# SPDX-License-Identifier: Apache-2.0
# K05: userfaultfd and others through their device files
# opened: ENOENT|EACCES
from probes import opened
from tools import tell

NAMES = """userfaultfd kvm fuse vsock vhost-vsock vhost-net mem kmsg port tty tty0 console net/tun
loop0 loop-control ppp uinput uhid snapshot autofs btrfs-control mapper/control cpu_dma_latency
hpet rtc0 sgx_enclave sev dri/card0 snd/seq input/event0 bus/usb/001/001 mqueue hugepages ptmx0"""
tell(opened=[opened(f"/dev/{name}") for name in NAMES.split()])
