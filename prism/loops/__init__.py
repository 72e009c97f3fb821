"""Small numeric functions that know nothing of training: arrays in, arrays out, each with a slow, obvious twin in its test."""
