"""The service over HTTP: REST at /api/v1, metrics and health at the root, the pages at /.

`app(service)` is all that others need; `server.web_server` gives it a socket. Everything is read from boards
(`prism.tracking.board`), made into plain values by `prism.views` and sent by `requests.responses`; `requests.guard` decides
who may ask. Files in `routes` and `changes` bear the names of their addresses.
"""

from prism.api.server.application import app as app
