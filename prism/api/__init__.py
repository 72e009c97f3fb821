"""The service over HTTP: REST at /api/v1, metrics and health at the root, the pages at /.

`app(service)` is all that others need; `serving` gives it a socket. Everything is read from boards (`prism.board`), made into
plain values by `prism.views` and sent by `answers`; `guard` decides who may ask.
"""

from prism.api.application import app as app
