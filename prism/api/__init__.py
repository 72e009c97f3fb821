"""The service over HTTP: REST at /api/v1, metrics and health at the root, the pages at /.

`app(service)` is all that others need; `web_server` gives it a socket. Everything is read from boards
(`prism.tracking.board`), made into plain values by `prism.views.board_views` and sent by `responses`; `guard` decides who may
ask.
"""

from prism.api.server.application import app as app
