"""Flow records, packets and hop delays as columns: each column is declared once."""
