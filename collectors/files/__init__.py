"""Files of any kind: compressed streams, blocks of whole lines, YAML and JSON documents, atomic writes."""
