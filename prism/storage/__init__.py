"""The state of the service in the store and in files: boards, history, notifications."""
