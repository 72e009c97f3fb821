"""Analyse recordings: captures and dumps (`file_analysis`), simulated runs, and recordings played as if they were live."""
