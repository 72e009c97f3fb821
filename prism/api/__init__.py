"""Serve the analysis over HTTP: REST at /api/v1, metrics and health at the root, pages at /.

Callers need only `app(service)`; `server.web_server` gives it a socket. All answers come from boards (`prism.tracking.board`):
`prism.views` converts them to plain values, `requests.responses` sends them, and `requests.guard` checks access. Files in
`routes` and `changes` have the names of their addresses.
"""

from prism.api.server.application import app as app
