"""Schemas of requests and answers for OpenAPI; `openapi` puts them together with examples and errors."""
