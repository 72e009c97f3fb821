"""Represent IP addresses as small codes (`address_book`, `bounded_address_book`), as two 64-bit numbers, and as texts.

IPv4 addresses are stored as IPv4-mapped IPv6 addresses (RFC 4291 section 2.5.5.2). Texts are made on demand.
"""
