"""Files of any kind: compression, blocks of text, documents, atomic writes."""
