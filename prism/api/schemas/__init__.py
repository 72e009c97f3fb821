"""The schemas of answers for OpenAPI."""
