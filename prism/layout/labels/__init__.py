"""Label communicators: which dimension of the layout each belongs to."""
