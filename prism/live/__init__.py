"""The live analysis: windows of records come in, boards go out."""
