"""Label collectives and pipelines one by one: data, tensor, pipeline, expert and context parallel groups.

`parallelism` is the entry. `pipelines` finds the hand-overs between endpoints. `collective_kinds` assigns a kind to each
collective. `dimensions` computes the sizes.
"""
