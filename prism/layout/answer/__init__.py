"""Turn scored hypotheses into an answer: probabilities, alternatives, groups, and the stream of each record."""
