"""Build the message of each kind of receiver, one file each, and interpret the receiver's answer.

`webhook_bodies` has the table of kinds. `signing` signs bodies (Standard Webhooks 1.0). `delivery_results` decides whether a
notification may be tried again.
"""
