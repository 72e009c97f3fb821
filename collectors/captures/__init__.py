"""Read captured frames: pcap and pcapng files (damaged ones too) and the kernel's AF_PACKET ring; write pcap.

`record_framing` finds records in a file; `resynchronisation` decides about damaged ones.
"""
