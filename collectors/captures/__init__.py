"""Captured frames from pcap and pcapng files and from the kernel."""
