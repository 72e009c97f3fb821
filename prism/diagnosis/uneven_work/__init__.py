"""Find slow steps without a broken part: uneven stages, uneven data, late input."""
