"""The message of each kind of receiver, one file each, and what the receiver's answer means.

`webhook_bodies` has the table of kinds. `signing` signs bodies (Standard Webhooks 1.0). `delivery_results` decides whether a
notification may be tried again.
"""
