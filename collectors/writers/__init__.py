"""Write flow records to files."""
