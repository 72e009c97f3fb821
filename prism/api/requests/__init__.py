"""Requests and answers: access, parameters, times, errors, formats."""
