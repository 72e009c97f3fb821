"""Receive export datagrams by UDP."""
